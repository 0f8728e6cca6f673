"""`nanomem dream versions` and `dream survival`: a memory file through time, and what is left of each Dream."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.options import Command, State, Words, page, paged, pass_state
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.core import errors
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.dreams.blame import DreamSurvival, SavedVersion, Versions
    from nanomem_tui.dreams.log import BlamedLine, Writer
    from nanomem_tui.workspace import Workspace


_SPARK = 14  # cells of a curve in a list
_MOST_WIDE, _HEIGHT = 72, 7  # cells and lines of a curve


@click.command("versions", cls=Command)
@click.argument("file", type=Words())
@click.argument("sha", type=Words(), required=False)
@paged
@pass_state
def versions(state: State, file: str, sha: str | None, limit: int | None, offset: int) -> None:
    """Every version of SOUL.md, USER.md or MEMORY.md, newest first; with a SHA the file as it was after that change.

    `nanomem dream restore SHA --file FILE --as-of` brings one back.

    \b
    Example:
      nanomem dream versions USER.md --limit 5
      nanomem dream versions USER.md SHA
    """
    from nanomem_tui.dreams.log import full_name

    path = full_name(file)
    with state.open() as ws:
        if sha is not None:
            _show(state, ws, path, sha)
            return
        found = ws.dream.versions
        all_of_it = list(found.of(path))
        body = [_version(found, saved, path) for saved in page(all_of_it, limit, offset)]
        why_none = ws.dream.why_none()
    number = counted(len(all_of_it), "version")
    none = (
        f"None of {number} within that limit and offset." if all_of_it else why_none or "No version of it is kept yet."
    )
    state.show(body, lambda: _version_lines(body) or [none])


def _show(state: State, ws: Workspace, path: str, sha: str) -> None:
    commit = ws.dream.commit(sha)
    text = ws.dream.versions.text(commit.sha, path)
    if text is None:
        raise errors.NotFound("there was no such file then", path, "choose a later version")
    body = {"id": commit.sha, "sha": commit.sha, "at": commit.at, "message": commit.subject, "file": path, "text": text}
    state.show(body, lambda: paragraph(text.removesuffix("\n"), output.terminal_width()))


def _version(found: Versions, saved: SavedVersion, path: str) -> dict[str, Any]:
    added: int | None = None
    removed: int | None = None
    with suppress(errors.NanomemError):  # a version whose text is lost
        added, removed = found.counts(saved, path)
    return {
        "id": saved.sha or "now", "sha": saved.sha or None, "at": saved.at or None, "who": saved.who,
        "message": saved.subject, "file": path, "added": added, "removed": removed,
    }  # fmt: skip


def _version_lines(body: Sequence[dict[str, Any]]) -> list[str]:
    columns = [
        Column("Commit"),
        Column("Time"),
        Column("Who", drop=1),
        Column("+", right=True),
        Column("-", right=True),
        Column("Message", limit=80, least=24),
    ]
    cells = [
        ((row["sha"] or "now")[:8], output.when(row["at"]), row["who"],
         *("?" if row[sign] is None else str(row[sign]) for sign in ("added", "removed")),
         row["message"])
        for row in body
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())


@click.command("survival", cls=Command)
@click.argument("sha", type=Words(), required=False)
@paged
@pass_state
def survival(state: State, sha: str | None, limit: int | None, offset: int) -> None:
    """How much of what each Dream wrote still stands, newest first; with a SHA the lines of that Dream and their fate.

    A line that moved stands; one that was reworded is gone.

    \b
    Example:
      nanomem dream survival --limit 5
    """
    with state.open() as ws:
        wanted = ws.dream.commit(sha).sha if sha is not None else ""
        subjects = {commit.sha: commit.subject for commit in ws.dream.commits()}
        found = ws.dream.versions.survival()
        none = ws.dream.why_none() if not found else ""
    if sha is None:
        shown = page(found, limit, offset)
        body = [_lasting(one, subjects, lines=False) for one in shown]
        empty = (
            f"None of {counted(len(found), 'Dream')} within that limit and offset."
            if found
            else none or "No Dream has run yet."
        )
        state.show(body, lambda: _survival_lines(shown, subjects) or [empty])
        return
    one = next((one for one in found if one.sha == wanted), None)
    if one is None:
        raise errors.NotFound("no Dream made that change", wanted[:8], "see `nanomem dream survival`")
    state.show(_lasting(one, subjects, lines=True), lambda: _one_lines(one, subjects))


def _lasting(one: DreamSurvival, subjects: dict[str, str], *, lines: bool) -> dict[str, Any]:
    body = {"id": one.sha, **one.to_json(), "message": subjects.get(one.sha, "")}
    if not lines:
        del body["lines"]
    return body


def _survival_lines(shown: Sequence[DreamSurvival], subjects: dict[str, str]) -> list[str]:
    from nanomem_tui.widgets.plots import small_curve

    columns = [
        Column("Commit"),
        Column("Time", drop=2),
        Column("Added", right=True),
        Column("Stand", right=True),
        Column("Share", right=True),
        Column("Since then", drop=1),
        Column("Message", limit=80, least=24),
    ]
    cells = [
        (one.sha[:8], output.when(one.at), str(one.added), str(one.standing), f"{one.share:.0%}" if one.added else "-",
         small_curve(one.curve(), _SPARK) if one.added else "", subjects.get(one.sha, ""))
        for one in shown
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())


def _one_lines(one: DreamSurvival, subjects: dict[str, str]) -> list[str]:
    from nanomem_tui.widgets.plots import curve

    width = output.terminal_width()
    lines = output.fields(
        [
            ("Commit", one.sha),
            ("Time", output.when(one.at)),
            ("Message", subjects.get(one.sha, "")),
            ("Added", counted(one.added, "line")),
            ("Stand", f"{one.standing:,} ({one.share:.0%}) after {counted(one.versions - one.number - 1, 'version')}"),
        ]
    )
    if one.added:
        lines += ["", *curve(one.curve(), min(width or _MOST_WIDE, _MOST_WIDE), _HEIGHT)]
    for title, fates in (
        ("Stand", [fate for fate in one.lines if fate.gone is None]),
        ("Gone", [fate for fate in one.lines if fate.gone is not None]),
    ):
        lines += ["", f"{title} ({len(fates):,}):"] if fates else []
        for fate in fates:
            lines += paragraph(f"  {fate.text}", width)
            if fate.gone is not None:
                said = (
                    f"{fate.gone[:8]} {subjects.get(fate.gone, '')}"
                    if fate.gone
                    else "an edit that no commit holds yet"
                )
                lines += paragraph(f"      with {said}", width)
    return lines


# `nanomem blame`: who wrote each line of SOUL, USER and MEMORY, why, and from which words of a session.

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d{1,9})", re.DOTALL)
_SHOWN = 400  # characters of an entry or a message
_GUESSED = "\n~ entries found by the words that they share with the line: a guess, no Dream recorded them."
_BACK = "\n< brought back by an undo or a revert; `nanomem blame FILE:LINE` names who wrote it first."


@click.command("blame", cls=Command)
@click.argument("place", metavar="[FILE[:LINE]]", type=Words(), required=False)
@click.option("--session", "session_key", type=Words(), metavar="KEY", help="The other way: from a session ...")
@click.option("--message", type=click.IntRange(min=0), metavar="N", help="... and a message of it to the lines.")
@pass_state
def blame(state: State, place: str | None, session_key: str | None, message: int | None) -> int | None:
    """Who wrote each line of SOUL.md, USER.md or MEMORY.md, and which history entries asked for it.

    With a LINE also the words of the session that these came from. With --session and --message the way back: the
    lines that a message led to. Exit code 1 when it led to none.

    \b
    Example:
      nanomem blame USER.md:12
      nanomem blame --session cli:direct --message 4
    """
    if session_key is not None or message is not None:
        if session_key is None or message is None:
            raise click.UsageError("--session and --message go together", click.get_current_context())
        return _led_to(state, place, session_key, message)
    if place is None:
        raise click.UsageError("name a file: SOUL.md, USER.md or MEMORY.md", click.get_current_context())
    match = _PLACE.fullmatch(place)
    file, number = (match["file"], int(match["line"])) if match else (place, 0)
    with state.open() as ws:
        lines = ws.dream.blame(file)
        if match:
            if not 1 <= number <= len(lines):
                raise errors.NotFound("no such line", place, f"the file has {counted(len(lines), 'line')}")
            lines = ws.dream.with_messages(lines[number - 1 : number])
        elif state.json:
            lines = ws.dream.with_messages(lines)
        none = ws.dream.why_none()
        doubts = ws.dream.doubts(lines)
    body = [line.to_json() for line in lines]
    if match:
        state.show(body[0], lambda: _line_lines(lines[0], none))
    else:
        state.show(body, lambda: [*(_table(lines) or ["The file is empty."]), *([none] if none else [])])
    output.notes(f"Note: {doubt}" for doubt in doubts)
    return None


def _led_to(state: State, place: str | None, session_key: str, message: int) -> int:
    with state.open() as ws:
        found = ws.dream.led_to(session_key, message)
        if place is not None:
            from nanomem_tui.dreams.log import full_name

            name = full_name(place)
            found = [line for line in found if line.file == name]
    state.show([line.to_json() for line in found], lambda: _led_lines(found) or ["It led to no line."])
    return 0 if found else 1


def _table(lines: Sequence[BlamedLine]) -> list[str]:
    columns = [
        Column("Line", right=True),
        Column("Commit"),
        Column("Who"),
        Column("When", drop=2),
        Column("Entries", limit=15, drop=3, optional=True),
        Column("Session", limit=20, least=12, drop=4, optional=True),
        Column("Text", least=24),
    ]
    rows = [
        (
            str(line.number),
            _commit(line),
            line.role,
            output.when(line.at)[:10] if line.at else "",
            line.named,
            line.session_key or "",
            line.text,
        )
        for line in lines
    ]
    width = output.terminal_width()
    note = paragraph(_BACK, width) if any(line.first for line in lines) else []
    return [*table(columns, rows, width), *_guessed(lines, width), *note]


def _guessed(lines: Sequence[BlamedLine], width: int | None) -> list[str]:
    return paragraph(_GUESSED, width) if any(line.guessed for line in lines) else []


def _commit(line: BlamedLine) -> str:
    if line.writer is None:
        return "not yet"
    return f"{line.writer.short}{'<' if line.first else ''}"


def _led_lines(lines: Sequence[BlamedLine]) -> list[str]:
    columns = [Column("Line", limit=30), Column("Commit"), Column("Who", drop=1), Column("Entries", drop=2, limit=15),
               Column("Text", least=24)]  # fmt: skip
    rows = [(f"{line.file}:{line.number}", _commit(line), line.role, line.named, line.text) for line in lines]
    width = output.terminal_width()
    return [*table(columns, rows, width), *_guessed(lines, width)]


def _line_lines(line: BlamedLine, none: str) -> list[str]:
    width = output.terminal_width()
    rows = [*paragraph(f"{line.file}:{line.number}  {one_line(line.text)}", width), ""]
    if line.writer is None:
        rows += paragraph(none or "It is not committed yet: the next Dream or edit through nanomem commits it.", width)
    else:
        pairs = [_writer(line.writer, "Brought back" if line.first else "Written")]
        pairs += [_writer(line.first, "First written")] if line.first else []
        rows += [part for row in output.fields(pairs) for part in paragraph(row, width)]
    rows += _why(line, width)
    return rows


def _writer(writer: Writer, verb: str) -> tuple[str, str]:
    said = one_line(writer.subject, 60)
    by = "a person, who accepted what a Dream proposed" if writer.accepted else writer.who
    return verb, f"{output.when(writer.at)} by {by}, commit {writer.short} {said}"


def _why(line: BlamedLine, width: int | None) -> list[str]:
    doubt = paragraph(line.doubt, width) if line.doubt else []
    if not line.entries:
        return ["", *doubt]
    sure = "History entries that asked for it (it named them):"
    likely = "History entries that may have asked for it (a guess, by the words they share: no Dream recorded them):"
    rows = ["", likely if line.guessed else sure]
    for entry in line.entries:
        session = f" {entry.session_key}" if entry.session_key else ""
        said = entry.text or "(no longer in the archive)"
        rows += paragraph(f"  #{entry.cursor} {entry.timestamp}{session}: {one_line(said, _SHOWN)}", width)
    rows += [
        *doubt,
        "",
        "Said in the session, by the words they share:"
        if line.messages
        else "No message of a session shares enough words with it.",
    ]
    for message in line.messages:
        head = f"  {message.session_key} message {message.index}, {message.role}, {output.when(message.timestamp)}"
        rows += paragraph(f"{head}: {one_line(message.text, _SHOWN)}", width)
    return rows
