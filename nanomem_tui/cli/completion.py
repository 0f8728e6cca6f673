"""`nanomem completion`: what a shell needs to complete commands, options, and the things of a workspace."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from nanomem_tui.__main__ import COMPLETING
from nanomem_tui.cli import output
from nanomem_tui.cli.shared import Command
from nanomem_tui.cli.state import State
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

_HOW = {
    "bash": 'eval "$(nanomem completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(nanomem completion zsh)"    in ~/.zshrc, after compinit',
    "fish": "nanomem completion fish | source    in ~/.config/fish/config.fish",
}
MOST = 200
"""Things that are offered; more than that nobody reads."""
CELLS = 60
_PLAIN = re.compile(r"[\w:@.,+/=-]+")
"""What a shell puts on its line as it is: nothing of a key may be an order to the shell."""

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(list(_HOW)))
def completion(shell: str) -> None:
    """Print what makes SHELL complete nanomem's commands, options, sessions, items and settings.

    \b
    Example:
      eval "$(nanomem completion bash)"
      nanomem completion fish | source
    """
    from nanomem_tui.cli.main import root

    made = get_completion_class(shell)
    assert made is not None  # the choices are those that click knows
    output.lines([f"# {_HOW[shell]}", *made(root, {}, "nanomem", COMPLETING).source().splitlines()])


def _offering(read: Callable[[Workspace], Iterable[tuple[str, str]]]) -> Completer:
    """Completes ids of a workspace that begin as typed, each with its words; nothing where there is none."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with (
            contextlib.suppress(Exception),  # a shell that waits for completions is no place for an error
            ctx.ensure_object(State).open(forgiving=True) as ws,
        ):
            named = ((key, words) for key, words in read(ws) if key.startswith(incomplete) and _PLAIN.fullmatch(key))
            return [CompletionItem(key, help=one_line(words, CELLS)) for key, words in islice(named, MOST)]
        return []

    return complete


def _items(ws: Workspace) -> Iterable[tuple[str, str]]:
    return ((row.id, row.text) for row in ws.items.all())


def _lessons(ws: Workspace) -> Iterable[tuple[str, str]]:
    return ((row.id, row.trigger) for row in ws.lessons.all())


def _sessions(ws: Workspace) -> Iterable[tuple[str, str]]:
    return ((one.key, f"{one.messages:,} messages") for one in ws.sessions.list())


def _operations(ws: Workspace) -> Iterable[tuple[str, str]]:
    return ((entry.operation.id, entry.operation.label) for entry in ws.log(MOST))


items = _offering(_items)
lessons = _offering(_lessons)
sessions = _offering(_sessions)
operations = _offering(_operations)


def _known(names: Callable[[], Sequence[tuple[str, str]]]) -> Completer:
    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name, help=words) for name, words in names() if name.startswith(incomplete)]

    return complete


def _settings() -> Sequence[tuple[str, str]]:
    from nanomem_tui.core.settings import ABOUT

    return [(name, about.help) for name, about in ABOUT.items()]


def _screens() -> Sequence[tuple[str, str]]:
    from nanomem_tui.actions import SCREENS

    return list(SCREENS.items())


settings = _known(_settings)
screens = _known(_screens)


def _pictures() -> Sequence[tuple[str, str]]:
    from nanomem_tui.review.charts import PICTURES

    return [(name, "") for name in PICTURES]


pictures = _known(_pictures)


def _workspaces() -> Sequence[tuple[str, str]]:
    from nanomem_tui.workspaces import known

    return [(one.name, str(one.place)) for one in known().workspaces if _PLAIN.fullmatch(one.name)]


def workspaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of workspaces, else folders."""
    found = [] if "/" in incomplete else _known(_workspaces)(ctx, param, incomplete)
    return found or [CompletionItem(incomplete, type="dir")]
