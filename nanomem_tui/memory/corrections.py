"""When a message of a person corrects the answer before it (seed 000): in English and Chinese.

Owns the words of corrections and what they are about. A correction begins with its word, so that a story in which
something was wrong is none; with `feedback_require_prefix` off the word may stand anywhere in a short message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from nanomem_tui.config import Settings


class Correction(NamedTuple):
    """What a correction is about: response:length, response:language, response:accuracy or response:alignment."""

    trigger: str
    text: str


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
    r"(?:don't|do not|stop|never) (?:use|write|reply|answer|speak|do|say|add|ask|repeat|apologi[sz])\w*|i (?:said|"
    r"meant|asked for|"
    r"didn't (?:ask|mean|say)|did not (?:ask|mean|say))\b|(?:in|use|speak|answer in|reply in|"
    r"respond in) (?:english|chinese|german|"
    r"french|spanish|italian|japanese|portuguese|russian|korean)\b|instead(?=[,.!]|$)|correction\b|"
    r"(?:please )?(?:fix|redo|"
    r"try) (?:it|that|this)"
    r"(?: again)?\b|"
    r"不对|不對|错了|錯了|不是(?!吗|么|吧)|不准确|不正确|不要(?:这样|这么|再)|别(?:这样|这么|再|用)|太长|太長|太短|"
    r"太啰嗦|太罗嗦|太复杂|太简单|太多|简短|简洁|短一点|短点|长一点|"
    r"详细(?:一点|点)|精简|说重点|我(?:说的|的意思|要的|问的)(?:是|不是)|你(?:理解错|搞错|弄错|记错|说错|答错|"
    r"误会)|答非所问|(?:请)?(?:用|说|讲)"
    r"(?:中文|英文|英语|汉语|日语|日文|德语|法语)|应该是|應該是|纠正|更正|重新(?:来|写|说|回答)|有误|搞错了"
)
_PREFIX = re.compile(rf"^\s*{_LEAD}(?:{_WORDS})", re.IGNORECASE)
_NO = re.compile(r"^\W*(?:no|nope)\b", re.IGNORECASE)
_ANYWHERE = re.compile(rf"(?:^|[\s,，.。;；!！])(?:{_WORDS})", re.IGNORECASE)

_ABOUT: Mapping[str, re.Pattern[str]] = {
    "response:length": re.compile(
        r"\b(?:long|short|shorter|longer|brief|briefer|briefly|concise|verbose|wordy|detailed|rambling|lengthy|"
        r"(?:fewer|less|more|too many) (?:words|lines|detail|text|sentences)|summari[sz]e|to the point)\b|"
        r"太长|太長|太短|太多|啰嗦|罗嗦|简短|简洁|简单点|短一点|短点|长一点|详细|精简|说重点|字数",
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
        r"不对|不對|错了|錯了|不准确|不正确|搞错|弄错|记错|说错|答错|有误|应该是|應該是|纠正|更正|不是",
        re.IGNORECASE,
    ),
}
"""What a correction is about, the first that fits; else it is about response:alignment."""


_EMPTY_WORDS = (
    r"(?:(?:i(?:'m| am) )?(?:so |very |really )?sorry(?: about that| for that)?|(?:my )?apolog(?:ies|y)|i apologi[sz]e|"
    r"my (?:mistake|bad)|(?:you(?:'re| are) )?right|ok(?:ay)?|sure(?: thing)?|yes|no|nope|done|understood|got it|"
    r"thanks?(?: you)?|will do|of course|certainly|alright|noted|oops|i see|hi|hello|hey|hm+|no problem|"
    r"you(?:'re| are) welcome|抱歉|对不起|對不起|不好意思|好的?|明白了?|知道了|收到|是的?|嗯|没问题|不客气|谢谢)"
)
_EMPTY = re.compile(rf"[\W_]*(?:{_EMPTY_WORDS}[\W_]*)*", re.IGNORECASE)


def says_nothing(answer: str) -> bool:
    """Whether an answer is only an apology or a short word: no example of what to avoid."""
    return len(answer) < 200 and _EMPTY.fullmatch(answer.replace("’", "'").strip()) is not None


def detect(text: str, settings: Settings, answer: str = "") -> Correction | None:
    """The correction that a message makes, None when it is none or too long.

    `answer`: what the message follows. After a question, a plain “No, …” answers it and corrects nothing.
    """
    line = " ".join(text.replace("’", "'").split())
    if not line or len(line) > settings.feedback_max_message_chars:
        return None
    if (_PREFIX.match(line) if settings.feedback_require_prefix else _ANYWHERE.search(line)) is None:
        return None
    trigger = next((name for name, pattern in _ABOUT.items() if pattern.search(line)), "response:alignment")
    if trigger == "response:alignment" and answer.rstrip().endswith(("?", "？")) and _NO.match(line):
        return None
    return Correction(trigger, line)
