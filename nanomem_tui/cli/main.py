"""The root command, the options of the console, and the way every error becomes one line and an exit code.

A command's module is imported when that command is named.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from nanomem_tui import __version__
from nanomem_tui.cli import output
from nanomem_tui.cli.options import Count, Group, Words, completing, pass_state, usage_line
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors
from nanomem_tui.core.errors import BadInput, MissingExtra, extra_command

_COMMANDS = {
    "memory": "nanomem_tui.cli.commands.memory:memory",
    "session": "nanomem_tui.cli.commands.sessions:session",
    "recall": "nanomem_tui.cli.commands.recall:recall",
    "facts": "nanomem_tui.cli.commands.facts:facts",
    "turn": "nanomem_tui.cli.commands.turns:turn",
    "wal": "nanomem_tui.cli.commands.history:wal",
    "history": "nanomem_tui.cli.commands.history:history",
    "consolidate": "nanomem_tui.cli.commands.sessions:consolidate",
    "dream": "nanomem_tui.cli.commands.dream:dream",
    "crystallize": "nanomem_tui.cli.commands.facts:crystallize",
    "files": "nanomem_tui.cli.commands.find:files",
    "blame": "nanomem_tui.cli.commands.dream:blame",
    "journal": "nanomem_tui.cli.commands.journal:journal",
    "reflections": "nanomem_tui.cli.commands.journal:reflections",
    "usage": "nanomem_tui.cli.commands.journal:usage",
    "record": "nanomem_tui.cli.commands.records:record",
    "context": "nanomem_tui.cli.commands.work:context",
    "knowledge": "nanomem_tui.cli.commands.knowledge:knowledge",
    "inbox": "nanomem_tui.cli.commands.inbox:inbox",
    "conflicts": "nanomem_tui.cli.commands.duplicates:conflicts",
    "duplicates": "nanomem_tui.cli.commands.duplicates:duplicates",
    "find": "nanomem_tui.cli.commands.find:find",
    "workspaces": "nanomem_tui.cli.commands.config:workspaces",
    "bookmarks": "nanomem_tui.cli.commands.find:bookmarks",
    "filters": "nanomem_tui.cli.commands.find:filters",
    "triage": "nanomem_tui.cli.commands.inbox:triage",
    "scopes": "nanomem_tui.cli.commands.scopes:scopes",
    "moments": "nanomem_tui.cli.commands.log:moments",
    "event": "nanomem_tui.cli.commands.work:event",
    "metric": "nanomem_tui.cli.commands.work:metric",
    "log": "nanomem_tui.cli.commands.log:log",
    "undo": "nanomem_tui.cli.commands.log:undo",
    "redo": "nanomem_tui.cli.commands.log:redo",
    "lifecycle": "nanomem_tui.cli.commands.work:lifecycle",
    "backup": "nanomem_tui.cli.commands.backup:backup",
    "migrate-store": "nanomem_tui.cli.commands.backup:migrate_store",
    "members": "nanomem_tui.cli.commands.backup:members",
    "doctor": "nanomem_tui.cli.commands.doctor:doctor",
    "scrub": "nanomem_tui.cli.commands.forget:scrub",
    "forget": "nanomem_tui.cli.commands.forget:forget",
    "config": "nanomem_tui.cli.commands.config:config",
    "attach": "nanomem_tui.cli.commands.turns:attach",
    "serve": "nanomem_tui.cli.commands.serve:serve",
    "completion": "nanomem_tui.cli.commands.config:completion",
}
_DREAM_OPTIONS = ("dreamer", "max_batch_size", "max_iterations", "timeout", "dry_run", "review")
_SNAPSHOT_OPTIONS = ("svg", "png", "size", "query", "rows")
_CONSOLE_OPTIONS = ("demo", "ascii_only")


@click.group(
    "nanomem",
    cls=Group,
    late=_COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--demo", is_flag=True, help="A throw-away workspace full of examples: the console on it, or --snapshot.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw the console without box characters.")
@click.option("--run-dream", is_flag=True, help="Run one Dream now, without the console.")
@click.option("--dreamer", type=click.Choice(["rules", "model"]), help="--run-dream: who dreams.")
@click.option("--max-batch-size", type=Count(1), help="--run-dream: history entries to read.")
@click.option("--max-iterations", type=Count(1), help="--run-dream: edits to make in all; entries beyond wait.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="--run-dream: seconds to give it.")
@click.option("--dry-run", is_flag=True, help="--run-dream: say what it would change, and change nothing.")
@click.option(
    "--review", is_flag=True, help="--run-dream: decide on each edit; without a terminal all go to the inbox."
)
@click.option(
    "--snapshot", type=Words(), metavar="SCREEN", shell_complete=completing("screens"),
    help="Print one screen of the console as text.",
)  # fmt: skip
@click.option("--svg", type=Words(), metavar="FILE", help="--snapshot: write the screen as a picture instead.")
@click.option("--png", type=Words(), metavar="FILE", help="--snapshot: the same, drawn with a font of this machine.")
@click.option("--filter", "query", type=Words(), metavar="TEXT", help="--snapshot: what is typed after / there.")
@click.option(
    "--rows", type=Words(), metavar="FILE", help="--snapshot: write the rows to a new .json, .csv or .md file."
)
@click.option("--size", type=Words(), default="80x24", metavar="WxH", help="--snapshot: columns and rows.")
@click.version_option(__version__, prog_name="nanomem", message="%(prog)s %(version)s")
@pass_state
@click.pass_context
def root(
    ctx: click.Context,
    /,
    state: State,
    *,
    demo: bool,
    ascii_only: bool,
    run_dream: bool,
    snapshot: str | None,
    svg: str | None,
    png: str | None,
    query: str | None,
    rows: str | None,
    size: str,
    **dreaming: Any,
) -> int | None:
    """See what your agent remembers, fix it, undo it. Without a command: the console.

    \b
    Example:
      nanomem --demo                               try it on examples
      nanomem memory search --query "window seat"  ask what is remembered
      nanomem undo                                 take the last change back
    """
    if ctx.invoked_subcommand is not None:
        _refuse(ctx, ["demo"], "goes with no command: it opens the console, or with --snapshot prints a screen")
        _refuse(ctx, [*_CONSOLE_OPTIONS, *_SNAPSHOT_OPTIONS, "snapshot", "run_dream"], "goes with no command")
        _refuse(ctx, _DREAM_OPTIONS, "stands after the command")
        return None
    if not run_dream:
        _refuse(ctx, _DREAM_OPTIONS, "goes with --run-dream")
    if not snapshot:
        _refuse(ctx, _SNAPSHOT_OPTIONS, "goes with --snapshot")
    if run_dream:
        _refuse(ctx, [*_CONSOLE_OPTIONS, "snapshot"], "does not go with --run-dream")
        from nanomem_tui.cli.commands.dream import dream_once

        return dream_once(state, **dreaming)
    if demo and (state.workspace or state.config):
        named = "--workspace" if state.workspace else "--config"
        raise click.UsageError(f"--demo makes a workspace of its own, so {named} does not go with it", ctx)
    if snapshot:
        wanted = {"svg": svg, "png": png, "rows": rows}
        return _snapshot(state, snapshot, size, wanted, query or "", demo=demo, ascii_only=ascii_only)
    from nanomem_tui.launch import run_console

    return run_console(state.named(), demo=demo, ascii_only=ascii_only, config=state.agent_config)


def run(args: Sequence[str]) -> int:
    """Run one command line and return its exit code; every expected error is one line on stderr."""
    try:
        code = root.main(args=list(args), prog_name="nanomem", standalone_mode=False, obj=State())
    except click.exceptions.Abort:
        return output.INTERRUPTED
    except click.ClickException as error:
        output.error_line(usage_line(error))
        return 2
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # the border where an error becomes a line
        return output.report(error)
    return code if isinstance(code, int) else 0


def _snapshot(
    state: State, screen: str, size: str, wanted: Mapping[str, str | None], query: str, *, demo: bool, ascii_only: bool
) -> int:
    """`wanted`: the file for each form of it; none: text on stdout."""
    match = re.fullmatch(r"0*([1-9]\d{0,3})x0*([1-9]\d{0,3})", size)
    if match is None:
        raise errors.BadInput(f"no size {size!r}", "", "give columns x rows, like 80x24")
    from nanomem_tui import actions
    from nanomem_tui.launch import snapshot_screen
    from nanomem_tui.screens.base import copying

    if screen not in actions.SCREENS:  # before a demonstration is made for nothing
        raise errors.BadInput(f"no screen `{screen}`", "--snapshot", f"one of {', '.join(actions.SCREENS)}")
    named = [(form, file) for form, file in wanted.items() if file is not None]
    if len(named) > 1:
        raise click.UsageError(f"--{named[0][0]} and --{named[1][0]} are two answers: give one")
    form, target = named[0] if named else ("text", None)
    if form == "rows":
        form = copying.check_export_path(str(target)).suffix.lstrip(".").lower()
    with contextlib.ExitStack() as stack:
        workspace, config = state.named(), state.agent_config
        if demo:
            from nanomem_tui.demo import demo_home

            workspace, config = str(stack.enter_context(demo_home())), None
        cells = (int(match[1]), int(match[2]))
        drawn = "svg" if form == "png" else form
        picture = snapshot_screen(
            workspace, screen, cells, drawn, ascii_only=ascii_only, query=query, config_file=config
        )
    if target is None:
        output.lines(picture.splitlines())
    elif form == "png":
        output.to_file(target, png_of(picture))
    else:
        output.to_file(target, picture.encode("utf-8"))
    return 0


def _refuse(ctx: click.Context, names: Sequence[str], why: str) -> None:
    """A usage error for the first of `names` that stands on the line: better than an option that does nothing."""
    for param in ctx.command.params:
        given = ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
        if param.name in names and given and param.expose_value:
            raise click.UsageError(f"{param.opts[0]} {why}", ctx)


# -- A picture of a screen as PNG, drawn from its SVG by a library, with a font of this machine -----------------------

FONTS = {
    "dejavusansmono.ttf": "DejaVu Sans Mono",
    "notosansmono-regular.ttf": "Noto Sans Mono",
    "liberationmono-regular.ttf": "Liberation Mono",
    "ubuntumono-r.ttf": "Ubuntu Mono",
    "menlo.ttc": "Menlo",
    "consola.ttf": "Consolas",
    "cour.ttf": "Courier New",
}
"""Files of fonts in which every character is as wide as the others, the best first, and what they call themselves."""
_FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/System/Library/Fonts",
    "/Library/Fonts", "C:/Windows/Fonts", "/mnt/c/Windows/Fonts",
)  # fmt: skip


def png_of(svg: str) -> bytes:
    """The picture. Raises MissingExtra without the library, and BadInput where no font of that kind is to be found."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        fix = f"{extra_command('png')}, or --svg"
        raise MissingExtra("the library resvg-py is not installed", "--png", fix) from error
    family = monospaced(map(Path, _FOLDERS))
    if family is None:
        raise BadInput("no font of even width on this machine", "--png", "install DejaVu Sans Mono, or use --svg")
    return bytes(svg_to_bytes(svg_string=svg, monospace_family=family, sans_serif_family=family))


def monospaced(folders: Iterable[Path]) -> str | None:
    """The best font of `FONTS` that lies in one of the folders."""
    there = {file.name.lower() for folder in folders for file in _files(folder.expanduser())}
    return next((family for name, family in FONTS.items() if name in there), None)


def _files(folder: Path) -> Iterable[Path]:
    return folder.rglob("*.tt[fc]") if folder.is_dir() else ()
