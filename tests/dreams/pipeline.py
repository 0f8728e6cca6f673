"""A workspace, and the smallest pipeline that Dreams run on: check, record in a list, apply."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.core.operations import Operation, new_operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.dreams.review import Review, StoredEditLayer
from nanomem_tui.dreams.service import Dreams
from nanomem_tui.store.files.layer import FileLayer
from nanomem_tui.store.files.presence import Presence


@dataclass
class Bench:
    """Dreams on `paths`, without a ledger on disk."""

    paths: Paths
    presence: Presence = field(default_factory=Presence)
    done: list[Operation] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        self.layer = FileLayer(self.paths, lambda: GitHistory.open(self.paths), self.perform)
        self.hunks = StoredEditLayer(self.paths)
        self.review = Review(self.hunks, self.layer, self.perform)
        self.dreams = Dreams(
            self.paths,
            lambda: GitHistory.open(self.paths),
            self.layer,
            self.perform,
            lambda: self.presence,
            self.settings,
        )

    def perform(self, operation: Operation) -> Operation:
        layers = {layer.name: layer for layer in (self.layer, self.hunks)}
        by_layer = {name: [c for c in operation.changes if c.layer == name] for name in layers}
        for name, changes in by_layer.items():
            layers[name].check(changes)
        for name, changes in by_layer.items():
            if changes:
                layers[name].apply(operation, changes)
        self.done.append(operation)
        return operation

    def undo(self) -> Operation:
        last = self.done[-1]
        return self.perform(new_operation("undo", f"undo: {last.label}", last.inverse(), undoes=last.id))

    def texts(self) -> dict[str, str | None]:
        return {name: self.layer.read(name) for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")}

    def remember(self, *contents: str, first: int = 0) -> None:
        """Append entries to `history.jsonl`, as an agent does."""
        numbers = range(first or len(self.entries()) + 1, 10**6)
        with self.paths.history.open("a", encoding="utf-8") as file:
            for cursor, content in zip(numbers, contents, strict=False):
                row = {"cursor": cursor, "timestamp": "2026-04-03 00:02", "content": content}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def entries(self) -> Sequence[str]:
        return self.paths.history.read_text().splitlines() if self.paths.history.exists() else []
