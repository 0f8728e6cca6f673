"""Every command of the command line, taken from there so that a new one is covered too, run on a real terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from nanomem_tui.cli.main import root
from tests.hygiene.repository import ROOT

#: Those that go on until they are ended, or start another program: their words are tested where they are.
ENDLESS = {
    ("turn", "serve"),
    ("serve", "mcp"),
    ("serve", "grpc"),
    ("serve", "web"),
    ("attach", "run"),
    ("dream", "schedule"),
}
BOUND = 20
"""Seconds that one command may take, before it counts as blocked."""

_DRIVER = """
import json, os, signal, sys
null = os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
from nanomem_tui.cli.main import run
for number, line in enumerate(json.load(open(sys.argv[1]))):
    signal.alarm(int(sys.argv[2]))
    print(f"<<{number}>>", flush=True)
    code = run(line)
    sys.stderr.flush()
    print(f"<<={code}>>", flush=True)
"""


class Answer(NamedTuple):
    """A command line, what came out on the terminal, and its exit code; None: it did not end in time."""

    line: list[str]
    raw: bytes
    code: int | None


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command that can be run, with its path."""
    yield from _below((), root, click.Context(root))


def _below(
    path: tuple[str, ...], command: click.Command, ctx: click.Context
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        if path not in ENDLESS:
            yield path, command
        return
    for name in command.list_commands(ctx):
        found = command.get_command(ctx, name)
        assert found is not None
        yield from _below((*path, name), found, ctx)
    if path and command.invoke_without_command:
        yield path, command


def line_of(path: Sequence[str], command: click.Command, words: str) -> list[str]:
    """The command with `words` for whatever it requires, doing nothing where it can promise that."""
    line = list(path)
    for param in command.params:
        if isinstance(param, click.Option) and param.required:
            line += [param.opts[0], words]
        elif isinstance(param, click.Option) and param.opts[0] in {"--dry-run", "--query", "--text"}:
            line += [param.opts[0]] if param.is_flag else [param.opts[0], words]
    positional = [param for param in command.params if isinstance(param, click.Argument) and param.required]
    return [*line, *(["--", *(words for _ in positional)] if positional else [])]


def on_a_terminal(
    workspace: Path, lines: Sequence[list[str]], scratch: Path, before: Sequence[str] = ()
) -> list[Answer]:
    """Run the lines one after the other, in one process, with a pseudo-terminal of 80x24 for its output.

    `before`: a command that starts another one, the words of which follow.
    """
    asked = scratch / "lines.json"
    asked.write_text(json.dumps(list(lines)))
    ours, theirs = pty.openpty()
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env = {**kept, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "NANOMEM_WORKSPACE": str(workspace),
           "NO_COLOR": "1", "EDITOR": "true", "COLUMNS": "80", "LINES": "24", "LC_ALL": "C.UTF-8"}  # fmt: skip
    command = [*before, sys.executable, "-c", _DRIVER, str(asked), str(BOUND)]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=env, cwd=scratch)
    os.close(theirs)
    try:
        raw = _all_of(ours, BOUND * 20)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return list(_answers(lines, raw))


def _all_of(handle: int, seconds: float) -> bytes:
    parts, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        if select.select([handle], [], [], 1)[0]:
            try:
                parts.append(os.read(handle, 65536))
            except OSError:  # the other side is closed
                break
    return b"".join(parts)


def _answers(lines: Sequence[list[str]], raw: bytes) -> Iterator[Answer]:
    for number, line in enumerate(lines):
        _, begun, rest = raw.partition(b"<<%d>>\r\n" % number)
        said, ended, after = rest.partition(b"<<=")
        code = after.partition(b">>")[0] if begun and ended else b""
        yield Answer(line, said, int(code) if code.isdigit() else None)
