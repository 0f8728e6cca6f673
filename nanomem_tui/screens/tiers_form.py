"""A record as a person writes it: all its fields in one text, each under its name. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line
from nanomem_tui.screens.text_form import TextForm
from nanomem_tui.store.work.kinds import KINDS, Field

_NOTES = {"json": "JSON", "time": "time", "int": "number", "real": "number", "bool": "yes or no", "text": ""}
_YES = {"yes": True, "true": True, "no": False, "false": False}


@lru_cache(maxsize=32)
def form_of(kind: str) -> TextForm:
    """The form of a kind: numbers and times first, then JSON, then texts, so that a line of a text is seldom taken for
    a name; what it is called by last, where the cursor begins."""
    title = KINDS[kind].title
    fields = sorted(
        KINDS[kind].fields, key=lambda field: (field.type == "text", field.type == "json", field.name == title)
    )
    return TextForm({_title(field): field.name for field in fields}, f"the edited {kind.replace('-', ' ')}")


def text_of(kind: str, fields: Mapping[str, str]) -> str:
    """The form with these texts, ending where its last field does."""
    return form_of(kind).text(fields).removesuffix("\n")


def _title(field: Field) -> str:
    notes = ", ".join(filter(None, (_NOTES[field.type], "needed" if field.needed else "")))
    name = field.name.replace("_", " ").upper()
    return f"{name} ({notes})" if notes else name


def texts_of(kind: str, fields: Mapping[str, Any]) -> dict[str, str]:
    """Each field as the text that is edited."""
    return {field.name: _text(field, fields.get(field.name)) for field in KINDS[kind].fields}


def defaults_of(kind: str) -> dict[str, str]:
    """The form of a new record."""
    return texts_of(kind, {field.name: field.default for field in KINDS[kind].fields if field.type != "json"})


def _text(field: Field, value: Any) -> str:
    if value is None:
        return ""
    if field.type == "json":
        return json.dumps(value, ensure_ascii=False, indent=2)
    if field.type == "bool":
        return "yes" if value else "no"
    return str(value)


def read(kind: str, typed: Mapping[str, str], *, new: bool = False) -> dict[str, Any]:
    """The values that were typed; of a `new` record those left empty are left out. Raises BadInput."""
    found: dict[str, Any] = {}
    for name, text in typed.items():
        field = KINDS[kind].field(name)
        if field is not None and not (new and not text):
            found[name] = _value(field, text)
    return found


def _value(field: Field, text: str) -> Any:
    if field.type == "text":
        return text if text or field.required else None
    if not text:
        return None
    if field.type == "json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            place = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise BadInput(f"`{field.name}` is no JSON", place, "texts stand in double quotes") from None
    if field.type in ("int", "real"):
        try:
            return int(text) if field.type == "int" else float(text)
        except ValueError:
            kind = "whole number" if field.type == "int" else "number"
            raise BadInput(f"`{field.name}` is no {kind}", one_line(text, 40)) from None
    if field.type == "bool" and text.casefold() in _YES:
        return _YES[text.casefold()]
    return text  # what a time, or a switch, cannot be is refused with the others
