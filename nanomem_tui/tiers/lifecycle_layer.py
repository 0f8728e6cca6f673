"""The layer `lifecycle` of operations: a run of the lifecycle, and a year that left for its archive.

Keys are `run/<id>` and `archive/<name>`. A value says what was done, not to which records: a run of a million is one
change. Its batches lie in `tiers.db`, the records of a year in their archive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nanomem_tui import clock
from nanomem_tui.errors import BadInput
from nanomem_tui.operations import Change, Operation
from nanomem_tui.store.tier_aging import Due
from nanomem_tui.store.tier_kinds import kind_of
from nanomem_tui.store.tier_runs import Run
from nanomem_tui.tiers.lifecycle_archives import Archives
from nanomem_tui.tiers.lifecycle_runs import WAIT, Runs

NAME = "lifecycle"


def run_change(run: Run, dues: Sequence[Due], counts: Mapping[str, int]) -> Change:
    """The change of a run: what was due, and how many rows that were."""
    before = {due.kind.name: [due.what, due.before] for due in dues}
    return Change(NAME, f"run/{run.id}", None, {"began_at": run.began_at, "due": before, "rows": dict(counts)})


class LifecycleLayer:
    """How operations run the lifecycle, and take runs back."""

    name = NAME

    def __init__(self, runs: Runs, archives: Archives) -> None:
        self._runs = runs
        self._archives = archives

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict or Refused when a run, or an archive, is not what a change starts from."""
        for change in changes:
            what, key = _split(change.key)
            if what == "run":
                self._runs.check(key, back=change.after is None)
            else:
                self._archives.check(key, back=change.after is None)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any of it was begun."""
        for change in changes:
            what, key = _split(change.key)
            if what == "archive":
                begun = self._archives.state(key) in (
                    ("leaving", "archived") if change.after is not None else ("returning", "restored")
                )
            else:
                run = self._runs.get(key)
                states = ("open", "redoing", "done") if change.after is not None else ("undoing", "undone")
                begun = run is not None and run.state in states
            if begun:
                return True
        return False

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make it true; goes on where a killed process stopped."""
        for change in changes:
            what, key = _split(change.key)
            with self._runs.alone(WAIT):
                if what == "archive":
                    (self._archives.leave if change.after is not None else self._archives.bring_back)(key)
                elif change.after is not None:
                    self._do(key, change.after)
                elif (run := self._runs.get(key)) is not None:
                    self._runs.take_back(run)

    def _do(self, key: str, value: Mapping[str, Any]) -> None:
        run = self._runs.get(key)
        if run is None or run.state in ("undoing", "undone", "redoing"):  # taken back, and to be done again
            run = Run(key, value["began_at"], "redoing")
            self._runs.keep(run, "redoing")
            dues = [Due(kind_of(name), what, before) for name, (what, before) in value["due"].items()]
            self._runs.carry_out(run, dues, clock.iso(clock.now()))
        self._runs.keep(run, "done")


def _split(key: str) -> tuple[str, str]:
    """Raises BadInput for what neither a run nor an archive is called."""
    what, slash, name = key.partition("/")
    if not slash or what not in ("run", "archive"):
        raise BadInput("no part of the lifecycle", key, "it was written by a newer nanomem")
    return what, name
