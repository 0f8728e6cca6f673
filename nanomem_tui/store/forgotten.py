"""What a person wanted to be forgotten, kept so that nothing brings it back, and so that nobody can read it there.

Owns `forgotten.json`: a salt, and of each text, id, session and sender a keyed hash; of a text also how many words it
has, so that it is met within a longer one. What says too little for that (a short memory, a lesson of a
tool) is met where a row says just this. Who has the file can test a guess, and read nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import NanomemError, Problem, Refused, StoreError, from_os_error
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.store.values import ROW_LAYERS

# Texts as runs of words: what search and gate of `forget` both take for the same, and where a text holds one.

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Writings that put no spaces between words."""
_MARKS = "\u0300-\u036f\u00ad\u200b-\u200f\u2060\ufeff"
"""What is part of the word that it stands in: accents of their own, and what nobody sees."""
_ONE = f"[{UNSPACED}][\u3099\u309a]*"
"""A character of a writing without spaces, with the sound marks that may follow a kana."""
_PUNCTUATION = (
    "\\s.,;:!?\"'`()\\[\\]{}<>_*\u2026\u2010-\u2015\u2018-\u201f"
    "\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f\u00ab\u00bb\u00a1\u00bf-"
)
"""What may stand around the words of a sentence, and is no part of a name."""
TELLS = 8
"""Characters of the beginning of a text by which it is known where the rest was cut off."""
_LOOKED_BACK = 400
"""Characters before such a cut in which the beginning is looked for: labels and excerpts are shorter."""


@cache
def _word() -> re.Pattern[str]:
    """A word, or a character of a writing without spaces."""
    return re.compile(rf"{_ONE}|(?:[^\W_{UNSPACED}]|[{_MARKS}])+")


@cache
def _signed() -> re.Pattern[str]:
    """The same, and each sign."""
    return re.compile(rf"{_ONE}|(?:[^\W_{UNSPACED}]|[{_MARKS}])+|\S")


@cache
def _unseen() -> re.Pattern[str]:
    """What nobody sees."""
    return re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


@cache
def _edges() -> re.Pattern[str]:
    """What stands around the words of a text."""
    return re.compile(f"^[{_PUNCTUATION}]+|[{_PUNCTUATION}]+$")


@cache
def _cut() -> re.Pattern[str]:
    """Where a text was cut off."""
    return re.compile(r"\s*(?:…|\.\.\.)")


class Run(NamedTuple):
    """A text as it is compared. `signed`: signs count as words do."""

    signed: bool
    words: tuple[str, ...]


class Spans(NamedTuple):
    """A text as words, with the place of each in it."""

    words: list[str]
    places: list[tuple[int, int]]


def flatten(text: str) -> str:
    """A text in one case, one width and without what nobody sees."""
    if text.isascii():
        return text.lower()
    return _unseen().sub("", unicodedata.normalize("NFKC", text).casefold())


def run_of(text: str) -> Run:
    """A text as it is looked for."""
    core = _edges().sub("", unicodedata.normalize("NFKC", text))
    if not core or not (_word().match(core[0]) and _word().match(core[-1])):
        return Run(True, tuple(_signed().findall(flatten(core or text))))
    return Run(False, tuple(_word().findall(flatten(core))))


def words_of(text: str, *, signed: bool = False) -> list[str]:
    """The words of a text, in their order."""
    return (_signed() if signed else _word()).findall(flatten(text))


def spans(text: str, *, signed: bool = False) -> Spans:
    """The words of a text and where they stand in it."""
    pattern = _signed() if signed else _word()
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for found in pattern.finditer(text):
        word = found[0]
        if word.isascii():
            words.append(word.lower())
            places.append(found.span())
            continue
        for part in pattern.findall(flatten(word)):  # in another width it may be several
            words.append(part)
            places.append(found.span())
    return Spans(words, places)


def merge_overlaps(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in their order, those that overlap as one."""
    kept: list[tuple[int, int]] = []
    for begin, end in sorted(places):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end))
        elif end > kept[-1][1]:
            kept[-1] = (kept[-1][0], end)
    return kept


def with_mark(mark: str, text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text with a mark in the places of it."""
    if not places:
        return text
    ends = [0, *(end for _, end in places)]
    parts = [text[after:begin] for after, (begin, _) in zip(ends, places, strict=False)]
    return mark.join([*parts, text[ends[-1] :]])


class Runs:
    """Many runs, looked for at once: the time does not grow with their number."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._by_first: dict[bool, dict[str, list[tuple[str, ...]]]] = {False: {}, True: {}}
        every = {run for run in runs if run.words}
        for run in sorted(every, key=lambda one: -len(one.words)):
            self._by_first[run.signed].setdefault(run.words[0], []).append(run.words)
        self._rare = [max(run.words, key=len) for run in every] if len(every) <= 64 else []
        self._any = bool(every)

    def __bool__(self) -> bool:
        return self._any

    def found_in(self, text: str) -> list[tuple[int, int]]:
        """Where a text holds one of them: places that do not overlap, in their order."""
        if not self._may_be_in(text):
            return []
        found = [place for signed, firsts in self._by_first.items() if firsts for place in _met(text, firsts, signed)]
        return merge_overlaps(found)

    def cut_in(self, text: str) -> list[tuple[int, int]]:
        """Where the beginning of one of them stands before the dots by which a label or an excerpt was cut off."""
        firsts = self._by_first[False]
        if not firsts or ("…" not in text and "..." not in text):
            return []
        return [place for cut in _cut().finditer(text) if (place := _begun(text, cut, firsts)) is not None]

    def _may_be_in(self, text: str) -> bool:
        if not self._any:
            return False
        plain = flatten(text)
        if self._rare:
            return any(word in plain for word in self._rare)
        return any(
            firsts and not firsts.keys().isdisjoint((_signed() if signed else _word()).findall(plain))
            for signed, firsts in self._by_first.items()
        )


def _met(text: str, firsts: dict[str, list[tuple[str, ...]]], signed: bool) -> Iterator[tuple[int, int]]:
    words, places = spans(text, signed=signed)
    for at, word in enumerate(words):
        for run in firsts.get(word, ()):
            end = at + len(run)
            if run[-1] == words[min(end, len(words)) - 1] and tuple(words[at:end]) == run:
                yield places[at][0], places[end - 1][1]
                break  # the longest of those that begin here


def _begun(text: str, cut: re.Match[str], firsts: dict[str, list[tuple[str, ...]]]) -> tuple[int, int] | None:
    start = max(0, cut.start() - _LOOKED_BACK)
    words, places = spans(text[start : cut.start()])
    if not words or start + places[-1][1] != cut.start():
        return None
    for at in range(len(words)):
        rest = words[at:]
        if len(" ".join(rest)) < TELLS:
            return None
        last = len(rest) - 1
        runs = firsts.get(rest[0], ()) if last else [run for one in firsts.values() for run in one]
        if any(
            len(run) > last and run[last].startswith(rest[last]) and list(run[:last]) == rest[:last] for run in runs
        ):
            return start + places[at][0], cut.end()
    return None


# -- texts that stand inside longer words: `kayak` in `kayaks`, a number behind its country code ----------------------


def parts_pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """What finds them in a text that is flat; None for no text."""
    runs = sorted({run_of(text) for text in texts}, key=lambda run: -len(run.words))
    every = [r"[\W_]*".join(map(re.escape, run.words)) for run in runs if run.words]
    return re.compile("|".join(every)) if every else None


def parts_found_in(text: str, parts: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The places of the words that hold one."""
    plain = flatten(text)
    if not parts.search(plain):
        return
    places = range(len(text)) if len(plain) == len(text) else _places(text)
    if len(places) != len(plain):
        plain = "".join(map(flatten, text))
    for found in parts.finditer(plain):
        begin, end = places[found.start()], places[found.end() - 1] + 1
        while begin and text[begin - 1].isalnum():
            begin -= 1
        while end < len(text) and text[end].isalnum():
            end += 1
        yield begin, end


def _places(text: str) -> list[int]:
    """Where each character of the flat text is from."""
    return [place for place, char in enumerate(text) for _ in flatten(char)]


FILE = "forgotten.json"
Stamp = tuple[int, int, int]
"""Time of change in nanoseconds, size and inode of the file."""
NEVER: Stamp = (0, 0, 0)
"""That of a file that is not there."""
WHY = "a person wanted it to be forgotten"
_KINDS = ("words", "signs", "text")
"""Marks of texts: runs of words, of words and signs, and of words as they were told apart before (see `_OLD_WORD`)."""


_OLD_WORD = rf"[{UNSPACED}]|[^\W{UNSPACED}]+"
"""A word, as they were told apart before."""


class Mark(NamedTuple):
    """One thing that is forgotten: what it is (one of `_KINDS`, `row`, `id`, `session`, `sender`), how many words a
    text has, its hash, and the receipt that tells when it was."""

    what: str
    words: int
    digest: str
    receipt: str


class Forgotten(NamedTuple):
    """All of them. `others`: those under another key, which came with a backup."""

    salt: bytes = b""
    marks: tuple[Mark, ...] = ()
    others: tuple[Forgotten, ...] = ()

    @property
    def every(self) -> tuple[Mark, ...]:
        """The marks under whichever key."""
        return (*self.marks, *(mark for one in self.others for mark in one.every))

    def __bool__(self) -> bool:
        return bool(self.marks) or any(self.others)

    def joined(self, there: Forgotten) -> Forgotten:
        """What is forgotten here and there; hashes under another key stay what they are."""
        if not self or not there:
            return self or there
        if self.salt == there.salt:
            return self._replace(marks=tuple(dict.fromkeys((*self.marks, *there.marks))))
        beside: dict[bytes, Forgotten] = {}
        for one in (*self.others, *there.others, there._replace(others=())):
            marks = (*beside.get(one.salt, NOTHING).marks, *one.marks)
            beside[one.salt] = one._replace(marks=tuple(dict.fromkeys(marks)))
        return self._replace(others=tuple(beside.values()))

    def _met(self, text: str) -> Iterator[tuple[int, int, Mark]]:
        """Where a text holds what is forgotten (begin and end), and the mark of that."""
        for kind in _KINDS:
            marks = {mark.digest: mark for mark in self.marks if mark.what == kind}
            words, at = _spans(kind, text) if marks else ([], [])
            for length in sorted({mark.words for mark in marks.values()}):
                for start in range(len(words) - length + 1):
                    found = marks.get(mark_digest(self.salt, kind, " ".join(words[start : start + length])))
                    if found is not None:
                        yield at[start][0], at[start + length - 1][1], found
        for one in self.others:
            yield from one._met(text)

    def text(self, text: str) -> Mark | None:
        """The mark of a text that this one holds, as it stands or as texts are compared (`㎏` is `kg`)."""
        forms = (text,) if text.isascii() else dict.fromkeys((text, flatten(text)))
        return next((mark for form in forms for _, _, mark in self._met(form)), None)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where a text holds what is forgotten."""
        return merge_overlaps((begin, end) for begin, end, _ in self._met(text))

    def taken_out(self, text: str) -> str:
        """A text with `[forgotten]` in those places."""
        return with_mark(FORGOTTEN, text, self.places(text))

    def taken_out_of(self, value: Any) -> Any:
        """A JSON value with `[forgotten]` in those places of its texts."""
        if isinstance(value, str):
            return self.taken_out(value)
        if isinstance(value, Mapping):
            return {name: self.taken_out_of(inner) for name, inner in value.items()}
        return [self.taken_out_of(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    def named(self, what: str, name: str) -> Mark | None:
        """The mark of an id, a session or a sender, or (`row`) of the words that a row says."""
        marks = {mark.digest: mark for mark in self.marks if mark.what == what}
        if marks and (here := marks.get(mark_digest(self.salt, what, name))) is not None:
            return here
        return next((found for one in self.others if (found := one.named(what, name))), None)

    def refuse(self, value: Any, what: str) -> None:
        """Raise Refused where a JSON value holds anything of it."""
        if self and (found := self.value(value)) is not None:
            raise _refused(found, what)

    def row(self, value: Mapping[str, Any]) -> Mark | None:
        """The mark of a row, or of a patch of one: of anything in it, or of just what it says."""
        return self.value(value) or self.named("row", " ".join(_run(text_of_row(value))[1]))

    def value(self, value: Any) -> Mark | None:
        """The mark of anything in a JSON value."""
        if isinstance(value, str):
            return self.text(value) if value else None
        if isinstance(value, Mapping):
            for name, inner in value.items():
                what = _NAMES.get(name) if isinstance(inner, str) else None
                named = (self.named(what, one) for one in forgotten_names(what, inner)) if what else ()
                if found := next(filter(None, named), None) or self.value(inner):
                    return found
            return None
        if isinstance(value, (list, tuple)):
            return next((found for inner in value if (found := self.value(inner))), None)
        return None


def text_of_row(value: Mapping[str, Any]) -> str:
    """All that a row says, as one text: an item its words, a lesson when it holds and what is better."""
    return "\n".join(value[name] for name in ("text", "trigger", "better_action") if isinstance(value.get(name), str))


NOTHING = Forgotten()
_NAMES = {"id": "id", "session_key": "session", "sender_id": "sender", "actor_key": "sender"}


_INNER = {"sender": r"channel:[^\s:/]+:user:(.+)", "session": r"[^\s:/]+/\S+ (.+)"}
"""The sender within the name of a scope, the session within a longer name."""


def forgotten_names(what: str, name: str) -> tuple[str, ...]:
    """By which names something may be forgotten: by its own; what is of a user's scope by that of the sender too, and
    what is kept of one chat of a session (`scopes.state_key`) by that of the session."""
    found = re.fullmatch(_INNER[what], name, re.DOTALL) if what in _INNER else None
    return (name, found[1]) if found is not None else (name,)


def _spans(kind: str, text: str) -> tuple[list[str], list[tuple[int, int]]]:
    if kind != "text":
        return spans(text, signed=kind == "signs")
    found = list(re.finditer(_OLD_WORD, text))
    return [one[0].lower() for one in found], [one.span() for one in found]


def _run(text: str) -> tuple[str, tuple[str, ...]]:
    signed, words = run_of(text)
    return "signs" if signed else "words", words


def mark_digest(salt: bytes, what: str, text: str) -> str:
    data = f"{what}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, key=salt, digest_size=16).hexdigest()


def load(paths: Paths, at: Stamp | None = None) -> Forgotten:
    """What is forgotten; read again only when the file changed. `at`: its stamp, where it was looked at just now.
    Raises StoreError for a file that cannot be read: what it kept out must not come back by that."""
    at = at or stamp(paths)
    return _load(f"{paths.data}/{FILE}", *at) if at != NEVER else NOTHING


def stamp(paths: Paths) -> Stamp:
    """What changes when something is forgotten, or may be remembered again; `NEVER` where nothing ever was."""
    path = f"{paths.data}/{FILE}"
    if not os.access(path, os.F_OK):  # at every change: an error for what is not there costs five times that
        return NEVER
    try:
        found = os.stat(path)
    except OSError:
        return NEVER
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_problem(paths: Paths) -> Problem | None:
    """Why it cannot be read; what agents wrote is not taken in until it can."""
    try:
        load(paths)
    except NanomemError as error:
        return Problem(error.what, paths.relative(paths.data / FILE), fix=error.fix)
    return None


@lru_cache(4)
def _load(where: str, _time: int, _size: int, _inode: int) -> Forgotten:
    return read(Path(where))


def read(path: Path) -> Forgotten:
    """What a file keeps as forgotten. Raises as `load`."""
    try:
        return _read(files.read(path), str(path))
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error


def _read(data: bytes, where: str) -> Forgotten:
    try:
        return of_json(files.loads(data))
    except (ValueError, KeyError, TypeError):
        fix = "put it back from a backup; without it what was forgotten may come back"
        raise StoreError("what is to stay forgotten cannot be read", where, fix) from None


def of_json(value: Any) -> Forgotten:
    """What `as_json` says. Raises ValueError, KeyError or TypeError where it says nothing of the kind."""
    marks = tuple(Mark(str(a), int(b), str(c), str(d)) for a, b, c, d in value["marks"])
    return Forgotten(bytes.fromhex(value["salt"]), marks, tuple(map(of_json, value.get("others", ()))))


def drop_forgotten(paths: Paths, changes: Sequence[Change]) -> list[Change]:
    """The changes that bring nothing back. Raises the errors of `load`."""
    kept = load(paths)
    return [one for one in changes if not kept or _brought(kept, one) is None]


def without_forgotten(paths: Paths, operation: Operation, at: Stamp | None = None) -> Operation:
    """The operation without the changes that bring back what is forgotten; what a person does is refused instead. Its
    label and its free fields tell of it without its words.

    Raises Refused, and the errors of `load`.
    """
    if at == NEVER or not (kept := load(paths, at)):
        return operation
    if kept.value([operation.label, operation.meta]):
        told, meta = kept.taken_out(operation.label), kept.taken_out_of(dict(operation.meta))
        operation = operation._replace(label=told, meta=meta)
    brought = [found for one in operation.changes if (found := _brought(kept, one)) is not None]
    if not brought:
        return operation
    if operation.actor == "human":
        raise _refused(brought[0], operation.label)
    return operation._replace(changes=tuple(drop_forgotten(paths, operation.changes)))


def _refused(mark: Mark, what: str) -> Refused:
    return Refused(WHY, what, f"`nanomem forget --lift {mark.receipt}` lets it be remembered again")


def _brought(kept: Forgotten, change: Change) -> Mark | None:
    """The mark of what a change brings back. A document that holds it already may be changed in another place, and a
    row that does in what it does not say; a text that is written anew is looked at whole."""
    if change.after is None:
        return None
    value = {"id": change.key, **change.after}
    found = kept.row(value) if change.layer in ROW_LAYERS else kept.value(value)
    if found is None or not change.before:
        return found
    if change.layer in ROW_LAYERS and any(change.before.get(name) != change.after.get(name) for name in _SAYS):
        return found
    return None if kept.value(dict(change.before)) else found


_SAYS = ("text", "trigger", "bad_action", "better_action")
"""The fields of a row that say something."""


def add(paths: Paths, receipt: str, things: Mapping[str, Iterable[str]]) -> None:
    """Keep texts, ids, sessions, senders, and what rows say (`row_says`), as forgotten. Raises the errors of `load` and
    `from_os_error`."""
    _write(paths, with_more(load(paths), receipt, things))


def with_more(before: Forgotten, receipt: str, things: Mapping[str, Iterable[str]]) -> Forgotten:
    """What is forgotten, and more of it. Pure, but for a key where there is none yet."""
    salt = before.salt or os.urandom(32)
    marks = dict.fromkeys(before.marks)
    known = {(mark.what, mark.digest) for mark in before.marks}
    for what, names in things.items():
        for name in names:
            kind, words = _run(name) if what in ("text", "row") else (what, (name,))
            kind = what if what == "row" else kind
            digest = mark_digest(salt, kind, " ".join(words))
            if words and (kind, digest) not in known:
                marks[Mark(kind, len(words), digest, receipt)] = None
    return before._replace(salt=salt, marks=tuple(marks))


def add_file(paths: Paths, data: bytes) -> None:
    """Keep as forgotten what another `forgotten.json` does, too: that of a backup. Raises StoreError where that file
    cannot be read, and as `add`."""
    add_all(paths, _read(data, FILE))


def add_all(paths: Paths, there: Forgotten) -> None:
    """Keep as forgotten what is so elsewhere, too. Nothing that is forgotten here is remembered again by that. Raises
    as `add`."""
    here = load(paths)
    kept = here.joined(there)
    if kept != here:
        _write(paths, kept)


def lift(paths: Paths, receipt: str) -> int:
    """Let what a receipt made forgotten come back; how many things that were. Raises as `add`."""
    before = load(paths)
    after = _lifted(before, receipt)
    lifted = len(before.every) - len(after.every)
    if lifted:
        _write(paths, after)
    return lifted


def _lifted(kept: Forgotten, receipt: str) -> Forgotten:
    left = tuple(mark for mark in kept.marks if mark.receipt != receipt)
    return Forgotten(kept.salt, left, tuple(_lifted(one, receipt) for one in kept.others))


def _write(paths: Paths, kept: Forgotten) -> None:
    atomic.make_folder(paths.data)
    atomic.write_atomic(paths.data / FILE, json.dumps(as_json(kept), indent=1).encode())


def as_json(kept: Forgotten) -> dict[str, Any]:
    """The key and the marks under it, and those under others."""
    body: dict[str, Any] = {"salt": kept.salt.hex(), "marks": [list(mark) for mark in kept.marks]}
    return body | ({"others": [as_json(one) for one in kept.others]} if kept.others else {})


# -- The mark that lies in our folder while something is taken out of all that is stored: what is left of it tells that
# a `forget` or a mask was interrupted, and which command ends it. Of texts it holds keyed hashes, as `forgotten.json`
# does.

BEGUN = "forgetting.json"
Things = Mapping[str, Iterable[str]]


class Interrupted(NamedTuple):
    """What did not come to its end. `kind`: forget or scrub; `receipt`: the id that its receipt is to have; `asked`:
    how many texts, ids, sessions or persons; `options`: what else of it was asked for; `parts`: words that stand inside
    longer ones were meant too, which no hash tells.

    `kept`: all that stays forgotten; `sought`: what else is looked for everywhere, `rows` in documents and in the
    archive, `said` in the archive: nothing may tell it any more once a part is gone."""

    kind: str
    receipt: str
    at: str
    asked: Mapping[str, int]
    options: tuple[str, ...] = ()
    parts: bool = False
    kept: Forgotten = NOTHING
    sought: Forgotten = NOTHING
    rows: Forgotten = NOTHING
    said: Forgotten = NOTHING

    @property
    def what(self) -> str:
        """What was interrupted, and when, in words."""
        day = clock.parse(self.at)
        when = f" on {clock.local_minute(day)}" if day is not None else ""
        name = "a forget" if self.kind == "forget" else "masking secrets"
        return f"{name} was interrupted{when}: of what was to go some may be there still"

    @property
    def way(self) -> str:
        """What ends it."""
        options = "".join(f" {one}" for one in self.options)
        if self.kind != "forget":
            return f"`nanomem scrub --mask{options}` ends it"
        again = f"`nanomem forget --again{options}` ends it"
        longer = "; what stands inside longer words too goes by the same command as before alone"
        return f"{again}{longer if self.parts else ''}"

    def is_of(self, asked: Mapping[str, int], things: Things, *, parts: bool) -> bool:
        """Whether it is of just what is asked now. `things`: as `forgotten.add` takes them."""
        known = {(one.what, one.digest) for one in self.kept.marks}
        wanted = with_more(NOTHING._replace(salt=self.kept.salt), "", things).marks
        same = dict(asked) == dict(self.asked) and parts == self.parts
        return same and all((one.what, one.digest) in known for one in wanted)


_HASHED = ("kept", "sought", "rows", "said")


def read_interrupted(paths: Paths) -> Interrupted | None:
    """The mark of a memory; None where there is none, or none that can be read_interrupted."""
    path = f"{paths.data}/{BEGUN}"
    if not os.access(path, os.F_OK):
        return None
    try:
        told: dict[str, Any] = files.loads(files.read(paths.data / BEGUN, files.MOST_OF_A_LOG))
        asked = {str(name): int(number) for name, number in told["asked"].items()}
        kind, receipt, at = (str(told[name]) for name in ("kind", "receipt", "at"))
        options = tuple(str(one) for one in told["options"] if one != "--git")  # an earlier version took that
        kept, sought, rows, said = (of_json(told[name]) for name in _HASHED)
        return Interrupted(kind, receipt, at, asked, options, bool(told["parts"]), kept, sought, rows, said)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def interrupted_problem(paths: Paths) -> Problem | None:
    """That something did not come to its end, and what ends it."""
    mark = read_interrupted(paths)
    return Problem(mark.what, paths.relative(paths.data / BEGUN), None, mark.way) if mark is not None else None


def begin_forgetting(paths: Paths, mark: Interrupted) -> None:
    """Say that it begins, before anything is changed. Raises the errors of `from_os_error`."""
    told = mark._asdict() | {name: as_json(getattr(mark, name)) for name in _HASHED}
    atomic.make_folder(paths.data)
    atomic.write_atomic(paths.data / BEGUN, json.dumps(told).encode())


def end_forgetting(paths: Paths) -> None:
    """Say that nothing of it is left to be done."""
    (paths.data / BEGUN).unlink(missing_ok=True)
    atomic.sync_folder(paths.data)
