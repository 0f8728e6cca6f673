"""One fault in one writer's work, and what must hold afterwards.

What was acknowledged is there; the writer's thing is as before its work or as after it, at the latest once the next
change is made; what is wrong is told and put right; every other file of the agent is as it was, byte for byte; and the
same work can be done then.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NanomemError, NothingToDo, NotYetWritten, Problem
from nanomem_tui.memory import repairs
from nanomem_tui.workspace import Workspace
from tests.crash import writers
from tests.crash.power import SYSTEMS, Disk, calls
from tests.crash.shim import AGAIN, KILLS, Ended, Server
from tests.crash.writers import FIRST, WRITERS, Look, workspace_of
from tests.store.homes import files

OURS = ("home/nanomem/*", "home/workspace/memory/LTM_*", "home/workspace/memory/LESSONS*")
"""What any change may write: our folder, and the exports."""
MENDED = "/quarantine/"
"""What lies there is told until a person takes it away."""


class Bench:
    """Copies of one writer's workspace, what it is before and after its work, and the steps that this takes."""

    def __init__(self, folder: Path, full: Path, name: str, server: Server) -> None:
        self.name, self.writer, self._server, self._folder = name, WRITERS[name], server, folder
        self._saved = folder / "saved"
        copy(full, self._saved)
        self.writer.prepare(workspace_of(self._saved))
        self._others = files(self._saved, self._may_change)
        self.before = self._look(self.copy("before"), self.writer.look)
        base = self.copy("after")
        self.log = folder / "log"
        self.disk = Disk(base)
        ended = server.run(name, base, log=self.log)
        assert ended.broken == "", ended
        assert ended.refused == (), ended
        assert ended.acknowledged[-1] == "again", ended
        self.steps = ended.steps
        self.calls = sum(1 for _ in calls(self.log))
        self.after = self._look(base, self.writer.look)

    def copy(self, name: str) -> Path:
        """The workspace as it is before the work."""
        return copy(self._saved, self._folder / name)

    def _may_change(self, path: Path) -> bool:
        name = path.relative_to(self._saved).as_posix()
        patterns = (*OURS, *(f"home/{one}" for one in self.writer.touches), "out.jsonl")
        return any(fnmatch(name, one) for one in patterns)

    def _look(self, base: Path, look: Callable[[Workspace], Look]) -> Look:
        with self._opened(base) as ws:
            return look(ws)

    @contextlib.contextmanager
    def _opened(self, base: Path) -> Iterator[Workspace]:
        with writers.settings_of(self.writer, base), open_workspace(workspace_of(base)) as ws:
            yield ws

    # -- the faults ---------------------------------------------------------------------------------------------------

    def fault(self, fault: str, at: int) -> bool:
        """Let it meet a fault at a step, and check; whether the process was killed or refused something for it."""
        base = self.copy("trial")
        ended = self._server.run(self.name, base, fault, at)
        with told(f"{self.name}: {fault} at step {at} of {self.steps}: {ended}"):
            assert not ended.broken, ended.broken
            if fault in KILLS:
                assert ended.killed or at > ended.steps
            else:
                assert ended.acknowledged[-1] == "again", "it goes on by itself once the disk is well"
            self.check(base, ended.acknowledged)
        return ended.killed or bool(ended.refused)

    def on_disk(self, base: Path, heal: Sequence[str]) -> Ended:
        """Let it work where the disk itself is ill, at `base`, until the command `heal` was run; and check."""
        ended = self._server.run(self.name, base, heal=heal)
        with told(f"{self.name}: {ended}"):
            assert not ended.broken, ended.broken
            assert ended.acknowledged[-1] == "again", "it goes on by itself once the disk is well"
            self.check(base, ended.acknowledged)
        return ended

    def power_cuts(self, every: int, offset: int = 0) -> int:
        """Cut the power after every n-th call that was logged, in each of the systems; how often. What a cut leaves
        that left it before, with no more acknowledged meanwhile, is not checked again."""
        acknowledged: list[str] = []
        checked: set[bytes] = set()
        cuts = 0
        for number, call in enumerate(calls(self.log)):
            if call.kind == "a":
                acknowledged.append(writers.STEPS[call.value])
            else:
                self.disk.replay(call)
            if (number + offset) % every:
                continue
            for system in SYSTEMS if every == 1 else [SYSTEMS[(number // every) % 3]]:
                base = self._folder / "trial"
                shutil.rmtree(base, ignore_errors=True)
                self.disk.cut(base, system)
                cuts += 1
                if (left := digest(base, acknowledged)) in checked:
                    continue
                checked.add(left)
                after = f"after call {number}, {call.kind} {call.path}, with {acknowledged} acknowledged"
                with told(f"{self.name}: power cut ({system}) {after}"):
                    self.check(base, tuple(acknowledged), cut=True)
        return cuts

    # -- what must hold -----------------------------------------------------------------------------------------------

    def check(self, base: Path, acknowledged: tuple[str, ...], *, cut: bool = False) -> None:
        """What is promised after a fault; `cut`: of the power. Raises AssertionError."""
        writer = self.writer
        look = (writer.survives if cut else None) or writer.look
        before, after = self.before, self.after
        if look is not writer.look:
            before, after = (self._look(self._folder / one, look) for one in ("before", "after"))
        with self._opened(base) as ws:
            there = {row.text for row in ws.items.all()}
            assert FIRST in there or "first" not in acknowledged or writer.takes_back, "acknowledged, and lost"
            assert AGAIN in there or "again" not in acknowledged, "acknowledged, and lost"
            ws.items.add("after the fault")
            ws.flush()
        left = self._put_right(base)
        with self._opened(base) as ws:
            found = look(ws)
            assert "after the fault" in {row.text for row in ws.items.all()}
        done = "work" in acknowledged
        if not (writer.resumes and not done):
            assert left == [], f"the doctor names {left}"
            possible = [after] if done and not writer.beside else [before, after]
            assert found in possible, f"{found}\n is none of \n{possible}"
        others = files(base, lambda path: path.relative_to(base).as_posix() not in self._others)
        assert others == self._others, "another file was changed"
        if found != after or left:
            self._again(base)

    def _put_right(self, base: Path) -> list[Problem]:
        """What is wrong is told, and put right; what is left of it."""
        with self._opened(base) as ws:
            if not wrong(ws.doctor()):
                return []
            mend_turns(ws)
            failed = [f"{one.what}: {why}" for one, why in repairs.apply_repairs(ws, repairs.find_repairs(ws)) if why]
            assert failed == [], f"not put right: {failed}"
        with self._opened(base) as ws:
            return wrong(ws.doctor())

    def _again(self, base: Path) -> None:
        """The same work, which ends now, and all is well."""
        with writers.settings_of(self.writer, base):
            for _, step in writers.steps(self.writer, base):
                with contextlib.suppress(NothingToDo):
                    step()
        assert self._look(base, self.writer.look) == self.after, "the work done again"
        with self._opened(base) as ws:
            left = wrong(ws.doctor())
            assert left == [], f"after the work was done again, the doctor names {left}"


def mend_turns(ws: Workspace) -> None:
    """What `nanomem wal recover` does for turns that began and never ended."""
    from nanomem_tui.memory.turns import turn_operation

    if found := ws.wal.check():
        turn_operation.recover(found, ws.wal.get, ws.traces.pending, ws.store, ws.settings, ws.perform)


def wrong(found: list[Problem]) -> list[Problem]:
    """What the doctor names, without what a person only has to know."""
    told = (one for one in found if one.severity != "note" and not one.fix.startswith("nothing has to be done"))
    return [one for one in told if MENDED not in one.where]


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """An error of a check names the fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotYetWritten)
            yield
    except (AssertionError, NanomemError, OSError, LookupError, ValueError) as error:
        raise AssertionError(f"{what}\n{type(error).__name__}: {error}") from error


def digest(base: Path, acknowledged: Sequence[str]) -> bytes:
    """What stands for a folder, with the names, modes and bytes of all that is in it, and what was acknowledged."""
    found = hashlib.sha256(repr(acknowledged).encode())
    for path in sorted(base.rglob("*")):
        data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found.update(f"{path.relative_to(base)} {path.lstat().st_mode} {len(data)} ".encode("utf-8", "surrogateescape"))
        found.update(data)
    return found.digest()


def copy(source: Path, target: Path) -> Path:
    """A copy of a folder in the place of whatever was there."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)
    return target
