"""How a message is read for memories: the heuristics of seeds 000 and 001, in English and Chinese, by sentence.

Owns the words of explicit wishes (记住…, remember …, from now on, 以后都, 默认 …) and of the four kinds, with the
confidence and importance that seed 001 gives them. Must not decide what is kept: it says what a sentence is.

Where the seeds match a word anywhere (`always` in “great to see you, as always”; `remember` in “what do you remember
from it?”), a sentence has to say it as a wish or a statement: a question is never one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.sentences import split

WEIGHTS = {
    "preference": (0.92, 0.85),
    "fact": (0.88, 0.80),
    "decision": (0.90, 0.90),
    "episodic": (0.75, 0.60),
}
"""Confidence and importance of each kind (seed 001)."""
EXPLICIT = (0.98, 0.95)
"""Confidence and importance of what a person asks to be remembered."""

EPISODE = "User message: "
EPISODE_CHARS = 180
EPISODE_WORDS = 5

_CLAUSES = re.compile(r"(?<=；)")
_QUESTION = re.compile(
    r"[?？]\s*[\"'”）)]*$|(?:吗|呢|么|嘛)[。！!.]*$|^(?:who|what|when|where|why|how|which|whose|do|does|did|is|"
    r"are|was|were|can|"
    r"could|would|will|should|shall|may|have|has|had|am)\s+(?:i|you|we|he|she|it|they|the|this|that|there|my|your|"
    r"our|to|many|much|long|often|come|do|does|is|are|was)\b(?!.*[.!]$)|^(?:你|您)?(?:还|還)?记得.{0,30}(?:吗|么|"
    r"什么|谁|哪|几)|"
    r"^(?:什么|为什么|怎么|如何|谁|哪|几点|多少)",
    re.IGNORECASE,
)
LEAD = (
    r"^(?:(?:hey|hi|hello|ok(?:ay)?|also|and|but|so|well|btw|by the way|oh|yes|no|please|nanobot|actually|"
    r"another thing)[\s,:!.]+){0,3}"
)
"""What a sentence may begin with before it says what it wants, as a pattern."""
_REMEMBER = re.compile(
    LEAD + r"(?:(?:can|could|would|will) you (?:please )?)?(?:please\s+)?"
    r"(?:remember|memori[sz]e|keep in mind|bear in mind|(?:make|take) a note(?= that|:)|note(?= that\b|\s*:)|"
    r"(?:do not|don't|never) forget)(?!\s+(?:when|how|what|where|who|why|me|us|those|the (?:time|day)s?)\b)"
    r"(?:\s+this)?(?:\s*[:,，：]\s*|\s+that\s*[:,]?\s+|\s+)(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_UNWANTED = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwho )(?<!\bpeople )"
    r"\b(?:(?:do not|don't|dont|do n't|never|please not|not to|need not|needn't|(?:must|should|may|can) ?(?:not|n't)|"
    r"stop|no need to|without|rather not)\s+(?:(?:ever|please|you|try to|have to|need to|want you to)\s+)?"
    r"(?:(?:remember(?:ing)?|memori[sz](?:e|ing)|keep(?:ing)? in mind)"
    r"(?=\s*(?:[:,.!]|$|this|that|it\b|these|the following|anything|any of|what|my|i\b|me\b|about|where|how))|"
    r"(?:sav|stor|not|captur|writ)(?:e|ing)(?: down)?(?=\s+(?:this|that|it|these|any of (?:this|that))\b)|"
    r"(?:keep|record|log)(?:ing)?(?=\s+(?:this|that|it|these|any of (?:this|that))\b))|off the record)|"
    r"(?:不要|别|別|不用|不必|无需|無需|请勿|勿|不需要|不许|不准|甭)(?:再|去|帮我|给我|替我|把.{1,12})?"
    r"(?:记(?!错|混|恨|仇)|記(?!錯|混|恨|仇)|保存|存下|存储|写下)",
    re.IGNORECASE,
)
_FORGET = re.compile(
    LEAD + r"(?:(?:can|could|would|will) you |you (?:can|should|may) |i want you to )?(?:please\s+|just\s+)*"
    r"(?:forget\b|never ?mind\b|un-?remember\b|(?:delete|erase|remove|drop) (?:the|that|my|what|your)\b.{0,40}"
    r"\bmemor(?:y|ies)\b)|"
    r"^[\s,，]*(?:(?:请|請|麻烦|你|那就|还是|把.{1,30})[，,\s]*){0,3}(?:忘(?:掉|记|記|了)|算了|当我没说|當我沒說)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    LEAD + r"(?:can|could|would|will) you (?:please )?(?:remember|keep|note)\b(?! (?:when|what|how|me|my)\b)",
    re.IGNORECASE,
)
_REMEMBER_ZH = re.compile(
    r"^[\s,，]*(?:(?:嗯|好|好的|对了|另外|还有|麻烦|请|請|帮我|你要|你|一定要|务必|给我|都|要)[，,\s]*){0,4}"
    r"(?:记住|記住|记下来?|記下|记一下|記一下|记着|牢记|别忘了|不要忘记|不要忘了|记得(?!.{0,20}(?:吗|么|什么|谁|哪)))"
    r"(?:了|一下|这一?点|这件事)?[\s:：，,、]*(?P<what>.+)",
    re.DOTALL,
)
_STANDING = re.compile(
    r"\b(?:from now on|from here on|going forward|henceforth|in (?:the )?future,|by default)\b|"
    + LEAD.replace("^", "(?:^|[,;]\\s*)", 1)
    + r"(?:you (?:should|must) )?always (?:use|reply|answer|respond|write|send|call|include|keep|add|prefer|start|"
    r"end|"
    r"format|speak|ask|check|give|show|put|make|do|tell|remind|say|book|order|run|test|commit|explain|translate|"
    r"be|avoid|"
    r"begin|wrap|sign|cite|quote|save|store|round|convert|open|close|deploy|leave|take|set|pay|buy|choose|pick|go|"
    r"let|"
    r"mention|refer|review|confirm|follow|assume|treat|read|work|turn|bring|lock|back up)\b|"
    r"\b(?:please|should|must) always \w+|^(?:please )?default to \b|\b(?:the|my|our) default (?:\w+ ){0,3}(?:is|"
    r"should be|will be)\b|"
    r"\bas (?:the|my|our) default\b|以后都|以后请|以後都|以後請|今后都|今后请|从现在起|从今以后|從現在起|往后都|"
    r"长期|長期|默认|默認|"
    r"每次都(?=要|用|请|先|给)|一律(?=用|使用)",
    re.IGNORECASE,
)


class _Kind(NamedTuple):
    """The words of one kind."""

    kind: str
    pattern: str


_KINDS: tuple[_Kind, ...] = (
    _Kind(
        "decision",
        r"\blet'?s (?:use|go with|stick (?:with|to)|switch to|adopt|keep using|settle on)\b|"
        r"\bwe(?:'ve| have)? (?:decided|agreed|settled|chosen|chose|opted|concluded)\b|\bfrom now on use\b|"
        r"\bwe(?:'ll| will| are going to| shall) (?:use|go with|switch to|adopt|move to|migrate to|keep|drop)\b|"
        r"\bwe(?:'re| are) (?:going with|switching to|moving to|migrating to)\b|\b(?:the|our|"
        r"final) decision(?: is|:)|^decision:|"
        r"\bi(?:'ve| have)? decided\b|^do (?!not\b)\w.{2,80}\bnot \w|"
        r"(?:我们|咱们|团队|大家)(?:已经)?(?:就)?(?:决定|商定|同意|约定|说好|定下|敲定|统一|改用|采用)|"
        r"决定(?:了)?(?:用|采用|改用|使用|不再|换成|选)|"
        r"(?:我们|咱们)(?:以后|之后|就|都|将|会)+(?:用|使用|采用)|就(?:这么|这样)定了|最终(?:方案|决定)(?:是|为)",
    ),
    _Kind(
        "preference",
        r"\bi(?:'d| would)?(?: much| really| strongly| generally| usually| still)? (?:prefer|rather)\b|"
        r"\bmy (?:\w+ )?preference (?:is|are)\b|\bmy (?:all-time )?favou?rite\b|"
        r"\bi(?: really| also| quite| absolutely)? (?:like|love|enjoy|adore)\b"
        r"(?! (?:it|that|this|those|these|them|your|how you|what you|the way you|you|to know|to see if)\b)|"
        r"\b(?:i|we) (?:usually|normally|typically|mostly|always) "
        r"(?:use|drink|eat|read|write|work|take|listen|go|wear|order)\b|"
        r"\bi (?:do not|don't|can't|cannot) (?:like|want|enjoy|stand|eat|drink|use)\b(?! (?:it|that|this)\b)|"
        r"\bi(?: really)? (?:hate|dislike|avoid)\b|"
        + LEAD.replace("^", "(?:^|[,;]\\s*)", 1)
        + r"(?:don't|do not|never|always) (?:use|write|send|reply|answer|call|include|add|start|end|ask|put|give|"
        r"make|speak|"
        r"respond|say|show|format|explain|translate|mention|apologi[sz]e|wake|remind|book)\b|"
        r"我(?:还|也|真的|真|最|更|比较|更加|特别|非常|很|不太|不|不怎么|一直|平时|一般|通常|其实)*(?:喜欢|喜愛|"
        r"喜歡|偏好|偏爱|爱(?=喝|吃|看|听|用|玩)|"
        r"讨厌|討厭|习惯|習慣|倾向|不想要|受不了|宁愿|常用|爱用)|我的?(?:偏好|喜好|最爱|习惯)(?:是|为)|^(?:请|"
        r"請)?(?:不要|别|別|勿)(?:再)?"
        r"(?:用|使用|给|在|发|叫|加|写|说|问|打扰|推荐|提)|^(?:请|請)(?:总是|始终|一直|都)?用",
    ),
    _Kind(
        "fact",
        r"\bmy (?:\w+ )?time ?zone is\b|\bmy (?:first |last |full |nick)?name(?:'s| is)\b|\bcall me \w|\bi(?:'m|"
        r" am) called\b|"
        r"\bmy (?:native |first |mother )?(?:language|tongue) is\b|\bi speak (?!to\b|with\b|about\b|for\b|up\b)|"
        r"\bi work (?:with|at|for|as|in|on|from|remotely|part)\b|\bi(?:'m| am) (?:based |living |located |from |"
        r"originally )?"
        r"(?:in|from|at) (?!(?:a|an|the)? ?(?:hurry|rush|awe|tears|shock|luck|touch|meeting|middle|mood|bed|bit|"
        r"love|trouble|pain|favou?r|"
        r"general|agreement|"
        r"charge|fact|work|home|way|moment|least|last|first|all)\b)[\w\"]|\bi (?:live|grew up|was born|studied|"
        r"teach|own|moved|"
        r"drive|study) |\bi(?:'m| am) (?:allergic|vegetarian|vegan|married|divorced|single|pregnant|diabetic|"
        r"left-handed|retired|"
        r"a[n]? (?!(?:bit|little|lot|fan|huge|big|great|few|idiot|mess)\b)\w+|\d{1,3} years)|\bi(?:'ve|"
        r" have)(?: got)? (?:a|an|two|three|four|"
        r"\d+) (?:\w+ )?(?:son|daughter|kid|child|brother|sister|dog|cat|wife|husband|car|bike|degree|allerg|"
        r"meeting every|house|"
        r"flat|company|phd)\w*|\bmy (?:\w+ )?(?:wife|husband|partner|son|daughter|kids?|child|children|mother|"
        r"father|mom|mum|dad|"
        r"brother|sister|boss|manager|colleague|team|dog|cat|company|employer|job|address|birthday|phone|e-?mail|"
        r"car|doctor|"
        r"dentist|server|laptop|editor|shell|blood type|shoe size|anniversary|hometown|school|university|project|"
        r"flight|"
        r"passport|staging|host|database)(?:'s)?(?: \w+){0,3} (?:is|are|was|has|have|lives?|works?|likes?|loves?|"
        r"hates?|runs?|"
        r"starts?|prefers?)\b|我(?:的(?:名字|全名)?)?叫(?!你)|叫我\S|我(?:现在|目前|平时|一直)?(?:住|"
        r"在(?=[^\s，。]{1,12}(?:工作|上班|生活|读书|上学|做))|"
        r"来自|出生|毕业|就职|任职|从事)|我是(?!说|想|指|不是|觉得|认为|问|在)\S|我对.{1,20}过敏|我(?:会说|说的是|"
        r"的母语)|"
        r"我(?:有|养了|家有|结婚|离婚|单身|今年\d|怀孕|吃素)|我(?:的|家|们家)?(?:女儿|儿子|妻子|老婆|丈夫|老公|"
        r"妈妈|爸爸|母亲|父亲|孩子|姐姐|妹妹|哥哥|弟弟|"
        r"生日|时区|時區|语言|語言|母语|公司|工作|职业|地址|电话|邮箱|车|狗|猫|家乡|学校|老板|同事|项目|团队|血型|"
        r"医生|服务器|电脑|手机)[^，。！？]{0,16}?"
        r"(?:是|叫|在|为|有|住|：|:|喜欢|生于|出生|对)|我用的是",
    ),
)

_REQUEST = re.compile(
    r"^(?:thanks|thank you|ok|okay|yes|no|sure|great|cool|hi|hello|hey|good (?:morning|night|evening)|bye|lol|"
    r"好的?|谢谢|你好|嗯|行|可以|收到|没问题|再见|早上好|晚安)\b[\s\w,!.，。！]{0,24}$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[぀-ヿ㐀-䶿一-鿿가-힯]|[^\W_]+")
_WIDE = re.compile(r"[぀-ヿ㐀-䶿一-鿿가-힯]")


class Said(NamedTuple):
    """What a sentence is: the words to keep, the kind, whether a person asked for it, and which words showed that."""

    text: str
    kind: str
    explicit: bool
    intent: str

    @property
    def confidence(self) -> float:
        """How sure it is that this is one, 0 to 1."""
        return EXPLICIT[0] if self.explicit else WEIGHTS[self.kind][0]

    @property
    def importance(self) -> float:
        """How much it matters, 0 to 1."""
        return max(EXPLICIT[1], WEIGHTS[self.kind][1]) if self.explicit else WEIGHTS[self.kind][1]


@lru_cache(1)
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)


@lru_cache(4)  # a message is asked for them several times in one turn
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message, without list marks; lines that quote somebody (`>`) are left out.

    A wide semicolon parts what is said, but not what a person asks to be remembered: that goes to the end."""
    whole = (part.lstrip("-*•· \t") for part in split(text))
    said = [part for part in whole if part and not part.startswith(">")]
    return tuple(one for part in said for one in ([part] if _wish(part) else filter(None, _clauses(part))))


def _clauses(sentence: str) -> list[str]:
    return [part.strip() for part in _CLAUSES.split(sentence)] if "；" in sentence else [sentence]


def read(sentence: str) -> Said | None:
    """What a sentence says for memory, None when nothing."""
    plain = sentence.replace("’", "'").strip()
    if asks_to_forget(plain) or is_unwanted(plain):
        return None
    wish = _wish(plain)
    if wish is not None and wish["what"].strip(" .。!！?？"):
        what = wish["what"].strip().rstrip("?？").strip()
        return Said(what, _kind_of(what) or "fact", explicit=True, intent=plain[: wish.start("what")].strip(" :：,，"))
    if _is_question(plain):
        return None
    standing = _STANDING.search(plain)
    kind = _kind_of(plain)
    if standing is not None:
        return Said(sentence.strip(), kind or "preference", explicit=True, intent=standing[0].strip(" ,;"))
    return Said(sentence.strip(), kind, explicit=False, intent=kind) if kind else None


def _wish(sentence: str) -> re.Match[str] | None:
    """The sentence as a wish that something be remembered, with `what`."""
    plain = sentence.replace("’", "'").strip()
    return _REMEMBER_ZH.match(plain) or (None if _is_question(plain, polite=True) else _REMEMBER.match(plain))


def is_unwanted(message: str) -> bool:
    """Whether a message says that it, or something in it, is not to be remembered."""
    return _UNWANTED.search(message.replace("’", "'")) is not None


def asks_to_forget(sentence: str) -> bool:
    """Whether a sentence takes something back: what it tells is not what is so."""
    return _FORGET.match(sentence.replace("’", "'").strip()) is not None


def episode(message: str) -> Said | None:
    """The message as a compact event of the conversation (seed 001), None when it is small talk or only a question."""
    line = " ".join(message.split())
    words = _WORDS.findall(line)
    wide = len(_WIDE.findall(line))
    enough = len(words) - wide + wide / 2 >= EPISODE_WORDS
    parts = sentences(message)
    spoken = [part for part in parts if not _is_question(part) and not _REQUEST.match(part)]
    if not enough or not spoken or any(map(asks_to_forget, parts)):
        return None
    cut = line if len(line) <= EPISODE_CHARS else line[:EPISODE_CHARS].rstrip() + "…"
    return Said(f"{EPISODE}{cut}", "episodic", explicit=False, intent="episodic")


def _kind_of(text: str) -> str:
    return next((kind for kind, pattern in _kinds() if pattern.search(text)), "")


def _is_question(text: str, *, polite: bool = False) -> bool:
    """Whether a sentence asks; `polite`: “can you remember that …?” asks for nothing but to remember."""
    if polite and _POLITE.match(text):
        return False
    return _QUESTION.search(text) is not None
