"""When a message of a person corrects the answer before it (seed 000): in English and Chinese.

Owns the words of corrections and what they are about. A correction begins with its word, so that a story in which
something was wrong is none; with `feedback_require_prefix` off the word may stand anywhere in a short message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from nanomem_tui.memory.simplified import simplified
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


_LEAD = (
    r"(?!oh no\b)(?:(?:hey|hmm+|oh|sorry|but|and|ok(?:ay)?|well|actually|please|no|nope|嗯|哎|啊|喂|呃|拜托)"
    r"[\s,，.!。！]+){0,2}"
)
_WORDS = (
    r"no[,.!](?! ?(?:thanks|thank you|worries|problem|need|not now|it's (?:ok|fine))\b)|nope\b|"
    r"wrong\b(?! (?:turn|number|side|day|place|person|train|bus|way)\b)|incorrect\b|that(?:'s| is| was) (?:not |"
    r"wrong|incorrect|false|too (?!bad|kind|funny|sad)\w)|that isn't\b|"
    r"not (?:what|true|right|"
    r"correct|quite|like that|in english|in chinese)\b|you (?:misunderstood|got (?:it|that) wrong|are wrong|"
    r"forgot|missed|didn't)\b|"
    r"you're (?:wrong|mistaken)\b|(?:way |much |far )?too (?:long|short|verbose|wordy|brief|detailed|technical|"
    r"formal|much)\b|"
    r"(?:make it |be |keep it |a bit |much )?(?:shorter|longer|briefer|more (?:concise|brief|detailed))\b|"
    r"be (?:brief|concise)\b|"
    r"(?:don't|do not|stop|never) (?:us(?:e|ing)|writ(?:e|ing)|reply|answer|speak|do|say|add|ask|repeat|put|end|start|"
    r"apologi[sz]|mak(?:e|ing) (?:it|them|your))\w*|no (?:more )?(?:emojis?|emoticons?|bullet points|lists|markdown|"
    r"jokes|small talk)\b|(?:please )?keep (?:it|them|this|(?:your |the )?(?:answers?|repl(?:y|ies)|responses?|"
    r"messages?|sentences|explanations?)) (?:\w+ ){0,2}(?:short|shorter|brief|briefer|concise|simple|simpler|formal|"
    r"informal|"
    r"detailed|longer|technical)\b|i (?:said|"
    r"meant|asked for|"
    r"didn't (?:ask|mean|say)|did not (?:ask|mean|say))\b|(?:in|use|speak|answer in|reply in|"
    r"respond in) (?:english|chinese|german|"
    r"french|spanish|italian|japanese|portuguese|russian|korean)\b|instead(?=[,.!]|$)|correction\b|"
    r"(?:please )?(?:fix|redo|"
    r"try) (?:it|that|this)"
    r"(?: again)?\b|"
    r"不对|错了|不是(?!吗|么|吧)|不准确|不正确|不要(?:这样|这么|再)|别(?:这样|这么|再|用)|不要用|少用|太长|太短|"
    r"太啰嗦|太罗嗦|太复杂|太简单|太多|简短|简洁|短一点|短点|长一点|"
    r"详细(?:一点|点)|精简|说重点|我(?:说的|的意思|要的|问的)(?:是|不是)|你(?:理解错|搞错|弄错|记错|说错|答错|"
    r"误会)|答非所问|(?:请)?(?:用|说|讲)"
    r"(?:中文|英文|英语|汉语|日语|日文|德语|法语)|(?:请)?(?:把)?(?:你的?)?(?:回答|回复|答案|解释|说话|说|讲|写)(?:写|说|讲)?"
    r"(?:得|要|请|尽量|可以|能不能|的)?(?:再|更|太)?(?:简短|简洁|精简|详细|啰嗦|(?:短|长|简单|正式)(?:一点|点|一些|些|了))|"
    r"应该是|纠正|更正|重新(?:来|写|说|回答)|有误|搞错了"
)
_PREFIX = re.compile(rf"^\s*{_LEAD}(?:{_WORDS})", re.IGNORECASE)
_NO = re.compile(r"^\W*(?:no|nope)\b", re.IGNORECASE)
_ANYWHERE = re.compile(rf"(?:^|[\s,，.。;；!！])(?:{_WORDS})", re.IGNORECASE)

_ABOUT: Mapping[str, re.Pattern[str]] = {
    "response:length": re.compile(
        r"\b(?:long|short|shorter|longer|brief|briefer|briefly|concise|verbose|wordy|detailed|rambling|lengthy|"
        r"(?:fewer|less|more|too many) (?:words|lines|detail|text|sentences)|summari[sz]e|to the point)\b|"
        r"太长|太短|太多|啰嗦|罗嗦|简短|简洁|简单点|短一点|短点|长一点|详细|精简|说重点|字数",
        re.IGNORECASE,
    ),
    "response:language": re.compile(
        r"\b(?:english|chinese|mandarin|german|french|spanish|italian|japanese|portuguese|russian|korean|"
        r"language|"
        r"translate)\b|中文|英文|英语|汉语|普通话|日语|日文|德语|法语|语言|翻译",
        re.IGNORECASE,
    ),
    "response:accuracy": re.compile(
        r"\b(?:wrong|incorrect|inaccurate|false|not (?:true|right|correct|accurate)|mistake\w*|isn't (?:true|"
        r"right|correct)|"
        r"error|outdated|made (?:that|it) up|hallucinat\w*|actually)\b|"
        r"不对|错了|不准确|不正确|搞错|弄错|记错|说错|答错|有误|应该是|纠正|更正|不是",
        re.IGNORECASE,
    ),
}
"""What a correction is about, the first that fits; else it is about response:alignment."""


_NOW_ON = re.compile(
    rf"^\s*{_LEAD}(?:(?:from (?:now|here) on|going forward|henceforth|in (?:the )?future|by default|always)[\s,:]+"
    r"(?:(?:please|always|only|you (?:should|must|have to))[\s,]+)*)(?P<en>.+)|"
    r"^\s*(?:(?:请|麻烦|拜托|好的?|那|嗯)[\s，,]*)*(?:(?:你|您)\s*)?"
    r"(?:以后|今后|往后|之后|从现在起|从今以后|默认)[\s，,]*"
    r"(?:(?:请|你|您|都|就|一律|统一|全部|只|要|始终|一直|跟我|和我|对我|回答|回复|聊天|说话|时)[\s，,]*)*(?P<zh>.+)",
    re.IGNORECASE | re.DOTALL,
)
"""How a wish for all answers to come begins."""
_LANGUAGES = "english|chinese|mandarin|german|french|spanish|italian|japanese|portuguese|russian|korean"
_LANGUAGES_ZH = "中文|英文|英语|汉语|普通话|日语|日文|德语|法语"
_IN_LANGUAGE = re.compile(
    r"(?:(?:answer|reply|respond|write|speak|talk)(?: (?:to |with )?(?:me|us))?(?: (?:only|always))?(?: in)? |"
    r"use |in )"
    rf"(?:{_LANGUAGES})(?=\W*$|[,.;!]| (?:please|only|with me|to me|with us|to us|here|in this chat|instead)\b)|"
    rf"(?:用|使用|讲|说)(?:{_LANGUAGES_ZH})(?:来)?(?:回答|回复|答复|交流|沟通|聊天?|和我说|跟我说|说话?|写)?(?:我|我们)?(?:的问题)?"
    r"(?:吧|就好|就行|了|好了)?(?=[\s。！!，,；;~]|$)",
    re.IGNORECASE,
)


TOPICS: Mapping[str, re.Pattern[str]] = {
    "response:language": re.compile(
        rf"\b(?:{_LANGUAGES})\b|{_LANGUAGES_ZH}",
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
    r"correction|"
    r"(?:that|this|it)(?:'s| is| was) (?:just |simply |totally |completely |still |so )?(?:wrong|incorrect|false|"
    r"not it|"
    r"a mistake|an error|(?:not |n't )(?:quite |really )?(?:right|true|correct|good|like that|helpful))|"
    r"(?:that|this|it) (?:isn't|wasn't|is not|was not) (?:quite |really )?(?:right|true|correct|good|it|helpful|"
    r"like that)|"
    r"(?:(?:that|this|it)(?:'s| is| was) |(?:that|this|it) (?:isn't|wasn't) )?(?:not )?what i (?:asked|meant|wanted|"
    r"said|"
    r"asked for|was asking)(?: for| about)?|i (?:didn't|did not) (?:ask|mean|say|want)(?: for)? (?:that|this|it)|"
    r"you(?:'re| are) (?:wrong|mistaken)|you (?:misunderstood|got (?:it|that|this|me) wrong)(?: me| it| that)?|"
    r"(?:fix|redo|try) (?:it|that|this)(?: again)?|"
    r"不对|错了|错|有误|不准确|不正确|搞错了?|答非所问|纠正|更正|"
    r"不是(?:这样|那样|这个|那个|这么回事|我(?:要|问|说|想要)的)?(?:子)?(?:的|啊|呀)?(?:意思)?|"
    r"我(?:说|问|要|想要|想问)的不是(?:这|那)(?:个|样|些)?|我不是(?:这个|那个|这)意思|"
    r"你(?:又|都|全|完全)?(?:理解错|搞错|弄错|记错|说错|答错|误会|理解)了?(?:我)?(?:的)?(?:意思)?|"
    r"重新(?:来|写|说|回答)(?:一下|一遍|一次)?|再(?:来|试|说)一(?:次|遍)|请|啊|吧|呀|呢|了|的|嗯|哎|唉|喂|呃|又)[\W_]*)+",
    re.IGNORECASE,
)
NOTHING_BETTER = "a correction that does not say what would be better"

_EMPTY_WORDS = (
    r"(?:(?:i(?:'m| am) )?(?:so |very |really )?sorry(?: about that| for that)?|(?:my )?apolog(?:ies|y)|i apologi[sz]e|"
    r"my (?:mistake|bad)|(?:you(?:'re| are) )?right|ok(?:ay)?|sure(?: thing)?|yes|no|nope|done|understood|got it|"
    r"thanks?(?: you)?|will do|of course|certainly|alright|noted|oops|i see|hi|hello|hey|hm+|no problem|"
    r"you(?:'re| are) welcome|抱歉|对不起|不好意思|好的?|明白了?|知道了|收到|是的?|嗯|没问题|不客气|谢谢)"
)
_EMPTY = re.compile(rf"[\W_]*(?:{_EMPTY_WORDS}[\W_]*)*", re.IGNORECASE)


def says_nothing(answer: str) -> bool:
    """Whether an answer is only an apology or a short word: no example of what to avoid."""
    return len(answer) < 200 and _EMPTY.fullmatch(simplified(answer.replace("’", "'").strip())) is not None


def detect(text: str, settings: Settings, answer: str = "") -> Correction | None:
    """The correction that a message makes, None when it is none or too long.

    `answer`: what the message follows. After a question, a plain “No, …” answers it and corrects nothing.
    """
    said = " ".join(text.replace("’", "'").split())
    if not said or len(said) > settings.feedback_max_message_chars:
        return None
    line = simplified(said)
    if (_PREFIX.match(line) if settings.feedback_require_prefix else _ANYWHERE.search(line)) is None:
        standing = _of_all_answers(line)
        return Correction(standing, said, is_standing=True) if standing else None
    trigger = next((name for name, pattern in _ABOUT.items() if pattern.search(line)), "response:alignment")
    if trigger == "response:alignment" and answer.rstrip().endswith(("?", "？")) and _NO.match(line):
        return None
    return Correction(trigger, said, is_empty=len(line) < 100 and _ONLY_WRONG.fullmatch(line) is not None)


def _of_all_answers(line: str) -> str:
    """The topic of a wish for all answers to come (“from now on, answer in French”); empty when it is none."""
    found = _NOW_ON.match(line)
    if found is None or line.endswith(("?", "？")):
        return ""
    rest = found["en"] or found["zh"]
    if _IN_LANGUAGE.match(rest):
        return "response:language"
    return topic("response:length", rest) if _PREFIX.match(rest) else ""
