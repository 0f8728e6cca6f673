"""`nanomem config`: the settings in force, where each came from, and the file to set them in."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values
from nanomem_tui.cli.shared import Group, Words, completing, pass_state, rehearsable
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core import paths
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo
from nanomem_tui.core.settings import without_password

if TYPE_CHECKING:
    from nanomem_tui.core.config import Loaded
    from nanomem_tui.core.paths import Paths

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
        return state.locate()
    except NanomemError:
        if state.workspace is not None or state.agent_config is not None:
            raise
        return None


def _file(state: State, *, here: bool, key: str = "") -> Path:
    from nanomem_tui.core.settings import OF_USER

    if here and key in OF_USER:
        raise BadInput(f"{key} is a setting of the user", "--here", "leave --here out: it holds for every workspace")
    return state.locate().settings if here else paths.user_settings()


@config.command()
@pass_state
def show(state: State) -> None:
    """Every setting with its value and where that comes from, also where a file holds what cannot be used.

    \b
    Example:
      nanomem config show
    """
    from nanomem_tui.core import config as configuration
    from nanomem_tui.core import settings

    loaded = configuration.load(_located(state), forgiving=True)
    if loaded.settings.keys:
        from nanomem_tui.keymap import judged

        loaded = judged(loaded)
    problems = loaded.problems
    shown = {name: _without_password(value) for name, value in loaded.settings._asdict().items()}
    body = {
        "settings": values.plain(shown),
        "sources": values.plain(loaded.sources),
        "problems": [values.problem(entry) for entry in problems],
    }
    columns = [
        Column("Setting"),
        Column("Value", limit=40),
        Column("From", limit=60, least=12),
        Column("Meaning", limit=100, drop=1),
    ]
    rows = [
        (name, configuration.written(value), loaded.sources.get(name, "default"), settings.ABOUT[name].help)
        for name, value in shown.items()
    ]
    notes = [entry.text() for entry in problems]
    state.show(body, lambda: [*table(columns, rows, output.terminal_width()), *notes])


@config.command("set", context_settings={"ignore_unknown_options": True})  # a value may be negative
@click.argument("key", type=Words(), shell_complete=completing("settings"))
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
    from nanomem_tui.core import config as configuration
    from nanomem_tui.store.files import user

    file, found = _file(state, here=here, key=key), _located(state)
    workspace = found.workspace if found else None
    if key == "keys":
        _check_keys(value)
    saved = user.save_setting(file, key, value, workspace=workspace, dry_run=dry_run)
    back = _way_back(key, saved.was, here=here)
    now, shown = _without_password(saved.value), _without_password(saved.was)
    said = f"{key} = {configuration.written(now)} in {file}"
    body = {"key": key, "value": values.plain(now), "was": values.plain(shown), "path": str(file)}
    if dry_run:
        state.show({"operation": None, "dry_run": True, **body}, [f"Would set {said}"])
        _note_left_behind(found, key, saved.value)
        return
    was = "it was not set there" if saved.was is None else f"it was {configuration.written(shown)}"
    state.show({**body, "undo": back}, [f"{said}; {was}{_told(back)}"])
    _note_left_behind(found, key, saved.value)
    _notes(configuration.load(found, forgiving=True), key, str(file))


def _note_left_behind(found: Paths | None, key: str, value: object) -> None:
    """Say on stderr that the memory in the file of a workspace does not go to the server that was named."""
    if found is None or key != "database_url" or not value:
        return
    from nanomem_tui.store import migrate_store

    with contextlib.suppress(NanomemError):  # what keeps it from being read is told by every other command
        if migrate_store.holds_in_file(found, paths.workspace_id(found)):
            move = f"nanomem migrate-store sqlite {shlex.quote(str(value))}"
            output.notes([f"Note: the memory in {found.database} stays there, out of use; `{move}` moves it."])


def _check_keys(text: str) -> None:
    """Raise BadInput for keys that the console would leave out: of no action, or of two."""
    from nanomem_tui.actions import BY_NAME
    from nanomem_tui.core import settings
    from nanomem_tui.keymap import remap

    wanted = settings.from_text("keys", text, "")
    unknown = next((name for name in wanted if name not in BY_NAME), None)
    if unknown is not None:
        fix = settings.nearest(unknown, tuple(BY_NAME), 0.7) or "docs/keys.md has them; nothing was written"
        raise BadInput(f"there is no action `{unknown}`", "keys", fix)
    _, problems = remap(wanted)
    if problems:
        raise BadInput(problems[0].removeprefix("keys: "), "keys", "nothing was written")


def _way_back(key: str, was: object, *, here: bool) -> str:
    """The command that makes a setting again what it was; "" where that cannot be set, or would show a password. `undo`
    knows no settings."""
    from nanomem_tui.core import settings

    where = " --here" if here else ""
    if was is None:
        return f"nanomem config unset {key}{where}"
    text = was if isinstance(was, str) else json.dumps(was, ensure_ascii=False)
    try:
        settings.to_keep(key, text)
    except NanomemError:
        return ""
    if without_password(text) != text:
        return ""
    return f"nanomem config set {key} {shlex.quote(text)}{where}"


def _without_password(value: object) -> object:
    """A value of a setting as it may be shown: without the password of an address."""
    return without_password(value) if isinstance(value, str) else value


def _told(back: str) -> str:
    return f"; `{back}` takes it back" if back else ""


def _notes(loaded: Loaded, key: str, file: str) -> None:
    """Who else sets it, and what in the files cannot be used: that stands after what was written."""
    winner = loaded.sources.get(key, "")
    if winner and winner != file:
        output.notes([f"Note: {winner} sets {key} too, and has the last word."])
    output.notes(f"Note: {entry.text()}" for entry in loaded.problems if entry.severity == "error")


@config.command("unset")
@click.argument("key", type=Words(), shell_complete=completing("settings"))
@here_option
@rehearsable
@pass_state
def unset(state: State, key: str, here: bool, dry_run: bool) -> None:
    """Take one setting out of the user's file (or, with --here, this workspace's): its default holds again.

    \b
    Example:
      nanomem config unset max_items
    """
    from nanomem_tui.core import config as configuration
    from nanomem_tui.core import settings
    from nanomem_tui.store.files import user

    file = _file(state, here=here)
    try:
        was = user.drop_setting(file, key, dry_run=dry_run)
    except NothingToDo as nothing:  # what was asked for is so already
        state.show({"key": key, "was": None, "path": str(file)}, [nothing.line()])
        return
    shown = _without_password(was)
    body = {"key": key, "was": values.plain(shown), "path": str(file)}
    if dry_run:
        body = {"operation": None, "dry_run": True, **body}
        state.show(body, [f"Would unset {key} = {configuration.written(shown)} in {file}"])
        return
    back = _way_back(key, was, here=here) if key in settings.NAMES else ""
    said = f"{key} is not set in {file} any more; it was {configuration.written(shown)}{_told(back)}"
    state.show({**body, "undo": back}, [said])
    loaded = configuration.load(_located(state), forgiving=True)
    if key in loaded.sources:
        output.notes([f"Note: {loaded.sources[key]} still sets {key}."])
    output.notes(f"Note: {entry.text()}" for entry in loaded.problems if entry.severity == "error")


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
