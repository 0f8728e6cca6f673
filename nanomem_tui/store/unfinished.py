"""What a process recorded last before it was killed: gone on with where it was begun, else taken back.

Owns that decision for one operation, by asking the layers. Must not know a ledger, a database or what a layer holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from nanomem_tui.errors import Conflict, NanomemError, NotFound
from nanomem_tui.operations import Change, Layer, Operation, new_operation
from nanomem_tui.store.values import ROW_LAYERS

SETTLED = frozenset({"file", "hunk", "tier", "lifecycle", "knowledge"})
"""Layers of which one must know what a killed process left before the next change is made."""


@runtime_checkable
class Resumed(Protocol):
    """A layer that goes on with, or takes back, what is half done in a way of its own."""

    def resume(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true that is not; what is done already is not somebody else's doing."""

    def retreat(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make true again what was before: `changes` are those of an operation the other way round."""


def finish(operation: Operation, layers: Mapping[str, Layer], register: Callable[[str], None]) -> Operation | None:
    """Go on with what was begun. Returns None when it is done, else what is to be recorded: that it was not done.

    What cannot be finished any more because somebody changed it since is taken back as far as it stands. Raises the
    errors that may not last: of a lock that is held, of the file system.
    """
    by_layer: dict[str, list[Change]] = {}
    for change in operation.changes:
        if change.layer not in ROW_LAYERS:
            by_layer.setdefault(change.layer, []).append(change)
    try:
        for name in by_layer:
            register(name)
    except NotFound:  # of a newer nanomem, which finishes it
        return None
    if not by_layer:
        return None
    if not any(layers[name].begun(changes) for name, changes in by_layer.items()):
        return _void(operation, "the program ended before")
    try:
        for name, changes in by_layer.items():
            layer = layers[name]
            (layer.resume if isinstance(layer, Resumed) else layer.apply)(operation, changes)
    except Conflict as error:
        void = _void(operation, error.line())
        for name, changes in reversed(by_layer.items()):
            for change in reversed(changes):
                _retreat(layers[name], void, change)
        return void
    return None


def take_back(
    operation: Operation,
    begun: Sequence[tuple[str, Sequence[Change]]],
    layers: Mapping[str, Layer],
    error: NanomemError,
) -> Operation:
    """Undo, as far as it stands, what layers did of an operation that failed: what an earlier layer did must not stand
    alone. Returns what is to be recorded."""
    void = _void(operation, error.line())
    for name, changes in reversed(begun):
        back = [Change(change.layer, change.key, change.after, change.before) for change in changes]
        with contextlib.suppress(NanomemError, OSError):
            if name not in ROW_LAYERS and layers[name].begun(changes):
                layers[name].apply(void, back)
    return void


def _void(operation: Operation, why: str) -> Operation:
    return new_operation("void", f"not done: {why}", (), actor=operation.actor, undoes=operation.id)


def _retreat(layer: Layer, void: Operation, change: Change) -> None:
    back = [Change(change.layer, change.key, change.after, change.before)]
    with contextlib.suppress(NanomemError, OSError):
        if layer.begun([change]):
            (layer.retreat if isinstance(layer, Resumed) else layer.apply)(void, back)
