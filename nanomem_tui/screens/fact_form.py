"""A fact as a person writes it: its fields in a form of lines, or all of them in one text. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from nanomem_tui.core.errors import BadInput
from nanomem_tui.screens.text_form import TextForm
from nanomem_tui.store.values import Fact, checked_name
from nanomem_tui.widgets.form import FormField

FORM = TextForm(
    {"DOMAIN": "domain", "CATEGORY": "category", "SUB-CATEGORY": "sub_category", "KEY": "key", "VALUE": "value"},
    "the edited fact",
)
"""The parts of a fact as a text; the value last, so that a line of it is never taken for a name."""
HINTS = {
    "domain": "what it belongs to at large: work, home; may be empty",
    "category": "what kind of fact: person, project, preference",
    "sub_category": "a finer kind; may be empty",
    "key": "what it is about; one fact for each domain, category and key",
    "value": "what is so",
}
OPTIONAL = frozenset({"domain", "sub_category"})


def fields_of(fact: Fact) -> list[FormField]:
    """The fields of a form for a fact."""
    return [FormField(name, getattr(fact, name) or "", hint, name in OPTIONAL) for name, hint in HINTS.items()]


def fields_for(near: Fact | None, *, with_category: bool) -> list[FormField]:
    """The fields of a form for a new fact, with the domain of one that stands `near`, and its category."""
    given = {
        "domain": (near.domain or "") if near is not None else "",
        "category": near.category if near is not None and with_category else "",
    }
    return [FormField(name, given.get(name, ""), hint, name in OPTIONAL) for name, hint in HINTS.items()]


def check(typed: Mapping[str, str]) -> None:
    """Raises BadInput for a name that can't be one."""
    for name, text in typed.items():
        if name != "value":
            checked_name(text, name, needed=name not in OPTIONAL)


def check_all(typed: Mapping[str, str]) -> None:
    """Raises BadInput too where something is missing that a fact needs."""
    missing = [name for name in HINTS if name not in OPTIONAL and not typed.get(name)]
    if missing:
        raise BadInput(f"{' and '.join(missing)} missing", "the new fact", "fill it in")
    check(typed)
