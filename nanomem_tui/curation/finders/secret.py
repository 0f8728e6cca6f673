"""What holds a secret: a key, a password, the number of a card. Its value is never shown, only what it is.

Also asks about what is pinned or switched off: it is stored all the same. Must not know how a secret looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import Rows
from nanomem_tui.curation.values import Decision, Evidence, Finding, How
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import AnyRow, Item, Record

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.language.secrets import Secret

LEFT = 24
"""Characters beside a secret that make a memory worth keeping without it."""


class HoldsSecret:
    """Finds items and lessons with a secret in them; to edit one without giving words masks it."""

    kinds = ("secret",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self) -> Iterable[Finding]:
        """All of them."""
        return list(self._found())

    def _found(self) -> Iterator[Finding]:
        for row in (*self._rows.items(), *self._rows.lessons(), *self._rows.switched_off(), *self._rows.notes()):
            found = self._rows.secrets(row)
            if found:
                yield self._rows.finding("secret", row, f"it holds {_named(found)}", _offers(row, found), 1.0)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """What the secret is, what is left when it is masked, and who said it."""
        row = self._rows.any_row(finding)
        if row is None:
            return ()
        kinds = ", ".join(f"{one.kind} #{one.fingerprint}" for one in self._rows.secrets(row))
        note = Evidence("the secret", f"{kinds}; an edit without words of your own masks it")
        return [note, *said(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
        """To edit without words masks the secret; all else is as usual."""
        row = self._rows.any_row(finding)
        if decision != "edit" or row is None or (how.text and not isinstance(row, Record)):
            return None
        from nanomem_tui.core import clock
        from nanomem_tui.language import secrets
        from nanomem_tui.store import values
        from nanomem_tui.store.values import lesson_key

        now = clock.iso(clock.now())
        if isinstance(row, Record):
            return [change_of("record", row, row._replace(text=how.text or secrets.mask(row.text), updated_at=now))]
        if isinstance(row, Item):
            after = values.with_value(row._replace(text=secrets.mask(row.text), updated_at=now))
            return [change_of("item", row, after)]
        masked = row._replace(
            trigger=secrets.mask(row.trigger),
            bad_action=secrets.mask(row.bad_action),
            better_action=secrets.mask(row.better_action),
            updated_at=now,
        )
        key = lesson_key(masked.trigger, masked.better_action, masked.scope, masked.session_key)
        return [change_of("lesson", row, masked._replace(key=key))]


def _named(found: Sequence[Secret]) -> str:
    kinds = list(dict.fromkeys(one.kind for one in found))
    first = kinds[0]
    article = "an" if first[0] in "aeiouAEIO" else "a"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{article} {first}{more}"


def _offers(row: AnyRow, found: Sequence[Secret]) -> tuple[Decision, ...]:
    """What says something beside its secret is worth its words; what does not, goes."""
    if isinstance(row, Record):
        return "edit", "delete", "keep"
    secret = sum(one.end - one.start for one in found)
    if isinstance(row, Item) and len(row.text) - secret < LEFT:
        return "delete", "edit", "keep", "disable"
    return "edit", "delete", "keep", "disable"
