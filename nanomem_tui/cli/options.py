"""What commands share: global and list options, types, shell completion, late groups, and the confirmation.

Knows click and our own output; must not import the workspace before a command opens it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.state import Lines, State
from nanomem_tui.core import errors
from nanomem_tui.core.text import counted, is_utf8, one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from nanomem_tui.workspace import Workspace


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem

    _TextType = click.ParamType[str]
else:  # releases before 8.3 do not know the bracket
    _TextType = click.ParamType


pass_state: Callable[[Callable[..., Any]], Callable[..., Any]] = click.make_pass_decorator(State, ensure=True)


def _global_options() -> list[click.Parameter]:
    def remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value:
            setattr(ctx.ensure_object(State), str(param.name), value)

    return [
        click.Option(
            ["--workspace"], type=Words(), metavar="PATH", expose_value=False, callback=remember,
            shell_complete=completing("workspaces"),
            help="The agent's workspace folder, or its name in `nanomem workspaces list` (default: NANOMEM_WORKSPACE, "
            "else the agent's configured one).",
        ),
        click.Option(
            ["--config"], type=Words(), metavar="FILE", expose_value=False, callback=remember,
            help="The config.json that the agent is started with, where it is not the usual one: its sessions lie "
            "beside it (default: NANOMEM_AGENT_CONFIG).",
        ),
        click.Option(
            ["--json"], is_flag=True, expose_value=False, callback=remember, help="Print one JSON document.",
        ),
    ]  # fmt: skip


@contextlib.contextmanager
def _placed(ctx: click.Context) -> Iterator[None]:
    """Give a usage error the context that click leaves out of some."""
    try:
        yield
    except click.UsageError as error:
        error.ctx = error.ctx or ctx
        raise


class Words(_TextType):
    """Text that is valid UTF-8; bytes that the shell passed and that are not, are refused before they reach a file."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """`value` unchanged, or a usage error."""
        text = str(value)
        if not is_utf8(text):
            self.fail("is not valid UTF-8", param, ctx)
        return text


# What a shell completes, by the name that an option gives

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

MOST_OFFERED = 200
"""Things that are offered; more than that nobody reads."""
_CELLS = 60
_PLAIN = re.compile(r"[\w:@.,+/=-]+")
"""What a shell puts on its line as it is: nothing of a key may be an order to the shell."""


def _offered(value: str, words: str = "", *, type: str = "plain") -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, type=type, help=words or None)


def _offering(read: Callable[[Workspace], Iterable[tuple[str, str]]]) -> Completer:
    """Completes ids of a workspace that begin as typed, each with its words; nothing where there is none."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with (
            contextlib.suppress(Exception),  # a shell that waits for completions is no place for an error
            ctx.ensure_object(State).open(forgiving=True) as ws,
        ):
            named = ((key, words) for key, words in read(ws) if key.startswith(incomplete) and _PLAIN.fullmatch(key))
            return [_offered(key, one_line(words, _CELLS)) for key, words in islice(named, MOST_OFFERED)]
        return []

    return complete


def _complete_from(names: Callable[[], Sequence[tuple[str, str]]]) -> Completer:
    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [_offered(name, words) for name, words in names() if name.startswith(incomplete)]

    return complete


def _settings() -> Sequence[tuple[str, str]]:
    from nanomem_tui.core.settings import ABOUT

    return [(name, about.help) for name, about in ABOUT.items()]


def _screens() -> Sequence[tuple[str, str]]:
    from nanomem_tui.actions import SCREENS

    return list(SCREENS.items())


def _workspaces() -> Sequence[tuple[str, str]]:
    from nanomem_tui.workspaces import list_workspaces

    return [(one.name, str(one.folder)) for one in list_workspaces().workspaces if _PLAIN.fullmatch(one.name)]


def _workspaces_or_folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of workspaces, else folders."""
    found = [] if "/" in incomplete else _complete_from(_workspaces)(ctx, param, incomplete)
    return found or [_offered(incomplete, type="dir")]


def completing(what: str) -> Completer:
    """What a shell completes there: items, lessons, sessions, operations, settings, screens or workspaces."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _COMPLETERS[what](ctx, param, incomplete)

    return complete


_COMPLETERS: dict[str, Completer] = {
    "items": _offering(lambda ws: ((row.id, row.text) for row in ws.items.all())),
    "lessons": _offering(lambda ws: ((row.id, row.trigger) for row in ws.lessons.all())),
    "sessions": _offering(lambda ws: ((one.key, f"{one.messages:,} messages") for one in ws.sessions.list())),
    "operations": _offering(lambda ws: ((entry.operation.id, entry.operation.label) for entry in ws.log(MOST_OFFERED))),
    "settings": _complete_from(_settings),
    "screens": _complete_from(_screens),
    "workspaces": _workspaces_or_folders,
}


ids_argument = click.argument(
    "ids", metavar="ID...", type=Words(), nargs=-1, required=True, shell_complete=completing("items")
)


MAX_INPUT = 8_000_000
"""Bytes of one JSON object."""


def given_text(file: str, doing: str, too_long: str, noun: str) -> str:
    """The text in a file that was named, or on stdin (`-`). Raises BadInput, and what `cannot_read` does. `too_long`:
    what to do about one of more than `MAX_INPUT` bytes; `noun`: what to give in UTF-8."""
    from pathlib import Path

    from nanomem_tui.core import files

    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_INPUT + 1)
    except OSError as error:
        raise cannot_read(error, file, doing) from error
    if len(data) > MAX_INPUT:
        raise errors.BadInput(f"more than {MAX_INPUT:,} bytes", file, too_long)
    try:
        return files.decode(data)
    except UnicodeDecodeError as error:
        raise errors.BadInput(f"byte {error.start} is no UTF-8", file, f"give the {noun} in UTF-8") from None


def json_object(data: bytes, where: str, like: str, *, once: bool = False) -> dict[str, Any]:
    """The JSON object in what was given; `like`: one, as an example; `once`: no name may stand twice in an object of
    it, where JSON would keep the last alone. Raises BadInput."""
    import json

    def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise errors.BadInput(f"`{name[:40]}` is given twice", where, "give it once")
            found[name] = value
        return found

    if len(data) > MAX_INPUT:
        raise errors.BadInput(f"more than {MAX_INPUT:,} bytes", where, "cut the texts")
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=named_once if once else None)
    except UnicodeDecodeError as error:
        raise errors.BadInput(f"byte {error.start} is no UTF-8", where, "give one JSON object in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise errors.BadInput(f"no JSON ({error})", where, "give one JSON object") from None
    if not isinstance(value, dict):
        raise errors.BadInput("not a JSON object", where, f"give {like}")
    return value


MOST = 2**31 - 1
"""More than there can be of anything: what is beyond it says the same."""


class Count(click.IntRange):
    """A whole number of things or days, from `least` on; one that nothing can reach is `MOST`, which is no limit."""

    def __init__(self, least: int = 0) -> None:
        super().__init__(min=least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or a usage error."""
        return min(int(super().convert(value, param, ctx)), MOST)


class Command(click.Command):
    """A command that takes the global options too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_global_options())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and say of a wrong line whose it is."""
        with _placed(ctx):
            return super().parse_args(ctx, args)


class Group(click.Group):
    """A group that takes the global options, loads its commands when they are named, and guesses what was meant."""

    command_class = Command

    def __init__(self, *args: Any, late: dict[str, str] | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("subcommand_metavar", "COMMAND [ARGS]...")
        kwargs["no_args_is_help"] = False
        super().__init__(*args, **kwargs)
        self.params.extend(_global_options())
        self.late = late or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; a group named alone tells what it holds."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            output.lines([ctx.get_help()])
            ctx.exit()
        with _placed(ctx):
            return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, loaded or not, in the order they are told in help."""
        return [*self.commands, *(name for name in self.late if name not in self.commands)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now when it was not before."""
        if cmd_name not in self.commands and cmd_name in self.late:
            module, attribute = self.late[cmd_name].split(":")
            loaded: click.Command = getattr(importlib.import_module(module), attribute)
            return loaded
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` name; an unknown one says which known one is nearest."""
        name = str(args[0])
        if not name.startswith("-") and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            near = f": name a workspace with --workspace {name}" if "/" in name else ""
            near = near or _nearest(name, self.list_commands(ctx))
            raise click.UsageError(f"no command {name!r} in `{ctx.command_path}`{near}", ctx)
        return super().resolve_command(ctx, args)


Group.group_class = Group


def usage_line(error: click.ClickException) -> str:
    """A wrong command line as one line that ends in what to do."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "nanomem"
    if isinstance(error, click.NoSuchOption):
        root = context.find_root().command.params if context else []
        if any(error.option_name in param.opts for param in root):
            return f"{error.option_name} goes with no command (see `nanomem --help`)"
        known = [name for param in context.command.get_params(context) for name in param.opts] if context else []
        text = f"no option {error.option_name!r} in `{path}`{_nearest(error.option_name, known)}"
    else:
        text = error.format_message().rstrip(".")
        text = text[:1].lower() + text[1:]
    return f"{text} (see `{path} --help`)"


NEAR = 0.65
"""How like a name what was typed must be to be taken for it: `ls` is (list), `frobnicate` is not (conflicts)."""


def _nearest(name: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=NEAR)
    return f": did you mean {near[0]!r}?" if near else ""


def cannot_read(error: OSError, given: str, doing: str) -> errors.NanomemError:
    """Why a file cannot be read that was named on the command line."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return errors.BadInput("there is no such file", given)
    if isinstance(error, IsADirectoryError):
        return errors.BadInput("that is a folder, and a file is needed", given)
    return errors.from_os_error(error, doing)


def paged(command: Decorated) -> Decorated:
    """`--limit` and `--offset`, handed over as `limit` (None: all) and `offset`."""
    command = click.option("--offset", type=Count(), default=0, help="Leave out the first N.")(command)
    return click.option("--limit", type=Count(), help="Print N at most (default: all).")(command)


def audience_options(channel: str, chat: str, sender: str) -> Callable[[Decorated], Decorated]:
    """`--channel`, `--chat-id` and `--sender-id` with these words of help, handed over as one `audience`."""

    def wrap(command: Decorated) -> Decorated:
        @functools.wraps(command)
        def of_audience(
            *args: Any, channel: str | None, chat_id: str | None, sender_id: str | None, **given: Any
        ) -> Any:
            from nanomem_tui.memory.scopes import Audience

            return command(*args, audience=Audience(channel, chat_id, sender_id), **given)

        wrapped: Any = of_audience
        for name, told in (("--sender-id", sender), ("--chat-id", chat), ("--channel", channel)):
            wrapped = click.option(name, type=Words(), help=told)(wrapped)
        return wrapped  # type: ignore[no-any-return]

    return wrap


seen_as = audience_options("As seen from this channel.", "As seen from this chat.", "As seen by this person.")
belonging_to = audience_options("The channel of that chat or person.", "The chat.", "The person.")


def dated(command: Decorated) -> Decorated:
    """`--since` and `--until`, handed over as a person wrote them, empty where not given; `memory.times.within` reads
    them."""
    until = "Only up to this day, which counts too."
    since = "Only from this day on: 2026-03-02, 2026-03, yesterday, 'last tuesday', '2 weeks ago'."
    command = click.option("--until", type=Words(), default="", metavar="DATE", help=until)(command)
    return click.option("--since", type=Words(), default="", metavar="DATE", help=since)(command)


def query_options(command: Decorated) -> Decorated:
    """The words to search for, as `--query Q` or plain; `asked_query` settles which."""
    command = click.option("--query", "query", type=Words(), help="The words to look for.")(command)
    return click.argument("terms", type=Words(), nargs=-1, metavar="[QUERY]")(command)


def asked_query(query: str | None, terms: Sequence[str], *, may_be_empty: bool = False) -> str:
    """The query, wherever it stood. Raises a usage error when there is none, unless it `may_be_empty`."""
    text = " ".join([*([query] if query else []), *terms]).strip()
    if not text and not may_be_empty:
        raise click.UsageError("nothing to look for: name the words with --query", click.get_current_context())
    return text


def all_read(problems: Sequence[Problem]) -> None:
    """Raise AccessDenied for the files that could not be read at all: what was printed is not all there is."""
    if problems:
        first, more = problems[0], len(problems) - 1
        rest = f", and {counted(more, 'more file')}" if more else ""
        raise errors.AccessDenied(f"{first.what}{rest}", first.where, first.fix)


def decided(command: Decorated) -> Decorated:
    """`--yes` and `--dry-run` of a command that takes something away."""
    command = click.option("--dry-run", is_flag=True, help="Say what would happen and change nothing.")(command)
    return click.option("--yes", is_flag=True, help="Do it without asking.")(command)


def rehearsable(command: Decorated) -> Decorated:
    """`--dry-run` of a command that takes nothing away."""
    return click.option("--dry-run", is_flag=True, help="Say what would change and change nothing.")(command)


def as_typed(command: Decorated) -> Decorated:
    """`--dry-run` of a command that takes something away at once and can be undone; `--yes` changes nothing there."""
    command = click.option("--dry-run", is_flag=True, help="Say what would happen and change nothing.")(command)
    return click.option("--yes", is_flag=True, expose_value=False, help="Accepted; it never asks.")(command)


def only_looking(state: State, preview: Any, human: Lines, *, dry_run: bool) -> bool:
    """Whether a command ends with what it would do, which is printed then (`preview` is its JSON)."""
    if dry_run:
        state.show({"operation": None, "dry_run": True, **preview}, human)
    return dry_run


def with_undo(operation: Any) -> str:
    """What an operation did, and the command that takes it back."""
    return f"{operation.label} (`nanomem undo {operation.id}` takes it back)"


def agreed(state: State, preview: Any, human: Lines, question: str, *, yes: bool, dry_run: bool) -> bool:
    """Whether to go on with a change that takes something away.

    Without `yes` the preview is printed first (`preview` is its JSON, `human` its lines). A dry run ends there; a
    person is asked; with nobody to ask Refused is raised. A no raises NothingToDo.
    """
    if yes and not dry_run:
        return True
    if dry_run or not output.can_ask():
        state.show({"operation": None, "dry_run": True, **preview}, human)
        if dry_run:
            return False
        raise errors.Refused("nothing was changed", "", "add --yes to do it")
    output.notes(human() if callable(human) else human)
    if not output.ask(question):
        raise errors.NothingToDo("nothing was changed")
    return True


def warn(state: State, warnings: Sequence[str]) -> None:
    """Say what is odd about a text that is kept all the same; in JSON it stands in the document."""
    if not state.json and warnings:
        output.notes([f"Warning: {warning}" for warning in warnings])


def warned(state: State, told: object) -> list[str]:
    """As `warn`, of JSON that is kept as it was given; what was said."""
    from nanomem_tui.memory import safety

    warnings = safety.check_data(told)
    warn(state, warnings)
    return warnings


@contextlib.contextmanager
def words_kept(text: str) -> Iterator[None]:
    """Print what was written in the editor where somebody changed the same thing meanwhile, or deleted it."""
    try:
        yield
    except (errors.Conflict, errors.NotFound):
        output.notes(["You wrote:", *text.split("\n")])
        raise
