"""`nanomem dream`: run a Dream, read what Dreams did, take them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.shared import Group, State, Words, paged, pass_state
from nanomem_tui.cli.tables import Column, table

if TYPE_CHECKING:
    from nanomem_tui.store.git_values import Commit, FileDiff


@click.group("dream", cls=Group)
def dream() -> None:
    """The agent's Dreams: run one, see what each changed, take one back.

    \b
    Example:
      nanomem dream log --limit 5
    """


@dream.command("log")
@click.argument("sha", type=Words(), required=False)
@paged
@pass_state
def log_commits(state: State, sha: str | None, limit: int | None, offset: int) -> None:
    """What changed the agent's memory files, newest first; with a SHA the diff of that one change.

    \b
    Example:
      nanomem dream log --limit 5
    """
    if sha is not None:
        _show(state, sha)
        return
    with state.open() as ws:
        commits = ws.dream.commits(None if limit is None else limit + offset)[offset:]
        body = [values.commit(commit) for commit in commits]
    state.show(body, lambda: _log_lines(body) or ["No Dream has run yet."])


def _log_lines(body: Sequence[dict[str, Any]]) -> list[str]:
    columns = [
        Column("Commit"),
        Column("Time"),
        Column("By", drop=1),
        Column("+", right=True),
        Column("-", right=True),
        Column("Entries", right=True, drop=2),
        Column("Files", limit=40, least=14, drop=3),
        Column("Message", limit=80, least=20),
    ]
    cells = [
        (
            entry["sha"][:8],
            words.when(entry["at"]),
            entry["actor"],
            str(entry["added"]),
            str(entry["removed"]),
            "" if entry["entries"] is None else str(entry["entries"]),
            " ".join(entry["files"]),
            entry["message"].split("\n", 1)[0],
        )
        for entry in body
    ]
    return table(columns, cells, output.terminal_width())


@dream.command()
@click.argument("sha", type=Words())
@pass_state
def show(state: State, sha: str) -> None:
    """One change of the memory files, line by line.

    \b
    Example:
      nanomem dream show 6acc935a
    """
    _show(state, sha)


def _show(state: State, sha: str) -> None:
    with state.open() as ws:
        commit, diffs = ws.dream.show(sha)
        body = {**values.commit(commit), "diffs": [values.file_diff(found) for found in diffs]}
    state.show(body, lambda: _commit_lines(commit, diffs))


def _commit_lines(commit: Commit, diffs: Sequence[FileDiff]) -> list[str]:
    head = output.fields(
        [
            ("Commit", commit.sha),
            ("Time", words.when(commit.at)),
            ("By", f"{commit.actor}, {commit.author}"),
            ("Message", commit.subject),
            ("Entries", "" if commit.entries is None else str(commit.entries)),
        ]
    )
    return [*head, "", *(line for found in diffs for line in found.unified().splitlines())]
