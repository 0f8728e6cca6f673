"""`nanomem config`: the settings in force, where each came from, and the file to set them in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nanomem_tui import paths
from nanomem_tui.cli import output, values
from nanomem_tui.cli.shared import Group, Words, pass_state, rehearsable
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.errors import NanomemError

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths

here_option = click.option("--here", is_flag=True, help="The settings of this workspace, not those of the user.")


@click.group("config", cls=Group)
def config() -> None:
    """The settings: see them, set them, find their file.

    \b
    Example:
      nanomem config set flush_interval_seconds 60
    """


def _located(state: State) -> Paths | None:
    """The workspace's paths; None when none was named and there is none at the usual place."""
    try:
        return paths.locate(state.workspace)
    except NanomemError:
        if state.workspace is not None:
            raise
        return None


def _file(state: State, *, here: bool) -> Path:
    return paths.locate(state.workspace).settings if here else paths.user_settings()


@config.command()
@pass_state
def show(state: State) -> None:
    """Every setting with its value and where that comes from.

    \b
    Example:
      nanomem config show
    """
    from nanomem_tui import config as settings

    loaded = settings.load(_located(state))
    body = {
        "settings": values.plain(loaded.settings),
        "sources": values.plain(loaded.sources),
        "problems": [values.problem(entry) for entry in loaded.problems],
    }
    columns = [
        Column("Setting"),
        Column("Value", limit=40),
        Column("From", limit=60, least=12),
        Column("Meaning", limit=100, drop=1),
    ]
    rows = [
        (name, str(value), loaded.sources.get(name, "default"), settings.ABOUT[name].help)
        for name, value in values.plain(loaded.settings).items()
    ]
    notes = [entry.text() for entry in loaded.problems]
    state.show(body, lambda: [*table(columns, rows, output.terminal_width()), *notes])


@config.command("set", context_settings={"ignore_unknown_options": True})  # a value may be negative
@click.argument("key", type=Words())
@click.argument("value", type=Words())
@here_option
@rehearsable
@pass_state
def set_value(state: State, key: str, value: str, here: bool, dry_run: bool) -> None:
    """Set one setting in the user's file (or, with --here, for this workspace only).

    \b
    Example:
      nanomem config set max_items 5000
    """
    from nanomem_tui import config as settings
    from nanomem_tui.store import settings_file

    file = _file(state, here=here)
    if dry_run:
        settings.read_toml(file)
        meant = settings.from_text(key, value, "")
        body = {"operation": None, "dry_run": True, "key": key, "value": values.plain(meant), "path": str(file)}
        state.show(body, [f"Would set {key} = {meant} in {file}"])
        return
    saved = settings_file.save(file, key, value)
    winner = settings.load(_located(state)).sources.get(key, "")
    state.show({"key": key, "value": values.plain(saved), "path": str(file)}, [f"{key} = {saved} in {file}"])
    if winner and winner != str(file):
        output.notes([f"Note: {winner} sets {key} too, and has the last word."])


@config.command("unset")
@click.argument("key", type=Words())
@here_option
@rehearsable
@pass_state
def unset(state: State, key: str, here: bool, dry_run: bool) -> None:
    """Take one setting out of the user's file (or, with --here, this workspace's): its default holds again.

    \b
    Example:
      nanomem config unset max_items
    """
    from nanomem_tui import config as settings
    from nanomem_tui.store import settings_file

    file = _file(state, here=here)
    was = values.plain(settings_file.drop(file, key, dry_run=dry_run))
    body = {"key": key, "was": was, "path": str(file)}
    if dry_run:
        state.show({"operation": None, "dry_run": True, **body}, [f"Would unset {key} = {was} in {file}"])
        return
    state.show(body, [f"{key} is not set in {file} any more; it was {was}"])
    loaded = settings.load(_located(state))
    if key in loaded.sources:
        output.notes([f"Note: {loaded.sources[key]} still sets {key}."])


@config.command()
@here_option
@pass_state
def path(state: State, here: bool) -> None:
    """The file that `config set` writes.

    \b
    Example:
      nanomem config path
    """
    file = _file(state, here=here)
    state.show({"path": str(file), "exists": file.exists()}, [str(file)])
