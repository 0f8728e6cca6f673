"""Text that gives orders to a model: the one pattern list, for capture, for what a Dream writes and for what is stored.

Owns the readings of a text that the patterns look at: folded (NFKC, invisible characters out, accents and confusable
letters folded), hidden tag characters, spelled-out letters, digits for letters, and what base64, base32, hexadecimal,
percent, `\\u` and character codes, rot13 and reversal hide. The patterns are data: `packs/orders-patterns.toml`, the
words of ten languages in `packs/orders.json`, and what makes a sentence an order in `packs/commands.toml`.
It decides nothing: who calls it quarantines. No list catches a plain false fact; the inbox, provenance, scopes and undo
are there for those.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from nanomem_tui.language.pack_files import expand, table

MAX_SCANNED = 200_000
"""Characters looked at; of a longer text the first and the last half of these."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_HIDDEN = re.compile("[\U000e0020-\U000e007e]{8,}")
"""More tag characters than any flag has."""
_LOOKALIKES = str.maketrans(
    dict(
        zip(
            "аеорсухіјѕԁһӏԛԝкмнтвгзιοαερτυνκχγηωßıɡɑƖⅼ‐‑–—’‘“”",
            "aeopcyxijsdhlqwkmhtbr3ioaeptuvkxynwbigall----''\"\"",
            strict=True,
        )
    )
)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_WORD = re.compile(r"[a-z0-9@$!|]{2,40}")
SPELLED = re.compile(r"(?<!\w)(?:\w[ .\-_*·]){3,}\w(?!\w)")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE32 = re.compile(r"\b[A-Z2-7]{16,}={0,6}")
HEX = re.compile(r"\b(?:0x)?((?:[0-9a-f]{2}[ :]?){8,})", re.IGNORECASE)
_UNICODE = re.compile(r"(?:\\u[0-9a-f]{4}|\\x[0-9a-f]{2}){4,}", re.IGNORECASE)


class _Order(NamedTuple):
    """One way to give orders: what it is, parts of which one is in every text that fits, a pattern."""

    why: str
    words: frozenset[str]
    pattern: str


@cache
def load_orders() -> tuple[_Order, ...]:
    """The ways of `packs/orders-patterns.toml`, in which `¦` stands for a bar in a word."""
    pack, found = table("orders-patterns"), []
    for one in pack["orders"]:
        words = (word.replace("¦", "|") for word in expand(one["words"], {}).split("|"))
        found.append(_Order(one["why"], frozenset(words), expand(one["pattern"], pack["parts"])))
    return tuple(found)


@cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when a text first has its words: most texts of a process need few patterns."""
    return re.compile(pattern, flags)


class _Way(NamedTuple):
    """A way to give orders in one language: words of each of `groups` one after the other, behind none of `told`.

    `place`: what else stands there, the name of one of `_anywhere`, or "".
    """

    why: str
    groups: tuple[frozenset[str], ...]
    place: str
    pattern: str
    told: str


_UNSPACED = ("zh", "ja")
_REACH = 200
"""Characters around a word within which an order is looked for."""
_SENTENCE_ENDS = ("! ", "? ", ". ", "。", "！", "？", "\n")


@cache
def _anywhere() -> dict[str, str]:
    """What is written alike in all languages: the address of somebody else, places of secrets."""
    pack = table("orders-patterns")
    return {f"@{name}": expand(pattern, pack["parts"]) for name, pattern in pack["anywhere"].items()}


@cache
def _of_languages() -> tuple[_Way, ...]:
    """The ways of `packs/orders.json`, for each language; the group that is rarest comes first."""
    body = table("orders")
    found = []
    for language, groups in body["words"].items():
        patterns = {name: _any_of(words.split(), language) for name, words in groups.items()} | _anywhere()
        signs = {name: frozenset(map(_folded, words.split())) for name, words in groups.items()}
        told = rf"{patterns['teller']}|^\W*{patterns['user']}"
        for way in body["ways"]:
            names = sorted((name for name in way["groups"] if name in signs), key=lambda name: name != way["sign"])
            pattern = r"[^!?。！？\n]{0,80}?".join(f"(?:{patterns[name]})" for name in way["groups"])
            place = next((name for name in way["groups"] if name in _anywhere()), "")
            found.append(_Way(way["why"], tuple(signs[name] for name in names), place, pattern, told))
    return tuple(found)


def _in_languages(reading: str) -> str:
    """Why a reading gives orders in any language of `packs/orders.json`; nobody's tale of what they do is one."""
    held: dict[frozenset[str], list[str]] = {}
    places = {"", *(name for name, pattern in _anywhere().items() if re.search(pattern, reading))}
    for way in _of_languages():
        if way.place not in places:
            continue
        for group in way.groups:
            if group not in held:
                held[group] = [word for word in group if word in reading]
            if not held[group]:
                break
        else:
            if any(_is_ordered(way, reading, word) for word in held[way.groups[0]]):
                return way.why
    return ""


def _is_ordered(way: _Way, reading: str, word: str) -> bool:
    """Whether a sentence with a word gives orders in a way, and nobody tells there what they do themselves."""
    at = reading.find(word)
    while at >= 0:
        start = max(reading.rfind(end, max(0, at - _REACH), at) for end in _SENTENCE_ENDS) + 1
        clause = max(reading.rfind(end, start, at) for end in ",，、;；:：") + 1
        around = reading[max(start, at - _REACH) : at + _REACH]
        likely = all(any(one in around for one in group) for group in way.groups[1:])
        if likely and _compiled(way.pattern).search(around):
            if not _compiled(way.told).search(reading[max(start, clause) : at]):
                return True
        at = reading.find(word, at + len(word))
    return False


def _folded(word: str) -> str:
    """A word of the pack as readings have it: `*` ends a beginning, `_` stands for a space."""
    return plain(word.strip("*").replace("_", " "))


def _any_of(words: Sequence[str], language: str) -> str:
    """A pattern of the words of a group."""
    written = (re.escape(_folded(word)) + r"\w*" * word.endswith("*") for word in words)
    either = "|".join(sorted(written, key=len, reverse=True))
    return f"(?:{either})" if language in _UNSPACED else rf"(?<!\w)(?:{either})(?!\w)"


@cache
def _words() -> tuple[str, ...]:
    """The words of all patterns, each once."""
    return tuple(sorted({word for order in load_orders() for word in order.words}))


@cache
def signs() -> tuple[str, ...]:
    """Parts of words of which every reading that `reason` finds something in holds one."""
    return tuple(sorted({*_words(), *(word for way in _of_languages() for word in way.groups[0])}))


def plain(text: str) -> str:
    """`text` as the patterns read it: NFKC, no invisible characters, accents and confusable letters folded, one space
    between words, line ends kept, lower case. For looking only, never to be stored."""
    if not text.isascii():
        folded = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        apart = unicodedata.normalize("NFKD", folded.casefold())
        text = "".join(c for c in apart if unicodedata.category(c) != "Mn").translate(_LOOKALIKES)
    return re.sub(r"[^\S\n]+", " ", text).lower()


def reason(text: str, *, hidden: bool = True) -> str:
    """Why `text` reads as orders to a model; empty when it does not.

    Not `hidden`: who asks knows that nothing is encoded in it, in rot13 or backwards.
    """
    if len(text) > MAX_SCANNED:
        text = f"{text[: MAX_SCANNED // 2]}\n{text[-MAX_SCANNED // 2 :]}"
    for how, reading in _readings(text):
        if how == "rot13" and not hidden:
            break
        # Most texts hold none of the words, and looking for a word is a hundred times cheaper than a pattern.
        held = [word for word in _words() if word in reading]
        for why, words, pattern in load_orders() if held else ():
            if not words.isdisjoint(held) and _compiled(pattern, re.DOTALL | re.MULTILINE).search(reading):
                return f"{why} ({how})" if how else why
        if how not in ("rot13", "reversed") and (why := _in_languages(reading)):
            return f"{why} ({how})" if how else why
    return "hides text in invisible characters" if _HIDDEN.search(text) else ""


def _readings(text: str, depth: int = 2) -> Iterator[tuple[str, str]]:
    """The readings of a text, each with how it was hidden; the plain one first, hidden ones only where they differ."""
    first = plain(text)
    yield "", first
    for run in TAGS.findall(text):
        yield "hidden tag characters", "".join(chr(ord(c) - 0xE0000) for c in run).lower()
    joined = SPELLED.sub(lambda found: re.sub(r"[ .\-_*·]", "", found[0]), first)
    if joined != first:
        yield "spelled out", joined
    letters = _LEET_WORD.sub(lambda found: found[0].translate(_LEET), first)
    if letters != first:
        yield "digits for letters", letters
    yield "rot13", codecs.encode(first, "rot13")
    yield "reversed", first[::-1]
    if depth:
        for how, hidden in _decoded(text):
            for deeper, reading in _readings(hidden, depth - 1):
                yield f"{deeper} in {how}" if deeper else how, reading


def _decoded(text: str) -> Iterator[tuple[str, str]]:
    """What the encoded runs of a text say, where it is readable text."""
    decoders: tuple[tuple[str, re.Pattern[str], Callable[[str], bytes]], ...] = (
        ("base64", _BASE64, _from_base64),
        ("base32", _BASE32, lambda run: base64.b32decode(run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 8))),
        ("hexadecimal", HEX, lambda run: bytes.fromhex(re.sub(r"0x|[ :]", "", run))),
        ("escapes", _UNICODE, lambda run: run.encode("ascii").decode("unicode_escape").encode("utf-8")),
    )
    for how, runs, decode in decoders:
        for run in runs.finditer(text):
            try:
                hidden = decode(run[0]).decode("utf-8")
            except (ValueError, binascii.Error):
                continue
            if len(hidden) >= 8 and sum(c.isprintable() or c.isspace() for c in hidden) >= 0.95 * len(hidden):
                yield how, hidden
    for how, whole in (("percent codes", unquote(text)), ("character codes", html.unescape(text))):
        if whole != text:
            yield how, whole


def _from_base64(run: str) -> bytes:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - 1] if len(bare) % 4 == 1 else bare
    return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)


WHY = "it reads like an order to the agent"

_SENTENCES = re.compile(r"[.!?;…](?:\s+|$)|[。！？；\n]+|\s+[-–—→]\s+")
_AND = re.compile(r",?\s+(?:and|then|or|but|also)\s+|,\s+")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """A pattern of `packs/commands.toml`."""
    pack = table("commands")
    return re.compile(expand(pack["patterns"][name], pack["parts"]), re.IGNORECASE | re.DOTALL)


@cache
def _giving() -> tuple[tuple[re.Pattern[str], ...], ...]:
    """What is in a sentence that hands data to an address: all of the first, or all of one of the others in order."""
    pack = table("commands")
    ways = [pack["hands_over"]["anywhere"], *pack["hands_over"]["ways"]]
    return tuple(tuple(re.compile(expand(part, pack["parts"]), re.IGNORECASE) for part in way) for way in ways)


def _gives(sentence: str) -> bool:
    """Whether a sentence hands data to an address, whatever its form; each part is looked for once, never back."""
    anywhere, *ways = _giving()
    return all(part.search(sentence) for part in anywhere) or any(_in_order(sentence, way) for way in ways)


def _in_order(sentence: str, parts: tuple[re.Pattern[str], ...]) -> bool:
    at = 0
    for part in parts:
        found = part.search(sentence, at)
        if found is None:
            return False
        at = found.end()
    return True


@lru_cache(maxsize=4096)
def command(text: str) -> str:
    """Why a line must be looked at by a person: `WHY`, or "" for a plain memory."""
    folded = plain(text).strip(" -*+>#\t")
    if any(map(_gives, _SENTENCES.split(folded))):
        return WHY
    talks = _pattern("talks")
    raw = unicodedata.normalize("NFKC", text).casefold().strip(" -*+>#\t")
    for reading in {folded, raw}:
        if not reading.isascii() and any(talks.search(one.strip()) for one in _sentences(reading)):
            return WHY
    if folded.isascii() and talks.search(folded):
        return WHY
    return WHY if any(map(_commands, _sentences(folded))) else ""


def _sentences(text: str) -> list[str]:
    """The sentences, and what stands behind a colon as one of its own."""
    found = []
    for sentence in filter(None, map(str.strip, _SENTENCES.split(text))):
        found.append(sentence)
        label, colon, rest = sentence.partition(":")
        if not colon:
            label, colon, rest = sentence.partition("：")
        if rest.strip() and not _pattern("label").search(label.strip(" *_")):
            found.append(rest.strip())
    return found


def _commands(sentence: str) -> bool:
    """Whether a sentence tells the agent to do, or not to do, something grave."""
    rest, led = sentence.strip(" \"'“”‘’*_`(["), False
    if _pattern("commanded").match(rest):
        return True
    while found := _pattern("lead").match(rest):
        left = rest[found.end() :]
        if _pattern("must").match(rest) and not (_pattern("style").match(left) or _pattern("supposes").match(left)):
            return True
        rest, led = left, True
    if _is_grave(rest):
        return True
    if not (led or _pattern("commands").match(rest)):
        return False
    if any(_is_grave(_led(clause)) for clause in _AND.split(rest)[1:]):
        return True
    return bool(_pattern("silently").search(rest) and _pattern("grave").search(rest))


def _is_grave(clause: str) -> bool:
    return bool(_pattern("conceals").match(clause) or _pattern("grave").match(clause))


def _led(clause: str) -> str:
    lead = _pattern("lead")
    while found := lead.match(clause):
        clause = clause[found.end() :]
    return clause
