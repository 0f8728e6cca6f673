"""How a message is read for memories, sentence by sentence, by what `language` learned in ten languages.

Owns the words of explicit wishes in English and Chinese (记住…, remember …), of which only what they ask for is kept,
and the confidence and importance that seed 001 gives the four kinds. Must not decide what is kept: it says what a
sentence is.

Where the seeds match a word anywhere (`always` in “great to see you, as always”; `remember` in “what do you remember
from it?”), a sentence has to say it as a wish or a statement: a question is never one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import detect, features, quotations, reader
from nanomem_tui.language.capture_kinds import LEAD
from nanomem_tui.language.sentences import split
from nanomem_tui.language.simplified import simplified, straight
from nanomem_tui.language.unwanted import is_unwanted

WEIGHTS = {
    "preference": (0.92, 0.85),
    "fact": (0.88, 0.80),
    "decision": (0.90, 0.90),
    "episodic": (0.75, 0.60),
}
"""Confidence and importance of each kind (seed 001)."""
EXPLICIT = (0.98, 0.95)
"""Confidence and importance of what a person asks to be remembered."""

KEEP = 0.45
"""How likely a sentence has to be worth keeping (`language.reader`)."""
SURE = 0.9
"""How likely the first clauses of a question or a task have to be."""
FRAGMENT, SHORT = 3, 6
"""Words and marks, or pairs of wide characters, of what says nothing alone (“Since May.”), and of what may not."""

_CLAUSES = re.compile(r"(?<=；)")
_COMMA = re.compile(r"[,，;]\s*")
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
_INDIRECT = re.compile(
    r"(?:(?:please|can you|could you|so|ok|now|hey|just|and),? )*(?:guess|remind me|tell me(?: again)?|do you (?:know|"
    r"remember|recall))(?: again)?,? (?:what|which|who|whose|where|when|how|why|if|whether)\b|"
    r"rate?(?: mal)?,? (?:was|welche\w*|wo|wer|wie|wann)\b|(?:adivina|adivinha|indovina|devine),? (?:qu|cu|d[oó]nde|"
    r"o que|onde|dove|chi|cosa|où|ce que|com)\w*|(?:угадай|отгадай)\w*,? |(?:你|来|那)?猜(?:猜|一?下|一猜)|"
    r".*(?:当ててみて|맞혀\s?봐|맞춰\s?봐)",
    re.IGNORECASE,
)
"""A question that is put as an order: “guess which company I work for”."""
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
_REQUEST = re.compile(
    r"^(?:thanks|thank you|ok|okay|yes|no|sure|great|cool|hi|hello|hey|good (?:morning|night|evening)|bye|lol|好的?|"
    r"谢谢|你好|嗯|行|可以|收到|没问题|再见|早上好|晚安)\b[\s\w,!.，。！]{0,24}$",
    re.IGNORECASE,
)


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
    return next(_said((sentence,)), None)


def reading_of(sentence: str) -> reader.Reading:
    """What a sentence is, read alone."""
    return reader.read((sentence,), detect.language_of(sentence))[0]


def kind_of(text: str) -> str:
    """The kind of memory that a text would be: fact, preference, decision or episodic."""
    return reading_of(text).kind


def says_something(sentence: str) -> bool:
    """Whether a sentence alone, out of another's mouth, would be a memory or take one back."""
    reading = reading_of(sentence)
    return reading.act in ("forget", "remember") or reading.lasting >= SURE


def rules_in(text: str) -> list[str]:
    """List the sentences of a message that say how the assistant has to behave from now on."""
    return [said.text for said in said_in(text) if said.intent == "rule"]


def _said(parts: Sequence[str]) -> Iterator[Said]:
    """What the sentences of a message say for memory. A statement after a bare “remember this” is a wish; one that says
    little alone goes with the one before it."""
    wished, last = "", None
    language = detect.language_of(" ".join(parts))
    for part, reading in zip(parts, reader.read(parts, language), strict=True):
        said = _of(part, reading, wished)
        only_wishes = points_only(part) or (reading.act == "remember" and reading.lasting < KEEP)
        wished = part.strip() if only_wishes else "" if said is not None else wished
        if said is not None and last is not None and (_is_tail(part, language) or last.intent == said.intent == "rule"):
            last = last._replace(text=f"{last.text} {said.text}")
            continue
        if last is not None:
            yield last
        last = said
    if last is not None:
        yield last


def _of(part: str, reading: reader.Reading, wished: str) -> Said | None:
    """What one sentence says, as it was read. `wished`: the words before it that asked for it to be remembered."""
    plain = _plain(part)
    if _only_leads(part):
        return None
    wish = _wish(plain)
    if wish is not None:
        what = _wanted(wish, part)
        intent = straight(part)[: wish.start("what")].strip(" :：,，")
        return Said(what, kind_of(what), explicit=True, intent=intent) if what else None
    if reading.act == "forget" or is_unwanted(plain):
        return None
    asks = part.endswith(("?", "？", "吗", "嗎")) or _INDIRECT.match(plain) is not None
    asks = asks and reading.act != "remember"
    if asks or (reading.act in ("question", "order") and reading.lasting < KEEP):
        return _before_a_question(part)
    if reading.act != "quoted" and (reading.lasting >= KEEP or (wished and reading.act == "moment")):
        explicit = bool(wished) or reading.act in ("remember", "rule")
        return Said(part.strip(), reading.kind, explicit, wished or reading.act)
    return None


def _before_a_question(part: str) -> Said | None:
    """The statement that a question or a task follows in the same sentence (“I don't eat pork, so what …?”)."""
    for comma in reversed([*_COMMA.finditer(part)]):
        head = part[: comma.start()].strip()
        reading = reader.read((head,), detect.language_of(part))[0]
        if reading.act in reader.LASTING and reading.lasting >= SURE:
            return Said(head, reading.kind, reading.act == "rule", reading.act)
    return None


def _only_leads(part: str) -> bool:
    """Whether a sentence only leads to what follows (“my sister wrote me:”), or is torn off the head of a mail."""
    tokens = features.tokens(part)
    is_torn = sum(map(str.isalpha, tokens)) < 3 and "0" in tokens and not features.is_wide(part)
    return is_torn or part.rstrip().endswith((":", "："))


def _is_tail(part: str, language: str) -> bool:
    """Whether a sentence is short and says nothing that lasts without the one before it (“Twice a week.”)."""
    size = len(part) // 2 if features.is_wide(part) else len(features.tokens(part))
    return size <= FRAGMENT or (size <= SHORT and reader.read((part,), language)[0].lasting < KEEP)


def _wish(sentence: str) -> re.Match[str] | None:
    """The sentence as a wish that something be remembered, with `what`; a question is none but for politeness."""
    plain = _plain(sentence)
    wish = _REMEMBER_ZH.match(plain)
    if wish is None:
        return None if is_question(plain, polite=True) else _REMEMBER.match(plain)
    if _ASKED_ZH.search(plain) is None or _TAG_ZH.search(plain) is not None:
        return wish
    return wish if wish["polite"] and reader.read((_wanted(wish, sentence),), "zh")[0].lasting >= KEEP else None


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
    return (*entries, *_said(sentences(rest)))


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
            found.append(Said(entry, kind_of(entry), explicit=True, intent=head))
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
    return reading_of(sentence).act == "forget"


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is a greeting, thanks or a yes."""
    return _REQUEST.match(sentence) is not None


def is_question(text: str, *, polite: bool = False) -> bool:
    """Whether a sentence asks; `polite`: “can you remember that …?” asks for nothing but to remember."""
    if polite and _POLITE.match(text):
        return False
    return _QUESTION.search(simplified(text)) is not None
