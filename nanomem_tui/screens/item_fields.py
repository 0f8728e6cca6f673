"""What a person may set of an item beside its text, as written in a form: kind, importance, scope. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.scopes import Audience, key_for, scope_of
from nanomem_tui.store.values import KINDS, Item
from nanomem_tui.widgets.form import FormField

SCOPE_HINT = "global, telegram:42 (a chat), telegram:@7 (a person)"


def fields_of(rows: Sequence[Item]) -> list[FormField]:
    """The fields of a form for `rows`: empty where they differ."""
    return [
        FormField("kind", _common([row.kind for row in rows]), ", ".join(KINDS)),
        FormField("importance", _common([f"{row.importance:.2f}" for row in rows]), "0 to 1"),
        FormField("scope", _common([scope_of(row) for row in rows]), SCOPE_HINT),
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
