"""The order of operations that several processes recorded, and which of them could not be done. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nanomem_tui.operations import Operation


def in_order(sequences: Iterable[Sequence[Operation]]) -> list[Operation]:
    """The operations of several processes as one sequence: each one's own order is kept, whatever the clock did."""
    placed: list[tuple[str, Operation]] = []
    for sequence in sequences:
        latest = ""
        for operation in sequence:
            latest = max(latest, operation.place)
            placed.append((latest, operation))
    return [operation for _, operation in sorted(placed, key=lambda pair: pair[0])]


def as_made(operations: Iterable[Operation]) -> list[Operation]:
    """Operations that several processes wrote into one file, each when it came to it, in the order in which they were
    made. An id tells its process and which one of that process it is (`new_operation`)."""
    processes: dict[str, list[tuple[int, Operation]]] = {}
    for operation in operations:
        *_, process, number = ["", "", *operation.id.split("_")]
        own = processes.setdefault(process, [])
        count = int(number) if number.isdigit() else 0
        place = len(own)
        while (
            place and own[place - 1][0] > count and own[place - 1][1].place > operation.place
        ):  # by its number and its time
            place -= 1
        own.insert(place, (count, operation))
    return in_order([operation for _, operation in own] for own in processes.values())


def voided(operations: Iterable[Operation]) -> set[str]:
    """The ids of those that were recorded and then could not be done."""
    return {operation.undoes for operation in operations if operation.kind == "void" and operation.undoes}
