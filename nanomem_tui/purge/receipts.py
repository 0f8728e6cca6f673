"""The receipt of what was taken out: when, of what sort, from where, how often, what is left and why. No word of it.

Owns the folder `receipts/`, and the operation that tells of one in the ledger.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui import clock, json_text, regular
from nanomem_tui.operations import new_key, new_operation
from nanomem_tui.purge import names
from nanomem_tui.purge.run import Looked
from nanomem_tui.store import atomic
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths
    from nanomem_tui.purge.texts import Sought
    from nanomem_tui.workspace import Workspace


class Receipt(NamedTuple):
    """One receipt. `kind`: forget or scrub; `asked`: how many texts, ids, sessions or persons; `taken` and `left`:
    place and how often, and of what is left why."""

    id: str
    at: str
    kind: str
    asked: Mapping[str, int]
    taken: tuple[tuple[str, int], ...]
    left: tuple[tuple[str, int, str], ...]

    @property
    def label(self) -> str:
        """One line for the log."""
        times = sum(number for _, number in self.taken)
        what = ", ".join(counted(number, name) for name, number in self.asked.items()) or "secrets"
        verb = "forgot" if self.kind == "forget" else "masked"
        rest = f"; {counted(len(self.left), 'place')} left" if self.left else ""
        return f"{verb} {what}: {counted(times, 'time')} in {counted(len(self.taken), 'place')}{rest}"

    def without(self, sought: Sought) -> Receipt:
        """It as it is kept: a name may say what was sought."""
        if not sought.whole:
            return self
        taken = tuple((names.masked(where, sought), times) for where, times in self.taken)
        left = [(where, names.masked(where, sought), times, why) for where, times, why in self.left]
        masked = [
            (told, times, sought.clean(why, Counter()) if told != where else why) for where, told, times, why in left
        ]
        return self._replace(taken=taken, left=tuple(masked))

    def to_json(self) -> dict[str, Any]:
        """The receipt as its file and the command line have it."""
        taken = [{"where": where, "times": times} for where, times in self.taken]
        left = [{"where": where, "times": times, "why": why} for where, times, why in self.left]
        return {**self._asdict(), "asked": dict(self.asked), "taken": taken, "left": left}


def new_id() -> str:
    """The id of a receipt."""
    return new_key("receipt")


def receipt_of(key: str, kind: str, asked: Mapping[str, int], done: Looked, after: Looked) -> Receipt:
    """The receipt of what was done, and of what a look afterwards still found."""
    taken = tuple((place.where, sum(place.found.values())) for place in done.can_go)
    left = tuple((place.where, sum(place.found.values()), place.stays or "it came back") for place in after.places)
    left += tuple((where, 0, why) for where, why in after.unread)
    return Receipt(key, clock.iso(clock.now()), kind, asked, taken, left)


def keep(ws: Workspace, receipt: Receipt, sought: Sought) -> None:
    """Write the receipt, without the names that say what was sought, and tell of it in the log. Raises the errors of
    `from_os_error` and of the ledger."""
    folder = ws.paths.data / "receipts"
    atomic.make_folder(folder)
    body = json.dumps(receipt.without(sought).to_json(), ensure_ascii=False, indent=1)
    atomic.write_atomic(folder / f"{receipt.id}.json", f"{body}\n".encode())
    ws.perform(new_operation(receipt.kind, receipt.label, (), meta={"receipt": receipt.id}))


def lifted(paths: Paths, key: str) -> None:
    """Note on a receipt that what it names may be remembered again. Raises the errors of `from_os_error`."""
    path = paths.data / "receipts" / f"{key}.json"
    told = next((one for one in listed(paths) if one.get("id") == key), None)
    if told is not None:
        body = json.dumps({**told, "lifted": clock.iso(clock.now())}, ensure_ascii=False, indent=1)
        atomic.write_atomic(path, f"{body}\n".encode())


def listed(paths: Paths) -> list[dict[str, Any]]:
    """The receipts that can be read, the newest first."""
    found: list[dict[str, Any]] = []
    for path in sorted((paths.data / "receipts").glob("*.json"), reverse=True):
        try:
            value = json_text.loads(regular.read(path))
        except (OSError, ValueError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return sorted(found, key=lambda one: str(one.get("at")), reverse=True)
