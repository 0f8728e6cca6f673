"""`nanomem config`, `workspaces` and `completion`: settings, known workspaces, and what a shell completes.

The manual page is made here, too.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from nanomem_tui import __version__
from nanomem_tui.cli import COMPLETING, json_objects, output
from nanomem_tui.cli.options import Command, Group, Words, completing, paged, pass_state, rehearsable
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import paths
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo
from nanomem_tui.core.settings import without_password

if TYPE_CHECKING:
    from nanomem_tui.core.config import Loaded
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.workspaces import Known, Summary


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
        from nanomem_tui.actions import judged

        loaded = judged(loaded)
    problems = loaded.problems
    shown = {name: _without_password(value) for name, value in loaded.settings._asdict().items()}
    body = {
        "settings": json_objects.plain(shown),
        "sources": json_objects.plain(loaded.sources),
        "problems": [json_objects.problem(entry) for entry in problems],
    }
    columns = [
        Column("Setting"),
        Column("Value", limit=40),
        Column("From", limit=60, least=12),
        Column("Meaning", limit=100, drop=1),
    ]
    rows = [
        (name, configuration.toml_value(value), loaded.sources.get(name, "default"), settings.ABOUT[name].help)
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
    said = f"{key} = {configuration.toml_value(now)} in {file}"
    body = {"key": key, "value": json_objects.plain(now), "was": json_objects.plain(shown), "path": str(file)}
    if dry_run:
        state.show({"operation": None, "dry_run": True, **body}, [f"Would set {said}"])
        _note_left_behind(found, key, saved.value)
        return
    was = "it was not set there" if saved.was is None else f"it was {configuration.toml_value(shown)}"
    state.show({**body, "undo": back}, [f"{said}; {was}{_undo_hint(back)}"])
    _note_left_behind(found, key, saved.value)
    _notes(configuration.load(found, forgiving=True), key, str(file))


def _note_left_behind(found: Paths | None, key: str, value: object) -> None:
    """Say on stderr that the memory in the file of a workspace does not go to the server that was named."""
    if found is None or key != "database_url" or not value:
        return
    from nanomem_tui.store.moving import migrate_store

    with contextlib.suppress(NanomemError):  # what keeps it from being read is told by every other command
        if migrate_store.holds_in_file(found, paths.workspace_id(found)):
            move = f"nanomem migrate-store sqlite {shlex.quote(str(value))}"
            output.notes([f"Note: the memory in {found.database} stays there, out of use; `{move}` moves it."])


def _check_keys(text: str) -> None:
    """Raise BadInput for keys that the console would leave out: of no action, or of two."""
    from nanomem_tui.actions import BY_NAME, remap
    from nanomem_tui.core import settings

    wanted = settings.from_text("keys", text, "")
    unknown = next((name for name in wanted if name not in BY_NAME), None)
    if unknown is not None:
        fix = settings.suggestion(unknown, tuple(BY_NAME), 0.7) or "docs/keys.md has them; nothing was written"
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
        settings.checked_value(key, text)
    except NanomemError:
        return ""
    if without_password(text) != text:
        return ""
    return f"nanomem config set {key} {shlex.quote(text)}{where}"


def _without_password(value: object) -> object:
    """A value of a setting as it may be shown: without the password of an address."""
    return without_password(value) if isinstance(value, str) else value


def _undo_hint(back: str) -> str:
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
    body = {"key": key, "was": json_objects.plain(shown), "path": str(file)}
    if dry_run:
        body = {"operation": None, "dry_run": True, **body}
        state.show(body, [f"Would unset {key} = {configuration.toml_value(shown)} in {file}"])
        return
    back = _way_back(key, was, here=here) if key in settings.NAMES else ""
    said = f"{key} is not set in {file} any more; it was {configuration.toml_value(shown)}{_undo_hint(back)}"
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


# `nanomem workspaces`: those that one console and one search are over, how each is, and the list of them.

NONE = "No workspace is known yet: `nanomem workspaces add PATH`."


@click.group("workspaces", cls=Group)
def workspaces() -> None:
    """Several agents' memories from one console: which there are and how each is. ^o in the console goes to another.

    \b
    Example:
      nanomem workspaces add ~/.nanobot/workspace --name home
      nanomem --workspace home memory list
    """


@workspaces.command("list")
@paged
@pass_state
def list_workspaces(state: State, limit: int | None, offset: int) -> int:
    """Every workspace that is known: its agent and whether it runs, counts, the last checkpoint, problems.

    Known are those of the setting `workspaces`, the agent's configured one, and with `remember_workspaces` those that
    the console was opened on. Where one cannot be read, that is told with the reason; exit code 1 then, and
    where its items could not be counted.

    \b
    Example:
      nanomem workspaces list
      nanomem workspaces list --json
    """
    from nanomem_tui.workspaces import list_workspaces, summary

    listed = list_workspaces()
    found = [summary(one) for one in page(listed.workspaces, limit, offset)]
    state.show([one.to_json() for one in found], lambda: _lines(found) or [NONE])
    output.notes(f"Note: {problem.text()}" for problem in listed.problems)
    return 1 if any(one.error is not None or one.items is None for one in found) else 0


def _lines(found: list[Summary]) -> list[str]:
    columns = [
        Column("Name", limit=40, least=10), Column("Agent", limit=30, least=10, drop=2), Column("Runs", drop=3),
        Column("Release", drop=5), Column("Items", right=True), Column("Lessons", right=True, drop=6),
        Column("Sessions", right=True, drop=7), Column("Inbox", right=True, drop=4),
        Column("Waiting", right=True, drop=8), Column("Saved", drop=9), Column("Problems", right=True, drop=1),
        Column("Path", limit=80, least=16),
    ]  # fmt: skip
    cells = [
        (
            one.known.name, one.agent, "" if one.error else "alive" if one.running else "no", one.release,
            *map(_count, (one.items, one.lessons, one.sessions, one.inbox, one.dirty)),
            output.when(one.saved_at) if one.saved_at else "", str(one.problems or ""), str(one.known.folder),
        )
        for one in found
    ]  # fmt: skip
    wrong = [f"{one.known.name} cannot be read: {one.error.line()}" for one in found if one.error is not None]
    return [*table(columns, cells, output.terminal_width()), *wrong]


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


@workspaces.command("add")
@click.argument("path", type=Words())
@click.option("--name", type=Words(), default="", help="What it is called (default: as its folder or home).")
@rehearsable
@pass_state
def add(state: State, path: str, name: str, dry_run: bool) -> None:
    """Put a workspace into the setting `workspaces`, or give one that is there another name. Exit code 1 when it is
    there.

    \b
    Example:
      nanomem workspaces add /srv/bots/ana/workspace --name ana
    """
    from nanomem_tui import workspaces as workspaces_module

    made = workspaces_module.add(path, name.strip(), dry_run=dry_run)
    called = f" as {made.name}" if made.name else ""
    back = "" if dry_run or not made.name else f"; `nanomem workspaces forget {made.name}` takes it out"
    body = {"id": made.name, "path": str(made.folder), "home": _home(made)}
    said = f"{'Would add' if dry_run else 'Added'} {made.folder}{called}{back}"
    state.show({"dry_run": True, **body} if dry_run else body, [said])


@workspaces.command("forget")
@click.argument("what", metavar="NAME|PATH", type=Words(), shell_complete=completing("workspaces"))
@rehearsable
@pass_state
def forget(state: State, what: str, dry_run: bool) -> None:
    """Take a workspace out of the list. Nothing of its memory changes.

    \b
    Example:
      nanomem workspaces forget ana
    """
    import shlex

    from nanomem_tui import workspaces as workspaces_module

    row = workspaces_module.forget(what, dry_run=dry_run)
    back = f"nanomem workspaces add {shlex.quote(str(row.folder))} --name {shlex.quote(row.name)}"
    body = {"id": row.name, "path": str(row.folder), "home": _home(row), "undo": back}
    verb = "Would take" if dry_run else "Took"
    said = f"{verb} {row.name} out of the list; its memory in {row.folder} stays as it is (`{back}` puts it back)"
    state.show({"dry_run": True, **body} if dry_run else body, [said])


def _home(row: Known) -> str | None:
    return str(row.found.home) if row.found is not None and row.found.home is not None else None


# `nanomem completion`: what a shell needs to complete commands, options, and the things of a workspace.

_HOW = {
    "bash": 'eval "$(nanomem completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(nanomem completion zsh)"    in ~/.zshrc, after compinit',
    "fish": "nanomem completion fish | source    in ~/.config/fish/config.fish",
}


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(list(_HOW)))
def completion(shell: str) -> None:
    """Print what makes SHELL complete nanomem's commands, options, sessions, items and settings.

    \b
    Example:
      eval "$(nanomem completion bash)"
      nanomem completion fish | source
    """
    made = get_completion_class(shell)
    assert made is not None  # the choices are those that click knows
    root = click.get_current_context().find_root().command
    output.lines([f"# {_HOW[shell]}", *made(root, {}, "nanomem", COMPLETING).source().splitlines()])


# The manual page, nanomem(1), made from the commands themselves. Knows click and roff, and no workspace.

_EXIT = (
    ("0", "Done, or so already."),
    ("1", "A check found something, the one step asked for is not there, or you said no."),
    ("2", "Bad input, or refused: one line on standard error says what, where and what to do."),
)
_ENVIRONMENT = (
    ("NANOMEM_WORKSPACE", "The workspace, by its path or its name, where --workspace does not name one."),
    ("NANOMEM_AGENT_CONFIG", "The agent's config.json, where --config does not name one."),
    ("NANOMEM_<SETTING>", "A setting, before the files: see `nanomem config show`."),
    ("NANOMEM_TOKEN", "The token of a service on a port."),
    ("VISUAL, EDITOR", "The editor for texts."),
    ("NO_COLOR", "No colours."),
)
_FILES = (
    ("<agent home>/nanomem/, or <workspace>/memory/nanomem/", "What is nanomem's own: nanomem.db, copies, backups."),
    ("~/.config/nanomem/config.toml", "Settings: see `nanomem config path`."),
)


def manual(root: click.Group) -> str:
    """Return the page as roff."""
    context = click.Context(root, info_name="nanomem")
    lines = [
        f'.TH NANOMEM 1 "" "nanomem {__version__}" "User Commands"',
        ".SH NAME",
        r"nanomem \- see what your agent remembers, why, fix it and undo it",
        ".SH SYNOPSIS",
        r"\fBnanomem\fR [\fIOPTIONS\fR] [\fICOMMAND\fR [\fIARGS\fR]...]",
        ".SH DESCRIPTION",
        *_body(root),
        ".SH OPTIONS",
        *_options(root, context),
        ".SH COMMANDS",
        *_commands(root, context, ()),
    ]
    for title, entries in (("EXIT STATUS", _EXIT), ("ENVIRONMENT", _ENVIRONMENT), ("FILES", _FILES)):
        lines += [f'.SH "{title}"', *(line for name, said in entries for line in _entry(name, said))]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, context: click.Context, path: Sequence[str]) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        here = (*path, name)
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group) and not command.invoke_without_command:
            yield from _commands(command, inner, here)
            continue
        usage = " ".join(piece for piece in command.collect_usage_pieces(inner) if piece != "[OPTIONS]")
        yield f'.SS "{_plain(" ".join(here))} {_plain(usage)}"'
        yield from _body(command)
        yield from _options(command, inner)
        if isinstance(command, click.Group):
            yield from _commands(command, inner, here)


def _body(command: click.Command) -> Iterator[str]:
    """The help: paragraphs, and what follows a backspace as it is laid out."""
    for part in inspect.cleandoc(command.help or "").split("\n\n"):
        yield ".PP"
        if part.startswith("\b"):
            yield from (".nf", *map(_line, part.split("\n")[1:]), ".fi")
        else:
            yield _line(" ".join(part.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for param in command.get_params(context):
        if "--help" in param.opts or (context.parent is not None and _is_global(param)):
            continue
        record = param.get_help_record(context)
        # Some releases of click give a record without words for an argument, which the usage line has told of.
        if record is not None and record[1]:
            yield from _entry(*record)


def _is_global(param: click.Parameter) -> bool:
    return param.name in ("workspace", "json")


def _entry(name: str, said: str) -> Iterator[str]:
    yield from (".TP", rf"\fB{_plain(name)}\fR", _line(" ".join(said.split())))


def _plain(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")


def _line(text: str) -> str:
    """A line of text, which a dot at its beginning does not turn into a request."""
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
