"""Forms: ask for a few fields at once, and again, as they were typed, when they could not be saved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo
from nanomem_tui.memory.scopes import Audience, key_for, scope_label
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.store.values import KINDS, Item
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.dialogs import FormField, FormScreen

Typed = Mapping[str, str]


def ask_fields(
    screen: WorkspaceScreen[Any],
    title: str,
    fields: Sequence[FormField],
    then: Callable[[Typed], Awaitable[None]],
    *,
    check: Callable[[Typed], None] = lambda typed: None,
    typed: Typed | None = None,
    why: str = "",
    at: str = "",
) -> None:
    """Let a person fill in `fields` and do `then` with those that were changed.

    `at` is where the cursor begins, as in `FormScreen`. `check` raises an error of the tree for what can't be taken;
    what `then` raises is said above the same form, with what was typed.
    """

    def checked(changed: Typed) -> Typed:
        check(changed)
        return dict(changed)

    async def answered(changed: Typed | None) -> None:
        if not changed:
            return
        try:
            await then(changed)
        except NothingToDo:
            say(screen, "Nothing was changed")
        except NanomemError as error:
            ask_fields(screen, title, fields, then, check=check, typed=changed, why=error.line(), at=at)

    screen.ask(FormScreen(title, fields, checked, typed=typed, why=why, empty="needed", at=at), answered)


# Several texts edited as one: each part under a line with its name, in a field of many lines or in an editor. Pure.


class TextForm(NamedTuple):
    """The parts by the line above each, with the field that it edits; `whose` is what is edited, in words."""

    parts: Mapping[str, str]
    whose: str

    def text(self, fields: Mapping[str, Any]) -> str:
        """The form with `fields` filled in."""
        return "\n\n".join(f"{name}\n{fields[field] or ''}" for name, field in self.parts.items()) + "\n"

    def read(self, text: str) -> dict[str, str]:
        """The fields of an edited form. Raises BadInput when a part was lost."""
        found: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in text.split("\n"):
            name = line.strip().rstrip(":")
            if name in self.parts and self.parts[name] not in found:
                lines = found.setdefault(self.parts[name], [])
            else:
                lines.append(line)
        missing = [name for name, field in self.parts.items() if field not in found]
        if missing:
            raise BadInput(f"the line {missing[0]} is missing", self.whose, f"keep the lines {', '.join(self.parts)}")
        return {field: "\n".join(lines).strip() for field, lines in found.items()}

    def edited(self, shown: str, text: str) -> dict[str, str]:
        """The fields whose text is another one than it was when it was shown. Raises BadInput."""
        before = self.read(shown)
        return {field: value for field, value in self.read(text).items() if value != before[field]}


# What a person may set of an item beside its text, as written in a form: kind, importance, scope. Pure.

SCOPE_HINT = "global, telegram:42 (a chat), telegram:@7 (a person)"


def fields_of(rows: Sequence[Item]) -> list[FormField]:
    """The fields of a form for `rows`: empty where they differ."""
    return [
        FormField("kind", _common([row.kind for row in rows]), ", ".join(KINDS)),
        FormField("importance", _common([f"{row.importance:.2f}" for row in rows]), "0 to 1"),
        FormField("scope", _common([scope_label(row) for row in rows]), SCOPE_HINT),
    ]


def read_fields(typed: Mapping[str, str], workspace_id: str) -> dict[str, Any]:
    """The fields of an item that `typed` means. Raises BadInput."""
    fields: dict[str, Any] = {}
    if "kind" in typed:
        fields["kind"] = _kind(typed["kind"])
    if "importance" in typed:
        fields["importance"] = _importance(typed["importance"])
    if "scope" in typed:
        fields |= _scope(typed["scope"], workspace_id)
    return fields


def _common(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


def _kind(text: str) -> str:
    found = [kind for kind in KINDS if kind.startswith(text.casefold())]
    if len(found) != 1:
        raise BadInput(f"no kind “{text}”", "kind", f"one of {', '.join(KINDS)}")
    return found[0]


def _importance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadInput("importance goes from 0 to 1", "importance", "for example 0.8")
    return value


def _scope(text: str, workspace_id: str) -> dict[str, Any]:
    if text.casefold() == "global":
        scope, audience = "global", Audience()
    else:
        channel, _, who = text.partition(":")
        if not channel or not who.removeprefix("@"):
            raise BadInput(f"no scope “{text}”", "scope", SCOPE_HINT)
        scope = "user" if who.startswith("@") else "chat"
        audience = Audience(channel, None, who[1:]) if scope == "user" else Audience(channel, who)
    return {"scope_type": scope, "scope_key": key_for(scope, audience, workspace_id)}
