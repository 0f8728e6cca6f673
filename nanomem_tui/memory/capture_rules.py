"""How a message is read for memories, by sentence: in English and Chinese by the heuristics of seeds 000 and 001, in
eight more languages by what `language` learned.

Owns the words of explicit wishes (记住…, remember …, from now on, 以后都, 默认 …) and of the four kinds, with the
confidence and importance that seed 001 gives them. Must not decide what is kept: it says what a sentence is.

Where the seeds match a word anywhere (`always` in “great to see you, as always”; `remember` in “what do you remember
from it?”), a sentence has to say it as a wish or a statement: a question is never one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import detect, features, reader
from nanomem_tui.memory import quotations
from nanomem_tui.memory.capture_kinds import LEAD, kind_of, own_words
from nanomem_tui.memory.simplified import simplified, straight
from nanomem_tui.memory.unwanted import is_unwanted
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
WIDE_PER_WORD = 1.6
"""Chinese, Japanese and Korean characters that say as much as a word of English."""

BY_PATTERNS = ("en", "zh")
"""The languages that are read by the patterns here."""
KEEP = 0.45
"""How likely a sentence of another has to be worth keeping (`language.reader`)."""
SHORT, SHORT_WIDE = 5, 12
"""Words and marks, or wide characters, of a sentence that says little alone."""

_CLAUSES = re.compile(r"(?<=；)")
_QUESTION = re.compile(
    r"[?？]\s*[\"'”）)]*$|(?:吗|呢|么|嘛)[。！!.]*$|^(?:who|what|when|where|why|how|which|whose|do|does|did|is|are|was|"
    r"were|can|could|would|will|should|shall|may|have|has|had|am)\s+(?:i|you|we|he|she|it|they|the|this|that|there|my|"
    r"your|our|to|many|much|long|often|come|do|does|is|are|was)\b(?!.*[.!]$)|^(?:你|您)?(?:还)?记得.{0,30}(?:吗|么|"
    r"什么|谁|哪|几)|(?:吗|么|[住下到好完懂了过白楚]没有?)[。！!.\s]*$|^(?:什么|为什么|为啥|怎么|怎样|如何|谁|哪|几点|"
    r"多少|何时|能否|可否|是否|有没有|是不是|能不能|可不可以|会不会|要不要)|^(?!.{0,4}(?:知道|清楚|明白|管|论|问|"
    r"看))(?:你|您|我|他|她|它|我们|你们|这|那|今天|明天|昨天|现在)[^，。]{0,20}?(?:是不是|有没有|能不能|可不可以|"
    r"会不会|要不要|该不该|好不好|对不对|知不知道|记不记得|记得不记得|为什么|怎么(?!也|都)|(?<!没)什么(?!都|也|的)|"
    r"几点|多少钱|多久|哪(?:里|儿|个|天|家|些))|(?:怎么样|怎么办|怎么做|怎么回事|什么意思|是什么|叫什么|做什么|吃什么|"
    r"喝什么|在哪[里儿]?|几点了?|多少钱?|多久|多大|多远|是谁|什么时候|好不好|行不行|对不对|可以不|"
    r"行不)[啊呀呢的了]?[。！!.\s]*$",
    re.IGNORECASE,
)
_NOT_FORGET = (
    r"(?:(?:i|we)(?:'d| would| do)? (?:don't|do not|wouldn't|would not|not|never) want you to|(?:do not|don't|never) "
    r"let me|(?:make sure|be sure|see to it)(?: that)? (?:you (?:do not|don't|never)|not to)|(?:you )?(?:must|should|"
    r"may|can) ?(?:not|n't|never)|do not|don't|never)(?: ever)? forget"
)
_NOT_FORGET_ZH = (
    r"(?:(?:千万|可|绝对)*(?:别|不要|不能|不许|不可以?)(?:再)?(?:让我)?|我(?:可|绝对|真的)?不(?:想|希望|愿意?)(?:让|"
    r"叫)?(?:你|您))忘(?:[记掉]了|[记掉了])"
)
_REMEMBER = re.compile(
    LEAD + r"(?:(?:can|could|would|will) you (?:please )?)?(?:please\s+)?"
    r"(?:remember|memori[sz]e|keep in mind|bear in mind|(?:make|take) a note(?= that|:)|note(?= that\b|\s*:)|note to "
    r"self(?=\s*[:,])|(?:save|store|record|keep|log|(?:write|note|jot)(?: down)?)(?= (?:this|that|the following)"
    rf"(?: down)?(?: for (?:me|later))?\s*[:：])|{_NOT_FORGET})(?!\s+(?:when|how|what|where|who|why|me|us|those|the "
    rf"(?:time|day)s?)\b)"
    r"(?:\s+this)?(?: down)?(?: for (?:me|later))?(?:\s*[:,，：]\s*|\s+that\s*[:,]?\s+|\s+)(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
GONE = r"(?:delete|erase|remove|drop|wipe|clear|purge|discard|scrub|get rid of)"
KEPT = (
    r"(?:memor(?:y|ies)|(?:what|everything|anything|all|whatever)(?: that)? (?:you|we) (?:\w+ )?(?:know|remember|have|"
    r"learned|learnt|saved|stored|noted|kept|recorded)|(?:info(?:rmation)?|facts?|everything|anything|all)(?= "
    r"(?:stored |saved )?(?:about|on|of|regarding|concerning)\b)|(?:info(?:rmation)?|data|facts?|notes?|records?|"
    r"entries)(?= (?:that )?you (?:\w+ )?(?:know|remember|have|saved|stored|noted|kept)))"
)
GONE_ZH = r"(?:删除|删掉|删了|删去|清除|清空|抹掉|抹去|移除|去掉|忘掉|忘记|忘了)"
KEPT_ZH = r"(?:记忆|记录|信息|资讯|内容|资料|印象|笔记|一切|所有|事情?)"
MEMORY_ZH = r"(?:记忆|印象)"
_PLEASE_ZH = r"^[\s,，]*(?:(?:请|麻烦|你|您|帮我|那就|还是|可以|能不能|能|现在|给我)[，,\s]*){0,5}"
_FORGET = re.compile(
    LEAD + r"(?:(?:can|could|would|will) you |you (?:can|should|may) |i(?:'d like| want| would like) you to )?"
    rf"(?:please\s+|just\s+)*(?:forget\b|never ?mind\b|un-?remember\b|{GONE} (?:\w+ ){{0,3}}?{KEPT}\b)|"
    rf"{_PLEASE_ZH}(?:把.{{1,30}})?(?:忘(?:掉|记|了)|算了|当我没说)|"
    rf"{_PLEASE_ZH}(?:{GONE_ZH}(?:.{{0,40}}的)?(?:你)?(?:所有|全部)?(?:的)?{MEMORY_ZH}|{GONE_ZH}.{{0,4}}(?:关于|有关|"
    rf"对于|记得)|(?:把|将|关于|有关).{{1,40}}{GONE_ZH})",
    re.IGNORECASE,
)
_FORGET_ALL = re.compile(
    LEAD + rf"(?:(?:can|could|would|will) you |i(?:'d like| want| would like) you to )?(?:please\s+|just\s+)*(?:forget|"
    rf"{GONE}) "
    r"(?:(?:absolutely |about )?(?:everything|all)|(?:all|the whole|your|my|the|our)(?: of)?(?: (?:your|my|the|our|"
    r"saved|stored|whole|entire)){0,3} (?:memor(?:y|ies)|data|facts|notes))(?: (?:that )?(?:you|we)(?: \w+)?(?: "
    r"(?:know|remember|have|learned|saved|stored)))?(?: (?:about|of|on) (?:me|us|everything|myself))?(?: (?:please|now|"
    r"again))*\W*$|(?:what|all|everything|anything) (?:that )?you (?:know|remember|have(?: saved| stored)?|saved|"
    r"stored) (?:about|of|on) (?:me|us)\W*$|"
    rf"{_PLEASE_ZH}(?:把|将)?(?:{GONE_ZH})?(?:你)?(?:关于我的|有关我的|我的|对我的|记得的|知道的|保存的)?(?:一切|所有|"
    rf"全部)(?:的)?(?:关于我的|我的)?{KEPT_ZH}?(?:都|全都|全)?(?:{GONE_ZH})?(?:了|吧|掉)*\W*$|"
    rf"{_PLEASE_ZH}{GONE_ZH}(?:你)?(?:关于我的|有关我的|我的|对我的|你的)?(?:所有|全部|一切)?的?{MEMORY_ZH}[吧了]*\W*$",
    re.IGNORECASE,
)
_POLITE = re.compile(
    LEAD + r"(?:can|could|would|will) you (?:please )?(?:remember|keep|note)\b(?! (?:when|what|how|me|my)\b)",
    re.IGNORECASE,
)
_REMEMBER_ZH = re.compile(
    r"^[\s,，]*(?:(?:嗯|好的?|对了|另外|还有|麻烦|请|帮我|你要|你|一定要|务必|给我|都|要|(?P<polite>能不能|可不可以|能|"
    r"可以))[，,\s]*){0,5}"
    rf"(?:记住|记下来?|记一下|记着|牢记|{_NOT_FORGET_ZH}|记得(?!.{{0,20}}(?:吗|么|什么|谁|哪)))"
    r"(?!了?(?:多少|什么|谁|哪|几|没))(?:了|一下|这一?点|这件事)?[\s:：，,、]*(?P<what>.+)",
    re.DOTALL,
)
_TAG_ZH = re.compile(
    r"[\s，,]*(?:好吗|可以吗|行吗|好不好|行不行|可以不|好么|行么|好嘛|OK吗)[\s?？。！!]*$", re.IGNORECASE
)
_ASKED_ZH = re.compile(r"(?:吗|呢|么|嘛|没有?)[\s。！!.]*$|[?？]\s*[\"'”）)]*$")
_POINTER = re.compile(
    r"(?:this|that|it|these|those|them|the following|following|all(?: of)? (?:this|that|these|it)|the below|below|"
    r"(?:these|the following|the|some|a few|my) (?:\w+ )?(?:things?|facts?|points?|items?|details?|list|notes?)|(?:了|"
    r"吗|呢|吧|啊|哦|呀|的|没有?|住)+|(?:以下|下面|如下|这些|这几|这|那|那些|它|他们?说的)(?:的|几|两|三|\d)*(?:个|点|"
    r"条|件|件事|句话|些|话|事|内容|信息|事项|事情|东西|资料)?)(?: (?:about me|for me|for later|please))*",
    re.IGNORECASE,
)
"""What points at what is to be remembered, and is not it."""
_POINTED = re.compile(rf"(?:{_POINTER.pattern})\s*[:：]\s*(?=\S)", re.IGNORECASE)
_BARE_HEAD = re.compile(
    LEAD
    + r"(?:(?:can|could|would|will) you )?(?:please )?(?:remember|memori[sz]e|note(?: down)?|keep in mind|save|store|"
    r"(?:(?:some )?(?:things|facts) )?to remember)(?: (?:all )?(?:of )?(?P<what>\w[\w ]{0,40}))?\s*[:：]?$|"
    r"^[\s,，]*(?:(?:请|帮我|麻烦|你|要|都|给我|好的?)[，,\s]*){0,4}(?:记住|记下来?|记一下|记着|牢记|记录(?:一下)?|"
    r"保存)(?:一下)?(?P<zh>[^：:，,]{0,16})[:：]?$",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"^\s*(?:[-*•·–]|[（(]?\d{1,2}[.)、）:：]|[①-⑳])\s*(?=\S)")
_DO = (
    r"(?:use|reply|answer|respond|write|send|call|include|keep|add|prefer|start|end|format|speak|ask|check|give|show|"
    r"put|make|do|tell|remind|say|book|order|run|test|commit|explain|translate|be|avoid|begin|wrap|sign|cite|quote|"
    r"save|store|round|convert|open|close|deploy|leave|take|set|pay|buy|choose|pick|go|let|mention|refer|review|"
    r"confirm|follow|assume|treat|read|work|turn|bring|lock|back up|delete|stop|try|skip|stick|switch|warn|wait|notify|"
    r"spell|address)"
)
"""What a person orders."""
_STANDING = re.compile(
    r"\b(?:from now on|from here on|going forward|henceforth|in (?:the )?future,)(?!\w)|"
    + LEAD.replace("^", "(?:^|[,;]\\s*)", 1)
    + rf"(?:you (?:should|must) )?always {_DO}\b|"
    + LEAD
    + r"(?:next time|by default)[\s,:]+(?:(?:please|always|just|only|you (?:should|must))[\s,]+)*"
    rf"(?:{_DO}|don't|do not|never)\b(?! (?:it|that) (?:is|was)\b)|{LEAD}(?:please )?(?:always "
    rf")?{_DO}\b.{{1,80}}?\b(?:by default|next time)(?=\W*$)|"
    r"\b(?:please|should|must) always \w+|^(?:please )?default to \b|\b(?:my|our) default (?:\w+ ){0,3}(?:is|should be|"
    r"will be)\b|\bthe default (?:\w+ ){0,3}(?:should be|will be)\b|\bas (?:the|my|our) default\b|^(?:(?:请|麻烦|那|你|"
    r"您|好的?|嗯|我们|大家)[，,\s]*){0,4}(?:(?:以后|今后|往后|从此|之后)(?:请|都|就|一律|统一|要|全部|只|"
    r"请都)*(?:不要|别|不许|不用|用|使用|叫|称呼|回答|回复|说|写|给|把|按|先|发|默认|提醒|采用|改用|换成|跟|帮|在|"
    r"每)(?!想|再说)|(?:以后|今后|往后|从此|之后)[^，。！？我你他她]{1,12}?(?:都|一律|统一|全部)(?:请|要)?(?:用|写|"
    r"使用|采用|按|以|发|放|改成|换成|回答|回复|不要|别)|(?:下次|下回)(?:请|记得|一定|务必|都|就|要|你)*(?:先(?=问|"
    r"告诉|确认|跟|和|给|让|提醒|检查|备份|通知|说)|别|不要|用|使用|叫|回答|回复|写|给我|提醒我|问我|按|把|"
    r"[^，。！？我你他她]{1,10}?(?:提醒|先问|告诉|通知|叫)我)(?!想|再说)|"
    r"长期(?!\w*(?:以来|来看|的)))|默认(?:情况下)?(?:请|都|要|就|，|,|\s)*(?:用|使用|采用|以|按|回答|回复|选|发|写|走|"
    r"叫)|以后都|以后请|今后都|今后请|从现在起|从今以后|往后都|每次都(?=要|用|请|先|给)|一律(?=用|使用)",
    re.IGNORECASE,
)

_REQUEST = re.compile(
    r"^(?:thanks|thank you|ok|okay|yes|no|sure|great|cool|hi|hello|hey|good (?:morning|night|evening)|bye|lol|好的?|"
    r"谢谢|你好|嗯|行|可以|收到|没问题|再见|早上好|晚安)\b[\s\w,!.，。！]{0,24}$",
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


@lru_cache(4)  # a message is asked for them several times in one turn
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message, without list marks; lines that quote somebody (`>`) are left out.

    A wide semicolon parts what is said, but not what a person asks to be remembered: that goes to the end."""
    whole = (part.lstrip("-*•· \t") for part in _split(text))
    said = [part for part in whole if part and not part.startswith(">")]
    return tuple(one for part in said for one in ([part] if _wish(part) else filter(None, _clauses(part))))


def _split(text: str) -> Iterator[str]:
    """The sentences of a text, none ending within a quotation."""
    joined, at = quotations.joined(text), 0
    for part in split(joined):
        at = joined.index(part, at)
        yield text[at : at + len(part)]
        at += len(part)


def _plain(sentence: str) -> str:
    """A sentence as the patterns read it; a place in it is the same place in the `straight` one."""
    return simplified(straight(sentence))


def _clauses(sentence: str) -> list[str]:
    return [part.strip() for part in _CLAUSES.split(sentence)] if "；" in sentence else [sentence]


def read(sentence: str) -> Said | None:
    """What a sentence says for memory, None when nothing."""
    language = detect.language_of(sentence)
    return _by_patterns(sentence) if language in BY_PATTERNS else next(_learned((sentence,), language), None)


def _learned(parts: Sequence[str], language: str) -> Iterator[Said]:
    """What the sentences of a message say for memory. A statement after a bare “remember this” is a wish; one that says
    little alone goes with the one before it."""
    wished, last = "", None
    for part, reading in zip(parts, reader.read(parts, language), strict=True):
        said = None
        if _only_leads(part):
            pass
        elif reading.act == "remember" and reading.lasting < KEEP:
            wished = part.strip()
        elif reading.act != "forget" and (reading.lasting >= KEEP or (wished and reading.act == "moment")):
            explicit = bool(wished) or reading.act in ("remember", "rule")
            said = Said(part.strip(), reading.kind, explicit, wished or reading.act)
            wished = ""
        if said is not None and last is not None and (_is_short(part) or last.intent == said.intent == "rule"):
            last = last._replace(text=f"{last.text} {said.text}")
            continue
        if last is not None:
            yield last
        last = said
    if last is not None:
        yield last


def _only_leads(part: str) -> bool:
    """Whether a sentence only leads to what follows (“my sister wrote me:”), or is torn off the head of a mail."""
    tokens = features.tokens(part)
    is_torn = sum(map(str.isalpha, tokens)) < 3 and "0" in tokens and not features.is_wide(part)
    return is_torn or part.rstrip().endswith((":", "："))


def _is_short(part: str) -> bool:
    return len(part) <= SHORT_WIDE if features.is_wide(part) else len(features.tokens(part)) <= SHORT


def _by_patterns(sentence: str) -> Said | None:
    plain = _plain(sentence)
    if asks_to_forget(plain) or is_unwanted(plain):
        return None
    wish = _wish(plain)
    if wish is not None:
        what = _wanted(wish, sentence)
        if not what:
            return None
        intent = straight(sentence)[: wish.start("what")].strip(" :：,，")
        return Said(what, kind_of(what) or "fact", explicit=True, intent=intent)
    if is_question(plain):
        return None
    standing = _STANDING.search(own_words(plain))  # not what another one says is to be
    kind = kind_of(plain)
    if standing is not None:
        return Said(sentence.strip(), kind or "preference", explicit=True, intent=standing[0].strip(" ,;"))
    return Said(sentence.strip(), kind, explicit=False, intent=kind) if kind else None


def _wish(sentence: str) -> re.Match[str] | None:
    """The sentence as a wish that something be remembered, with `what`; a question is none but for politeness."""
    plain = _plain(sentence)
    wish = _REMEMBER_ZH.match(plain)
    if wish is None:
        return None if is_question(plain, polite=True) else _REMEMBER.match(plain)
    if _ASKED_ZH.search(plain) is None or _TAG_ZH.search(plain) is not None:
        return wish
    return wish if wish["polite"] and kind_of(_wanted(wish, sentence)) else None


def _wanted(wish: re.Match[str], sentence: str) -> str:
    """What a wish asks to be remembered, as the sentence writes it; empty when it only points at it."""
    what = straight(sentence)[slice(*wish.span("what"))].strip()
    if (tag := _TAG_ZH.search(simplified(what))) is not None:
        what = what[: tag.start()]
    what = what.rstrip("?？").strip()
    if wish.re is _REMEMBER_ZH and wish["polite"]:
        what = what.removesuffix("吗").removesuffix("嗎")
    what = what[found.end() :].strip() if (found := _POINTED.match(simplified(what))) is not None else what
    bare = what.strip(" .。!！?？:：,，")
    return "" if not bare or _POINTER.fullmatch(simplified(bare)) else what


def points_only(sentence: str) -> bool:
    """Whether a sentence asks to remember something and does not say what (“remember this”)."""
    wish = _wish(sentence)
    return (
        wish is not None
        and not _wanted(wish, sentence)
        and wish["what"].strip(" 。！!.~") not in ("了", "啦", "着", "了啊")
    )


def said_in(text: str) -> tuple[Said, ...]:
    """Everything that a message says for memory: the entries of a list that it asks to be remembered, then what its
    sentences say."""
    entries, rest = _listed(text)
    parts, language = sentences(rest), detect.language_of(rest)
    if language in BY_PATTERNS:
        return (*entries, *filter(None, map(_by_patterns, parts)))
    return (*entries, *_learned(parts, language))


def without_lists(text: str) -> str:
    """A message without the lists that it asks to be remembered."""
    return _listed(text)[1]


@lru_cache(4)
def _listed(text: str) -> tuple[tuple[Said, ...], str]:
    """The entries under each line that only asks to remember what follows, and the message without them."""
    found: list[Said] = []
    rest: list[str] = []
    head, marked = "", None
    for line in text.splitlines():
        plain = line.strip()
        mark = _ENTRY.match(line)
        if head and plain and not plain.startswith(">") and marked in (None, mark is not None):
            marked = mark is not None
            entry = (line[mark.end() :] if mark else line).strip()
            found.append(Said(entry, kind_of(entry) or "fact", explicit=True, intent=head))
        elif not (head and not plain and marked is not False):
            head, marked = (plain.rstrip(":："), None) if _asks_for_list(plain) else ("", None)
            rest += [] if head else [line]
    if not found:
        return (), text
    return tuple(found), "\n".join(rest)


def _asks_for_list(line: str) -> bool:
    head = _BARE_HEAD.match(_plain(line)) if len(line) <= 120 and not is_unwanted(line) else None
    if head is None:
        return False
    what = (head["what"] or head["zh"] or "").strip()
    if what and _POINTER.fullmatch(what) is None:
        return False
    return line.endswith((":", "：")) or "follow" in what.lower()


def asks_to_forget(sentence: str) -> bool:
    """Whether a sentence takes something back: what it tells is not what is so."""
    return _FORGET.match(_plain(sentence)) is not None


def forgets_all(sentence: str) -> bool:
    """Whether a sentence asks to forget everything that is remembered."""
    plain = _plain(sentence)
    return asks_to_forget(plain) and _FORGET_ALL.search(plain) is not None


def episode(message: str) -> Said | None:
    """The message as a compact event of the conversation (seed 001), None when it is small talk or only a question, or
    in a language of which every sentence is read."""
    if detect.language_of(message) not in BY_PATTERNS:
        return None
    line = " ".join(message.split())
    words = _WORDS.findall(line)
    wide = len(_WIDE.findall(line))
    enough = len(words) - wide + wide / WIDE_PER_WORD >= EPISODE_WORDS
    parts = sentences(message)
    spoken = [part for part in parts if not is_question(part) and not _REQUEST.match(part)]
    if not enough or not spoken or any(map(asks_to_forget, parts)):
        return None
    cut = line if len(line) <= EPISODE_CHARS else line[:EPISODE_CHARS].rstrip() + "…"
    return Said(f"{EPISODE}{cut}", "episodic", explicit=False, intent="episodic")


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is a greeting, thanks or a yes."""
    return _REQUEST.match(sentence) is not None


def is_question(text: str, *, polite: bool = False) -> bool:
    """Whether a sentence asks; `polite`: “can you remember that …?” asks for nothing but to remember."""
    if polite and _POLITE.match(text):
        return False
    return _QUESTION.search(simplified(text)) is not None
