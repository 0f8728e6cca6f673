"""The manual page, nanomem(1), made from the commands themselves. Knows click and roff, and no workspace."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import click

from nanomem_tui import __version__
from nanomem_tui.cli.main import root

_EXIT = (
    ("0", "Done, or so already."),
    ("1", "A check found something, the one step asked for is not there, or you said no."),
    ("2", "Bad input, or refused: one line on standard error says what, where and what to do."),
)
_ENVIRONMENT = (
    ("NANOMEM_WORKSPACE", "The workspace, by its path or its name, where --workspace does not name one."),
    ("NANOMEM_AGENT_CONFIG", "The agent's config.json, where --config does not name one."),
    ("NANOMEM_<SETTING>", "A setting, before the files: see `nanomem config list`."),
    ("NANOMEM_TOKEN", "The token of a service on a port."),
    ("VISUAL, EDITOR", "The editor for texts."),
    ("NO_COLOR", "No colours."),
)
_FILES = (
    ("<agent home>/nanomem/, or <workspace>/memory/nanomem/", "What is nanomem's own: nanomem.db, copies, backups."),
    ("~/.config/nanomem/config.toml", "Settings: see `nanomem config path`."),
)


def manual() -> str:
    """The page as roff."""
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
        if "--help" in param.opts or (command is not root and _is_global(param)):
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
