"""When a message of a person corrects the answer before it (seed 000): in English and Chinese.

Owns when the words of corrections (`correction_words`) make one, and what it is about. A correction begins with its
word, so that a story in which something was wrong is none; with `feedback_require_prefix` off the word may stand
anywhere in a short message. A question and an order for one task correct nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import remembering
from nanomem_tui.language.correction_words import IN_LANGUAGE, LANGUAGES, LANGUAGES_ZH, LEAD, WORDS
from nanomem_tui.language.simplified import simplified, straight
from nanomem_tui.settings import Settings


class Correction(NamedTuple):
    """What a correction is about: response:length, response:language, response:accuracy or response:alignment.

    `is_empty`: it says that the answer was wrong, and nothing of what would have been right. `is_standing`: it is a
    wish for all answers to come, whatever the last one was.
    """

    trigger: str
    text: str
    is_empty: bool = False
    is_standing: bool = False


_PREFIX = re.compile(rf"^\s*{LEAD}(?:{WORDS})", re.IGNORECASE)
_NO = re.compile(r"^\W*(?:no|nope)\b", re.IGNORECASE)

_ENDS = re.compile(r"[.!](?=\s|$)|[?？。！]")
_ASKED = re.compile(r"(?:吗|么|呢)[\s?？]*$|[?？]\s*$")
_POLITE = re.compile(
    r"[\s,，]*(?:ok(?:ay)?|please|alright|will you|would you|好吗|可以吗|行吗|好不好|行不行|好么)[\s?？]*$",
    re.IGNORECASE,
)
"""What makes of an order no question."""
_LAUGHED = re.compile(
    r"\b(?:lol|lmao|rofl|(?:ha){2,}h?|(?:he){2,}|jk|just kidding|xd)\b|哈哈|嘿嘿|开玩笑|[😂🤣😄😅😆]", re.IGNORECASE
)
_STORY = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year|time we)|ago|when i was|at (?:work|school)|my (?:boss|wife|husband|"
    r"mom|mum|dad|friend|sister|brother|girlfriend|boyfriend)|him|her|them)\b|昨天|上周|上个月|去年|以前",
    re.IGNORECASE,
)
"""What tells of something else than the answer."""
_OF_YOU = re.compile(r"you |not what", re.IGNORECASE)
"""What denies in words that also begin a story."""
_ONCE = re.compile(
    r"\b(?:yet|today|tonight|tomorrow|right now|for now|this (?:once|time)|just (?:once|for now)|until|till)\b|今天|"
    r"今晚|明天|这(?:一)?次|暂时|先别",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"[:：]\s*(?!(?:no|not|max|at most|under|only|just|fewer|less|without|don't|do not|never|use|bullet|one|two|three|"
    r"\d)\b|不|别|最多|只|用|\d)\S",
    re.IGNORECASE,
)
"""What an order is about, behind its colon: then it is meant for that alone."""

_ABOUT: Mapping[str, re.Pattern[str]] = {
    "response:length": re.compile(
        r"\b(?:long|short|shorter|longer|brief|briefer|briefly|concise|verbose|wordy|detailed|rambling|lengthy|"
        r"(?:fewer|less|more|too many) (?:words|lines|detail|text|sentences)|summari[sz]e|to the point)\b|太长|太短|"
        r"太多|啰嗦|罗嗦|简短|简洁|简单点|短一点|短点|长一点|详细|精简|说重点|字数",
        re.IGNORECASE,
    ),
    "response:language": re.compile(rf"\b(?:{LANGUAGES}|language|translate)\b|{LANGUAGES_ZH}|语言|翻译", re.IGNORECASE),
    "response:accuracy": re.compile(
        r"\b(?:wrong|incorrect|inaccurate|false|not (?:true|right|correct|accurate)|mistake\w*|isn't (?:true|right|"
        r"correct)|error|outdated|made (?:that|it) up|hallucinat\w*|actually)\b|不对|错了|不准确|不正确|搞错|弄错|记错|"
        r"说错|答错|有误|应该是|纠正|更正|不是",
        re.IGNORECASE,
    ),
}
"""What a correction is about, the first that fits; else it is about response:alignment."""


_NOW_ON = re.compile(
    rf"^\s*{LEAD}(?:(?:from (?:now|here) on|going forward|henceforth|in (?:the )?future|by default|always)[\s,:]+"
    r"(?:(?:please|always|only|you (?:should|must|have to))[\s,]+)*)(?P<en>.+)|^\s*(?:(?:请|麻烦|拜托|好的?|那|"
    r"嗯)[\s，,]*)*(?:(?:你|您)\s*)?(?:以后|今后|往后|之后|从现在起|从今以后|默认)[\s，,]*(?:(?:请|你|您|都|就|一律|"
    r"统一|全部|只|要|始终|一直|跟我|和我|对我|回答|回复|聊天|说话|时)[\s，,]*)*(?P<zh>.+)",
    re.IGNORECASE | re.DOTALL,
)
"""How a wish for all answers to come begins."""
_IN_LANGUAGE = re.compile(IN_LANGUAGE, re.IGNORECASE)


TOPICS: Mapping[str, re.Pattern[str]] = {
    "response:language": re.compile(
        rf"\b(?:{LANGUAGES})\b|{LANGUAGES_ZH}",
        re.IGNORECASE,
    ),
    "response:length": _ABOUT["response:length"],
}
"""Of what an answer can be only one way, and the words of a correction that say which."""


def topic(trigger: str, text: str) -> str:
    """What a correction decides for every answer, so that a later one about it takes its place; empty for none."""
    pattern = TOPICS.get(trigger)
    return trigger if pattern is not None and pattern.search(simplified(text)) else ""


_ONLY_WRONG = re.compile(
    r"[\W_]*(?:(?:no|nope|sorry|hey|hm+|oh|well|actually|please|but|and|ok(?:ay)?|just|really|at all|again|still|"
    r"either|wrong(?: again| answer)?|incorrect|not (?:quite )?(?:true|right|correct|it|like that|good)|try again|"
    r"correction|(?:that|this|it)(?:'s| is| was) (?:just |simply |totally |completely |still |so )?(?:wrong|incorrect|"
    r"false|not it|a mistake|an error|(?:not |n't )(?:quite |really )?(?:right|true|correct|good|like that|helpful))|"
    r"(?:that|this|it) (?:isn't|wasn't|is not|was not) (?:quite |really )?(?:right|true|correct|good|it|helpful|like "
    r"that)|(?:(?:that|this|it)(?:'s| is| was) |(?:that|this|it) (?:isn't|wasn't) )?(?:not )?what i (?:asked|meant|"
    r"wanted|said|asked for|was asking)(?: for| about)?|i (?:didn't|did not) (?:ask|mean|say|want)(?: for)? (?:that|"
    r"this|it)|you(?:'re| are) (?:wrong|mistaken)|you (?:misunderstood|got (?:it|that|this|me) wrong)(?: me| it| "
    r"that)?|(?:fix|redo|try) (?:it|that|this)(?: again)?|不对|错了|错|有误|不准确|不正确|搞错了?|答非所问|纠正|更正|"
    r"不是(?:这样|那样|这个|那个|这么回事|我(?:要|问|说|想要)的)?(?:子)?(?:的|啊|呀)?(?:意思)?|我(?:说|问|要|想要|"
    r"想问)的不是(?:这|那)(?:个|样|些)?|我不是(?:这个|那个|这)意思|你(?:又|都|全|完全)?(?:理解错|搞错|弄错|记错|说错|"
    r"答错|误会|理解)了?(?:我)?(?:的)?(?:意思)?|重新(?:来|写|说|回答)(?:一下|一遍|一次)?|再(?:来|试|说)一(?:次|遍)|请|"
    r"啊|吧|呀|呢|了|的|嗯|哎|唉|喂|呃|又)[\W_]*)+",
    re.IGNORECASE,
)
_THIS_ONE = re.compile(
    r"(?:(?:no|nope|wrong|hm+|ok(?:ay)?|please|make it|(?:a )?(?:bit|little)|much|even|still|way|too long|too short)"
    r"\W+)*"
    r"(?:shorter|longer|briefer)(?:\W+(?:please|thanks))*\W*|(?:不对|不是|请|再|还要|要|更|能|可以|稍微)*[\s，,]*"
    r"(?:短|长|详细)(?:一?点儿?|一?些)(?:吧|呢|的|吗)?\W*|.*\bfor this (?:\w+ )?(?:one|caption|time|text|answer|post|"
    r"mail|title|summary)\W*",
    re.IGNORECASE,
)
"""What asks that the last answer be another, and no other answer."""
NOTHING_BETTER = "a correction that does not say what would be better"

_EMPTY_WORDS = (
    r"(?:(?:i(?:'m| am) )?(?:so |very |really )?sorry(?: about that| for that)?|(?:my )?apolog(?:ies|y)|i apologi[sz]e|"
    r"my (?:mistake|bad)|(?:you(?:'re| are) )?right|ok(?:ay)?|sure(?: thing)?|yes|no|nope|done|understood|got it|"
    r"thanks?(?: you)?|will do|of course|certainly|alright|noted|oops|i see|hi|hello|hey|hm+|no problem|you(?:'re| "
    r"are) welcome|抱歉|对不起|不好意思|好的?|明白了?|知道了|收到|是的?|嗯|没问题|不客气|谢谢)"
)
_EMPTY = re.compile(rf"[\W_]*(?:{_EMPTY_WORDS}[\W_]*)*", re.IGNORECASE)


def says_nothing(answer: str) -> bool:
    """Whether an answer is only an apology or a short word: no example of what to avoid."""
    return len(answer) < 200 and _EMPTY.fullmatch(simplified(straight(answer))) is not None


@lru_cache(1)
def _anywhere() -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s,，.。;；!！])(?:{WORDS})", re.IGNORECASE)


def detect(text: str, settings: Settings, answer: str = "") -> Correction | None:
    """The correction that a message makes, None when it is none or too long.

    `answer`: what the message follows. After a question, a plain “No, …” answers it and corrects nothing.
    """
    said = " ".join(text.replace("’", "'").split())
    if not said or len(said) > settings.feedback_max_message_chars:
        return None
    line = simplified(said)
    found = _PREFIX.match(line) if settings.feedback_require_prefix else _anywhere().search(line)
    if found is None or _is_none(line, found):
        if rules := " ".join(remembering.rules_in(text)):
            return Correction(_about_all_answers(simplified(rules)), rules, is_standing=True)
        standing = _of_all_answers(line)
        return Correction(standing, said, is_standing=True) if standing else None
    trigger = _about(line)
    if trigger == "response:alignment" and answer.rstrip().endswith(("?", "？")) and _NO.match(line):
        return None
    is_empty = any(pattern.fullmatch(line) for pattern in (_ONLY_WRONG, _THIS_ONE)) if len(line) < 100 else False
    return Correction(trigger, said, is_empty=is_empty)


def _about_all_answers(rule: str) -> str:
    """What a rule is about; one that only names a language (“write French letters to the office”) is not about that of
    the answers."""
    trigger = _of_all_answers(rule) or _about(rule)
    is_of_answers = trigger != "response:language" or _IN_LANGUAGE.search(rule) is not None
    return trigger if is_of_answers else "response:alignment"


def _about(line: str) -> str:
    return next((name for name, pattern in _ABOUT.items() if pattern.search(line)), "response:alignment")


def _is_none(line: str, found: re.Match[str]) -> bool:
    """Whether the words of a correction make none here: they ask, tell of something else, or order one task."""
    at = found.end() - 1 if line[found.end() - 1] in ".!。！" else found.end()
    stop = _ENDS.search(line, at)
    sentence = line[found.start() : stop.end() if stop else len(line)]
    if _ASKED.search(sentence) and not _POLITE.search(sentence):
        return True
    if found["denies"] or found["meant"]:
        tells = found["meant"] or _OF_YOU.match(found["denies"])
        return bool(_LAUGHED.search(line) or (tells and _STORY.search(sentence)))
    return bool(_TASK.search(sentence) or (found["orders"] and _ONCE.search(sentence)))


def _of_all_answers(line: str) -> str:
    """The topic of a wish for all answers to come (“from now on, answer in French”); empty when it is none."""
    found = _NOW_ON.match(line)
    if found is None or line.endswith(("?", "？")):
        return ""
    rest = found["en"] or found["zh"]
    if _IN_LANGUAGE.match(rest):
        return "response:language"
    form = _PREFIX.match(rest)
    return topic("response:length", rest) if form is not None and not _is_none(rest, form) else ""
