"""One record of an agent's work, what its fields may hold, what it is found by, and which records are asked for.

Owns the check of a record before it is kept. Must not know a database, nor load one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line
from nanomem_tui.language import tokens
from nanomem_tui.store.work.kinds import KINDS as RECORD_KINDS
from nanomem_tui.store.work.kinds import Field, Kind, Tier

MAX_TEXT = 1_000_000
"""Bytes of one field."""
MAX_ID = 200
"""Characters of an id."""
LAST_YEAR = 2199
"""The last year in which anything recorded here can be: what is later would stand first, and never age."""
MAX_WORDS = 20_000
"""Characters of a record that are searched by words."""
MAX_EMBEDDED = 8_000
"""Characters of a record that are embedded; models read a few hundred words and leave out the rest."""
COUNTERS = frozenset({"uses", "success_rate", "last_used", "success_count", "fail_count", "avg_duration_ms"})
"""Fields that move by use: what they were before is not kept."""
_MOST = 2**63 - 1


class TierRecord(NamedTuple):
    """One record. `fields`: those of its kind, JSON as values, times as UTC ISO text; absent ones are None.

    `origin`: agent, manual, import or the part of ours that made it; `stored_at` and `changed_at`: UTC ISO.
    """

    kind: str
    id: str
    fields: Mapping[str, Any]
    tier: Tier = "working"
    origin: str = "agent"
    stored_at: str = ""
    changed_at: str = ""

    @property
    def at(self) -> str:
        """When it was: the time of its kind, else when it was stored."""
        return self.fields.get(RECORD_KINDS[self.kind].when) or self.stored_at

    @property
    def title(self) -> str:
        """One line that names it."""
        return one_line(str(self.fields.get(RECORD_KINDS[self.kind].title) or self.id), 200)

    @property
    def key(self) -> str:
        """What it is called in an operation."""
        return f"{self.kind}/{self.id}"

    def to_json(self) -> dict[str, Any]:
        """The record as the command line prints it."""
        return {"id": self.id, "kind": self.kind, "tier": self.tier, **self.fields, "origin": self.origin}


class TierHit(NamedTuple):
    """A record that a search found: its score, what that is made of, and which words it holds (`words`)."""

    record: TierRecord
    score: float
    parts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The hit as the command line prints it."""
        text = {"text": self.record.title, "score": round(self.score, 6), "parts": dict(self.parts)}
        return {"id": self.record.id, **text, **self.record.to_json()}


def checked_id(record_id: str) -> str:
    """The id as it is kept. Raises BadInput for what no id can be."""
    text = record_id.strip()
    if not text or len(text) > MAX_ID or not text.isprintable():
        raise BadInput("no usable id", one_line(record_id, 40), f"1 to {MAX_ID} printable characters")
    return text


def checked(kind: Kind, given: Mapping[str, Any], *, whole: bool = True) -> dict[str, Any]:
    """The fields as they are kept, in the order of the kind; `whole`: absent ones get their default.

    Raises BadInput for a field that the kind does not have, one that is missing, and a value of another type.
    """
    unknown = [name for name in given if kind.field(name) is None]
    if unknown:
        names = ", ".join(field.name for field in kind.fields)
        raise BadInput(f"a {kind.name} has no field `{one_line(unknown[0], 40)}`", "", f"its fields: {names}")
    fields: dict[str, Any] = {}
    for field in kind.fields:
        if field.name not in given and not whole:
            continue
        value = given.get(field.name)
        if value is None and whole:
            value = _default(field)
        if value is None or (field.type == "text" and field.required and value == "" and field.default is None):
            if field.required:
                raise BadInput(f"a {kind.name} needs `{field.name}`", "", "give it")
            fields[field.name] = None
            continue
        fields[field.name] = _value(kind, field, value)
    return fields


def check_given(kind: Kind, names: Iterable[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Raise BadInput where a record made here gets what no record says: a state that there is not, a negative count.

    `names`: the fields that are given; `before`: those of the record that is there, empty for a new one; `after`: as it
    would be kept. What is there already, recorded elsewhere, may say other things.
    """
    named = frozenset(names)
    for field in kind.fields:
        value = after[field.name]
        if field.limits is not None and field.limits.given and not before and field.name not in named:
            raise BadInput(f"a {kind.name} needs `{field.name}`", "", "give it, empty where there is nothing in it")
        if field.name not in named or value is None or (before and before.get(field.name) == value):
            continue
        if field.needed and field.type == "text" and field.default is None and not value.strip():
            raise BadInput(f"a {kind.name} needs `{field.name}`", "", "give it")
        if field.type == "time" and value > f"{LAST_YEAR + 1}":
            raise _cannot_be(kind, field, value, f"give a time before {LAST_YEAR + 1}")
        if field.limits is not None and not field.limits.hold(value):
            raise _cannot_be(kind, field, value, f"give {field.limits.summary}")


def _cannot_be(kind: Kind, field: Field, value: Any, wanted: str) -> BadInput:
    return BadInput(f"`{field.name}` of a {kind.name} cannot be {one_line(repr(value), 60)}", "", wanted)


def _default(field: Field) -> Any:
    if field.type == "time" and field.required:
        return clock.iso(clock.now())
    if field.type == "json" and field.required:
        return list(field.default) if field.default is not None else {}
    return field.default


def _value(kind: Kind, field: Field, value: Any) -> Any:
    """The value in the type of its field. Raises BadInput."""
    kept: Any = None
    if field.type == "json" or (field.type == "text" and isinstance(value, str)):
        kept = value
    elif field.type == "time" and (moment := _moment(value)) is not None:
        kept = moment
    elif field.type == "bool" and isinstance(value, (bool, int)) and value in (0, 1):
        kept = bool(value)
    elif field.type == "int" and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST:
        kept = value
    elif field.type == "real" and isinstance(value, (int, float)) and not isinstance(value, bool):
        kept = float(value) if math.isfinite(value) else None
    if kept is None and not (field.type == "json"):
        raise _cannot_be(kind, field, value, _WANTED[field.type])
    try:
        size = len(written(field, kept)) if field.type in ("text", "json") else 0
    except (ValueError, TypeError, RecursionError):
        raise BadInput(
            f"`{field.name}` of a {kind.name} is no JSON", "", "give UTF-8 text and finite numbers"
        ) from None
    if size > MAX_TEXT:
        raise BadInput(f"`{field.name}` of a {kind.name} has {size:,} bytes", "", f"give at most {MAX_TEXT:,}")
    return kept


_WANTED = {
    "text": "give a text",
    "time": "give a time, like 2026-02-15T09:30:00+00:00",
    "int": "give a whole number",
    "real": "give a number",
    "bool": "give true or false",
    "json": "give JSON",
}


def _moment(value: Any) -> str | None:
    moment = clock.parse(value) if isinstance(value, str) else None
    return clock.iso(moment) if moment is not None else None


def written(field: Field, value: Any) -> bytes:
    """A text or JSON value as the database keeps it. Raises ValueError or TypeError for what UTF-8 JSON cannot hold."""
    if field.type != "json":
        return str(value).encode()
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


# -- what a record is found by --------------------------------------------------------------------------------------


def words_of(record: TierRecord) -> list[str]:
    """Return what a record is found by, as the full-text index takes it."""
    said = (plain(record.fields.get(name)) for name in RECORD_KINDS[record.kind].words)
    return tokens.tokens("\n".join(filter(None, said))[:MAX_WORDS])


def embedded(record: TierRecord) -> str:
    """Return what of a record is embedded: the fields that seed 004 names; empty where they hold nothing."""
    said = (plain(record.fields.get(name)) for name in RECORD_KINDS[record.kind].embedded)
    return "\n".join(filter(None, said))[:MAX_EMBEDDED].strip()


def plain(value: Any) -> str:
    """Return a value as words: of JSON the texts and numbers in it."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, dict):
        return " ".join(filter(None, (f"{name} {plain(inner)}" for name, inner in value.items())))
    if isinstance(value, (list, tuple)):
        return " ".join(filter(None, map(plain, value)))
    return str(value)


def differing(before: TierRecord, after: TierRecord) -> list[str]:
    """Return the fields in which two records differ."""
    return [name for name, value in after.fields.items() if value != before.fields.get(name)]


# -- which records are asked for ------------------------------------------------------------------------------------


class Where(NamedTuple):
    """Which records of a kind: fields that equal a value, times from `since` on and before `until` (UTC ISO)."""

    fields: Mapping[str, Any] = {}
    since: str = ""
    until: str = ""


class Among(NamedTuple):
    """What a field has to hold: a text like one of `patterns` (GLOB, in small letters), or a number from `low` to
    `high`. Texts that are not ASCII pass: who asks looks at them again."""

    field: str
    patterns: Sequence[str] = ()
    low: float | None = None
    high: float | None = None


class Stretch(NamedTuple):
    """Which records of a kind a long list shows: of one tier or of both, of times from `since` on and up to `until`
    (UTC ISO, both included), whose fields hold what is asked for; the newest first unless `oldest_first`."""

    kind: Kind
    tier: Tier | None = None
    since: str = ""
    until: str = ""
    oldest_first: bool = False
    among: tuple[Among, ...] = ()


# -- What the knowledge base holds, as values: documents, and the chunks that they are cut into -----------------------

KINDS = ("file", "man", "package", "page", "pack", "solution", "nanomem")
"""Where documents come from; the last are the pages that this package brings along."""

PATH = " > "
"""What stands between the headings of a section."""


class Chunk(NamedTuple):
    """A piece of a document: under which headings it stands, its lines in the source (from 1), and its text."""

    section: str
    line_from: int
    line_to: int
    text: str


class Document(NamedTuple):
    """A document as it was read. `source` says where it can be found again, `about` what it is about in one line.

    `meta`: the `path` that it was read from, where sync may read it again, and `of`: what it was added as a part of.
    """

    kind: str
    title: str
    source: str
    chunks: tuple[Chunk, ...]
    about: str = ""
    meta: dict[str, Any] = {}


class KnowledgeDocument(NamedTuple):
    """A document of the knowledge base, without its text."""

    id: str
    kind: str
    title: str
    source: str
    about: str
    hash: str
    chunks: int
    added_at: str
    checked_at: str
    meta: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The document as a JSON object."""
        return self._asdict()


class KnowledgeHit(NamedTuple):
    """A chunk that a search found, with its place: document, section, and lines of the source."""

    id: str
    document_id: str
    kind: str
    title: str
    source: str
    section: str
    line_from: int
    line_to: int
    text: str
    score: float
    parts: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """The hit as a JSON object."""
        return self._asdict()
