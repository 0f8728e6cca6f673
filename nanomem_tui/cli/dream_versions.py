"""`nanomem dream versions` and `dream survival`: a memory file through time, and what is left of each Dream."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.shared import Command, Words, paged, pass_state
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, paragraph, table
from nanomem_tui.core import errors
from nanomem_tui.core.text import counted

if TYPE_CHECKING:
    from nanomem_tui.dreams.versions import Lasting, Saved, Versions
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


def _version(found: Versions, saved: Saved, path: str) -> dict[str, Any]:
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
        ((row["sha"] or "now")[:8], words.when(row["at"]), row["who"],
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


def _lasting(one: Lasting, subjects: dict[str, str], *, lines: bool) -> dict[str, Any]:
    body = {"id": one.sha, **one.to_json(), "message": subjects.get(one.sha, "")}
    if not lines:
        del body["lines"]
    return body


def _survival_lines(shown: Sequence[Lasting], subjects: dict[str, str]) -> list[str]:
    from nanomem_tui.widgets.curve import small_curve

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
        (one.sha[:8], words.when(one.at), str(one.added), str(one.standing), f"{one.share:.0%}" if one.added else "-",
         small_curve(one.curve(), _SPARK) if one.added else "", subjects.get(one.sha, ""))
        for one in shown
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())


def _one_lines(one: Lasting, subjects: dict[str, str]) -> list[str]:
    from nanomem_tui.widgets.curve import curve

    width = output.terminal_width()
    lines = output.fields(
        [
            ("Commit", one.sha),
            ("Time", words.when(one.at)),
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
