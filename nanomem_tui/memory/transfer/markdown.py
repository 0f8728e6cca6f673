"""Markdown to and from memories: lasting statements of notes and lines of mirrors become items; items become a page.

Pure. What was said in a conversation that a note quotes is no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from nanomem_tui.agents import markdown as parts
from nanomem_tui.agents.markdown import dump_mirror_line
from nanomem_tui.core import clock
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.operations import new_key
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.language import dates, injection, quotations, sentences
from nanomem_tui.language.secrets import mask, mask_columns
from nanomem_tui.memory.recall import said_on
from nanomem_tui.memory.transfer import import_plan
from nanomem_tui.memory.transfer.import_plan import Found, Reading
from nanomem_tui.store.values import Item

LOST = (
    "lessons, what is disabled, ids, importance, confidence, source, hits, pin, expiry, free fields, earlier values of "
    "facts, line ends"
)
TALK = "a conversation is left out"
LEFT = "{} left out: labels, tasks, questions, what was of the moment"
_TITLES = {"preference": "Preferences", "fact": "Facts", "decision": "Decisions", "episodic": "Episodes"}
_MIRRORED = {title: kind for kind, title in _TITLES.items()} | {"Episodic": "episodic"}
"""The kind of the lines under a heading of a page of ours or of a mirror; under a day they are episodic."""
_SCOPE = re.compile(r"channel:([^:\s]+):(chat|user):(.+)")
_STAMP = re.compile(r"\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) UTC\] (.*)")
_DATED = re.compile(rf"- {_STAMP.pattern}")
_SESSION_NOTE = re.compile(r"^[ \t]*[-*+][ \t]+\*\*Session (?:Key|ID)\*\*:", re.MULTILINE)
"""A line at the head of the notes that OpenClaw makes of conversations."""
_HERMES = re.compile(r"^§$", re.MULTILINE)
"""What Hermes puts between two entries."""


class Piece(NamedTuple):
    """A memory in a Markdown text: its line from 1, the heading over it, when it was stored (mirrors say so), the day
    (ISO) that a heading gives, and the words of the text that it is made of, where it has others."""

    text: str
    line: int
    section: str
    kind: str
    at: datetime | None = None
    day: str = ""
    made_of: tuple[str, ...] = ()


def markdown_pieces(text: str, where: str, *, by_line: bool = False) -> tuple[list[Piece], list[Problem]]:
    """Return the memories of a text, and what was left out; `by_line`: plain text."""
    problems: list[Problem] = []
    readable = _without_talk(mask_columns(sentences.readable(_HERMES.sub("", text))), where, problems)
    found, rest = _mirrored(readable)
    stem = PurePosixPath(where).stem
    titled = not (stem.isupper() or parts.daily_note_name(PurePosixPath(where).name))
    page = sentences.notes_read(rest, titled=titled, by_line=by_line)
    held = [one for one in page.left if injection.reason(one.text)]  # what gives orders waits for a person
    left = [one for one in page.left if one not in held]
    found += map(_piece, (*page.found, *held))
    problems += [Problem("a code block is left out", where, line, severity="warning") for line in page.code]
    if left:
        problems.append(Problem(LEFT.format(counted(len(left), "line")), where, left[0].line, severity="note"))
    return sorted(found, key=lambda piece: piece.line), problems


def _piece(note: sentences.Note) -> Piece:
    days = (parts.daily_note_name(f"{title.strip('[] ')}.md") for title in reversed(note.headings))
    day = next((day.isoformat() for day in days if day), "")
    section = note.headings[-1] if note.headings else ""
    made_of = () if note.made_of == (note.text,) else note.made_of
    return Piece(note.text, note.line, section, note.kind, day=day, made_of=made_of)


def _mirrored(text: str) -> tuple[list[Piece], str]:
    """Return the lines that a page of ours or a mirror has, as they are, and the text without them."""
    found: list[Piece] = []
    lines = text.split("\n")
    kinds: list[tuple[int, str]] = []
    for section in parts.sections(text):
        named = "episodic" if parts.daily_note_name(f"{section.title}.md") else _MIRRORED.get(section.title, "")
        kinds = [one for one in kinds if one[0] < section.level] + ([(section.level, named)] if named else [])
        first = section.start_line + bool(section.level)
        for number, line in enumerate(section.lines, first):
            stamp = _DATED.fullmatch(line)
            at = clock.parse(f"{stamp[1]}+00:00") if stamp else None
            if stamp and at is not None:
                kind = kinds[-1][1] if kinds else "fact"
                found.append(Piece(stamp[2].strip(), number, section.title, kind, at))
                lines[number - 1] = ""
    return found, "\n".join(lines)


def _without_talk(text: str, where: str, problems: list[Problem]) -> str:
    """Return the text without the sections in which it quotes a conversation."""
    lines = text.split("\n")
    if _SESSION_NOTE.search(text):
        problems.append(Problem(TALK, where, 1, severity="warning"))
        return ""
    within = parts.blocks(text)
    spoken = quotations.spoken([(at, line) for at, line in enumerate(lines) if at not in within])
    if not spoken:
        return text
    first, last = spoken[0], spoken[-1]
    sections = [section for section in parts.sections(text) if section.level]
    level = next((one.level for one in reversed(sections) if one.start_line <= first + 1), 0)
    ends = (one.start_line - 1 for one in sections if one.start_line > last + 1 and one.level <= level)
    end = next(ends, len(lines))
    problems.append(Problem(TALK, where, first + 1, severity="warning"))
    return "\n".join(["" if first <= at < end else line for at, line in enumerate(lines)])


def read(data: bytes, where: str, workspace_id: str, *, by_line: bool = False) -> Reading:
    """Return the memories of a Markdown file, dated by its name, global but under a scope's heading."""
    text, problems = parts.decode(data, where)
    found: list[Found] = []
    day = parts.daily_note_name(PurePosixPath(where).name)
    taken, left = markdown_pieces(text, where, by_line=by_line)
    bad = [*problems, *left]
    for piece in taken:
        try:
            row, note = import_plan.item({**markdown_fields(piece, where, day), **scope_of(piece)}, workspace_id)
        except import_plan.BadRow as error:
            bad.append(Problem(str(error), where, piece.line))
        else:
            found.append(Found(row, f"line {piece.line}", note))
    return Reading("markdown", found, bad, fields=frozenset({"text"}))


def is_page(data: bytes) -> bool:
    """Return whether bytes are a page of `dump` or a mirror: a heading or a dated line first."""
    start = core_files.decode(data[:65_536], "replace")
    lines = [line.rstrip("\r") for line in start.split("\n") if line.strip()]
    if not lines or "\0" in start:
        return False
    first = lines[0].startswith("# ") or _DATED.fullmatch(lines[0]) is not None
    return first and any(map(_DATED.fullmatch, lines))


def markdown_fields(piece: Piece, where: str, day: date | None = None, **more: Any) -> dict[str, Any]:
    """Return the fields of the item that a piece of the file `where` becomes, dated by the time that it has, or by noon
    of the day of its heading or of the file, and never by a time to come.

    `day`: that of the file. Where nothing dates it, nobody knows what a relative date in it means.
    """
    source: dict[str, Any] = {"file": where, "line": piece.line}
    source |= {"section": piece.section} if piece.section else {}
    source |= {"words": [*map(mask, piece.made_of)]} if piece.made_of else {}
    found: dict[str, Any] = {
        "id": new_key("ltm"),
        "text": piece.text,
        "kind": piece.kind,
        "source": "import",
        "meta": {"from": source},
        **more,
    }
    day = date.fromisoformat(piece.day) if piece.day else day
    if piece.at is None and dates.has_relative(piece.text):
        found["meta"][said_on.FIELD] = day.isoformat() if day else ""
    at = piece.at or (min(clock.now(), datetime.combine(day, time(12), UTC)) if day else None)
    if at is not None:
        found |= {"created_at": clock.iso(at), "updated_at": clock.iso(at)}
    return found


def scope_of(piece: Piece) -> dict[str, Any]:
    """Return the fields of a scope whose heading a piece stands under; none where it is no such heading."""
    scope = _SCOPE.fullmatch(piece.section)
    if not scope:
        return {}
    who = "chat_id" if scope[2] == "chat" else "sender_id"
    return {"scope_type": scope[2], "scope_key": piece.section, "channel": scope[1], who: scope[3]}


def dump(items: Iterable[Item]) -> bytes:
    """Return the items as a page: headings by kind and scope, and a dated line each."""
    by_kind: dict[str, dict[str, list[Item]]] = {}
    for item in items:
        scope = "" if item.scope_type == "global" else item.scope_key
        by_kind.setdefault(item.kind, {}).setdefault(scope, []).append(item)
    out: list[str] = []
    for kind, title in _TITLES.items():
        scopes = by_kind.get(kind, {})
        if scopes:
            out.append(f"# {title}\n")
        for scope in sorted(scopes):
            out += [f"## {scope}\n"] if scope else []
            rows_ = sorted(scopes[scope], key=lambda row: (row.created_at, row.id))
            lines = [
                dump_mirror_line(clock.parse(row.created_at) or clock.now(), one_line(row.text)).decode()
                for row in rows_
            ]
            out.append("".join(lines))
    return "\n".join(out).encode()
