"""The commands that are asked most often, where the line is plainly written: parsed here in a few lines.

The library that reads every other line takes as long to import as these commands take altogether. What they do and
print is the same function either way (`fast_commands`), and a line that is odd in any respect is left to the library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nanomem_tui.cli import fast_commands
from nanomem_tui.cli.state import State


class _Form(NamedTuple):
    """A command: the function that does it, and its options that take text, a number, or nothing."""

    answer: Callable[..., None]
    texts: Sequence[str] = ()
    numbers: Sequence[str] = ()
    flags: Sequence[str] = ()


_PAGE = ("limit", "offset")
_FORMS = {
    "status": _Form(fast_commands.status),
    "list": _Form(fast_commands.list_items, ("kind", "scope", "session", "source"), _PAGE, ("disabled",)),
    "search": _Form(
        fast_commands.search,
        ("query", "channel", "chat-id", "sender-id", "kind", "since", "until"),
        _PAGE,
        ("explain",),
    ),
}


def run(args: Sequence[str]) -> bool:
    """Whether the line was one of these, and is done; False before anything happened. Raises what the command does."""
    form = _FORMS.get(args[1]) if args[:1] == ["memory"] and len(args) > 1 else None
    options = _options(form, args[2:]) if form is not None else None
    if form is None or options is None:
        return False
    config = options.pop("config", None)
    state = State(options.pop("workspace", None), json=options.pop("json", False), config=config)
    form.answer(state, **options)
    return True


def _options(form: _Form, args: Sequence[str]) -> dict[str, Any] | None:
    """What the words after the command say, by the names of Python; None when we are not sure of it."""
    found: dict[str, Any] = {}
    words: list[str] = []
    rest = iter(args)
    for arg in rest:
        name, dashes = arg[2:], arg.startswith("--")
        key = name.replace("-", "_")
        if not arg.startswith("-"):
            words.append(arg)
        elif not dashes or key in found:
            return None
        elif name == "json" or name in form.flags:
            found[key] = True
        elif (value := next(rest, "-")).startswith("-"):
            return None
        elif name in form.numbers and value.isascii() and value.isdecimal() and len(value) < 10:
            found[key] = int(value)
        elif name in ("workspace", "config") or name in form.texts:
            found[key] = value
        else:
            return None
    if "query" in form.texts:
        found["query"] = " ".join([*([found["query"]] if "query" in found else []), *words]).strip()
    elif words:
        return None
    return found if all(_is_plain(value) for value in found.values()) else None


def _is_plain(value: str | int) -> bool:
    """Whether a value is a number, or a text that is not empty and that UTF-8 can hold."""
    return not isinstance(value, str) or (value != "" and not any("\ud800" <= char <= "\udfff" for char in value))
