"""What nobody looks at one by one comes in without its secrets, and what reads as an order to the model is told. Pure.

Items and lessons that read so wait for a person instead. Must not decide what is imported.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from nanomem_tui.core import files
from nanomem_tui.language.secrets import mask
from nanomem_tui.memory.transfer import crystallized
from nanomem_tui.memory.transfer.values import STEP, Entry, Found, ImportRow, Reading, Tell, by_noun, kind_of
from nanomem_tui.store.values import Item, Record, Row
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierRecord, plain

READS_AS = "reads as an order to the model"


def nothing(_row: Row) -> str:
    """That no row need wait."""
    return ""


def held(row: Row) -> str:
    """Why an item or a lesson should wait for a person; empty when it need not."""
    from nanomem_tui.memory import safety

    words = row.text if isinstance(row, Item) else f"{row.trigger}\n{row.bad_action}\n{row.better_action}"
    return safety.held(words)


def veiled(reading: Reading, tell: Tell) -> Reading:
    """The reading with a name in place of each secret in its records and earlier values; `tell` hears how far it is."""

    def veil(number: int, found: Found) -> Found:
        if number % STEP == 0:
            tell("Looking for secrets:", number, len(reading.rows))
        row: ImportRow
        if isinstance(found.row, Item):
            return found._replace(row=crystallized.veiled(found.row))
        if isinstance(found.row, Record):
            row = crystallized.masked(found.row)
        elif isinstance(found.row, TierRecord):
            row = _masked(found.row)
        else:
            return found
        why = orders(row)
        notes = [found.note, "a secret in it is written as its name" if row != found.row else ""]
        notes += [f"{READS_AS}: it {why}" if why else ""]
        return found._replace(row=row, note="; ".join(filter(None, notes)))

    return reading._replace(rows=[veil(number, found) for number, found in enumerate(reading.rows)])


def orders(row: ImportRow) -> str:
    """How a record reads as an order to the model; empty when it does not."""
    if isinstance(row, Record):
        return crystallized.orders(row)
    if not isinstance(row, TierRecord):
        return ""
    from nanomem_tui.language import injection

    return injection.reason("\n".join(filter(None, (plain(row.fields.get(name)) for name in KINDS[row.kind].words))))


def ordered(entries: Iterable[Entry]) -> tuple[str, ...]:
    """How many records come in that read as orders to the model, if there are any."""
    coming = [entry.row for entry in entries if entry.verdict in ("new", "update") and READS_AS in entry.why]
    rows = [row for row in coming if isinstance(row, (Record, TierRecord))]
    if not rows:
        return ()
    what = "reads as an order" if len(rows) == 1 else "read as orders"
    they = "it comes in as a record" if len(rows) == 1 else "they come in as records"
    if any(isinstance(row, Record) for row in rows):
        they += ", and a lesson from such a one waits in the inbox"
    return (f"{by_noun(Counter(map(kind_of, rows)))} {what} to the model: {they}.",)


def _masked(record: TierRecord) -> TierRecord:
    said = {
        field.name: record.fields.get(field.name)
        for field in KINDS[record.kind].fields
        if field.type in ("text", "json")
    }
    text = json.dumps(said, ensure_ascii=False)
    if mask(text) == text:  # as of almost every one
        return record
    return record._replace(fields={**record.fields, **{name: _without_secrets(value) for name, value in said.items()}})


def _without_secrets(value: Any) -> Any:
    """A text or JSON without secrets: what names one may stand beside it."""
    if isinstance(value, str):
        return mask(value)
    if not isinstance(value, (dict, list)):
        return value
    text = json.dumps(value, ensure_ascii=False)
    shown = mask(text)
    if shown == text:
        return value
    try:
        return files.loads(shown)
    except ValueError:  # a secret reached over a quotation mark
        return _each(value)


def _each(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _each(inner) for name, inner in value.items()}
    return [_each(inner) for inner in value] if isinstance(value, list) else _without_secrets(value)
