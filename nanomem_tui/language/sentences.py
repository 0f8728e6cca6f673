"""Where a sentence ends: one splitter for what people write in chats, in English, Chinese and their neighbours.

Owns the list of abbreviations. Between cutting too early and too late it chooses late: half a sentence in memory is
wrong, two sentences are only long. So a point ends a sentence only before white space, and not within abbreviations,
initials, numbers, versions, addresses and names of files. Must not know what a sentence says.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NEVER = frozenset(
    "mr mrs ms mx dr drs prof rev hon gov pres messrs mme mlle mgr sra srta dra hr frau sig dott dipl capt cpt cmdr lt "
    "col sgt gen maj supt e.g eg i.e ie vs cf viz approx ca incl excl esp resp aka a.k.a bzw z.b d.h u.a s.o vgl evtl "
    "ggf inkl geb mt ft ver nr tel ext fwd attn c/o w".split()
)
"""What always stands before something that belongs to it: titles, and words like “for example”."""
_MAY = frozenset(
    "st ste str ave av avda blvd bd rd ln hwy pkwy sq ct bldg apt inc ltd co corp llc plc pty gmbh ag bros assn dept "
    "univ jr sr esq etc usw al jan feb apr jun jul aug sept oct nov mon tue tues wed thu thur thurs fri min hr hrs sec "
    "km kg cm mm lb lbs oz pm am est max avg misc cont fl".split()
)
"""What may end a sentence, and mostly does not."""
_NUMBERED = frozenset(
    "no nos fig figs art sec ch vol pp p pt op eq rev ex nr mar dec sat sun room apt flat unit v".split()
)
"""What is an abbreviation before a number, and else a word (“No. I don't”, “in the sun.”)."""
_MONTHS = r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
_STARTS = (
    r"(?:I(?!\.\w|\.\s*[A-Z]\.)|I['’]\w+|My|We|We['’]\w+|He|She|It|It['’]s|They|You|Your|Our|His|Her|Their|This|That|"
    r"These|Those|There|The|And|But|So|Also|Please|Remember|Forget|Don['’]t|Do|Does|Did|Is|Are|Was|Were|Can|Could|"
    r"Would|Will|Should|What|What['’]s|When|Where|Who|Why|How|Which|Let['’]s|Ignore|Always|Never|If|Because|Then|Now|"
    r"Thanks|Thank|Ok|Okay|Yes|From now|Tell|Send)\b(?!\.)"
)
"""Words with which a sentence begins, and hardly ever what an abbreviation belongs to."""
_END = re.compile(r"(?P<mark>[.!?…]+)(?P<close>[\"'”’)\]]*)(?P<gap>\s+)")
_WIDE_END = re.compile(r"[。！？]+[”’」』）\"')]*")
_TOKEN = re.compile(r"[^\s\"'“‘(\[，。！？；：、,;:\u3400-\u9fff]*$")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_DOTTED = re.compile(r"[^\W\d_]{1,3}(?:\.[^\W\d_]{1,3})+")
_NO_VOWEL = re.compile(r"[^\W\d_aeiouyAEIOUY]{2,5}")
_EXCLAIMED = frozenset({"yahoo", "jeopardy", "oklahoma"})


@lru_cache(1)
def _next() -> re.Pattern[str]:
    return re.compile(_STARTS)


def split(text: str, *, spaced: bool = False) -> list[str]:
    """The sentences of a text without the white space around them, none empty.

    A line ends one, and so does a Chinese end mark. `spaced`: only where an end mark is followed by white space.
    """
    cuts = [found.end() for found in _END.finditer(text) if _ends(text, found)]
    if spaced:
        cuts += [found.end() for found in re.finditer(r"(?<=[。！？])\s+", text)]
    else:
        cuts += [found.end() for found in _WIDE_END.finditer(text)]
        cuts += [found.end() for found in re.finditer(r"\n+", text)]
    pieces, last = [], 0
    for cut in (*sorted(set(cuts)), len(text)):
        piece = text[last:cut].strip()
        last = cut
        if piece:
            pieces.append(piece)
    return pieces


def is_abbreviation(word: str) -> bool:
    """Whether a word with its point (`Dr.`, `e.g.`, `J.`) is known to be shortened, wherever it stands."""
    bare = word.rstrip(".").strip("\"'“”‘’()[]")
    return word.endswith(".") and (_never(bare) or _may(bare))


def _never(bare: str) -> bool:
    return bare.lower() in _NEVER


def _may(bare: str) -> bool:
    if bare.lower() in _MAY or bare.lower().endswith("str") or _INITIAL.fullmatch(bare) or _DOTTED.fullmatch(bare):
        return True
    return bool(_NO_VOWEL.fullmatch(bare)) and not bare.isupper()


def _ends(text: str, found: re.Match[str]) -> bool:
    """Whether a mark with white space after it ends a sentence."""
    rest = text[found.end() : found.end() + 40]
    if not rest or "\n" in found["gap"]:
        return True
    token = _TOKEN.search(text, max(0, found.start() - 40), found.start())
    bare = token[0] if token is not None else ""
    mark = found["mark"]
    if mark == "!":
        return not (bare.lower() in _EXCLAIMED and rest[0].islower())
    if "?" in mark or "!" in mark:
        return True
    starts = _next().match(rest) is not None
    if mark != ".":
        return starts or _small_start(rest)
    line_start = text.rfind("\n", 0, found.start()) + 1
    if bare.isdigit():
        marks_list = not text[line_start : found.start() - len(bare)].strip(" -*•·\t")
        month = re.match(_MONTHS, rest)
        return marks_list and not month if len(bare) <= 3 and (marks_list or month) else True
    if _never(bare):
        return False
    if bare.lower() in _NUMBERED and (rest[0].isdigit() or rest[0] == "#"):
        return False
    before = text[line_start : found.start() - len(bare)].rstrip()
    inside = bare in ("No", "Nos") and before and before[-1] not in ".!?…\"'”’"
    return starts if inside or _may(bare) else True


def _small_start(rest: str) -> bool:
    """Whether a sentence begins here that nobody wrote a capital letter for (“hmm... i like tea”)."""
    return re.match(r"(?:i|i['’]\w+|my|we|please|remember)\b", rest) is not None
