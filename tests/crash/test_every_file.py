"""Every file of a memory in which there is something of everything, damaged in every way: what it holds is shown, or it
is said what is not; every other part is as it was; what cannot be read is kept, and nothing worse comes of going on."""

from __future__ import annotations

import random
import re
import shutil
import warnings
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NanomemError, NotYetWritten, Problem
from nanomem_tui.memory import repairs
from tests.crash import writers
from tests.crash.damages import DAMAGES, gone, seen
from tests.crash.trials import copy
from tests.crash.writers import workspace_of
from tests.store.git_samples import needs_git
from tests.store.homes import kill
from tests.tiers import happened

pytestmark = [pytest.mark.crash, needs_git]
SKIPPED = ("*.lock", "*/.git/hooks/*", "*/.git/description", "*/.git/info/*", "*/.git/COMMIT_EDITMSG", "*/.git/logs/*",
           "*/.git/branches/*", "*-shm")  # fmt: skip
"""Files that hold nothing: what is in them is read by nobody, or made anew at every start."""
PLAIN = {
    "home/workspace/SOUL.md": ("SOUL.md",),
    "home/workspace/USER.md": ("USER.md",),
    "home/workspace/memory/MEMORY.md": ("MEMORY.md",),
    "home/workspace/memory/history.jsonl": ("archive",),
    "home/workspace/memory/2026-*.md": ("notes",),
    "home/workspace/memory/LTM_SNAPSHOT.json": ("items",),
    "home/workspace/memory/LESSONS.jsonl": ("lessons",),
    "home/workspace/memory/session-state/*": ("turns",),
    "home/sessions/*.jsonl": ("transcripts",),
    "home/config.json": (),
}
"""Files of the agent, without a checksum: what another hand could have written into them is taken for its doing, in
these parts alone."""
OUR_ID = "home/nanomem/ids/workspace"
"""The database tells the same."""
RECORD = f"home/sessions/{writers.ID}/.workspace"
"""Where the agent notes whose sessions these are."""
DRAWN = ("a flipped bit", "a torn tail", "junk", "zeros", "a lone surrogate", "a line of 10 MB")
"""Kinds of damage that fall somewhere else each time."""


def filled(base):
    """A home with something of everything, as a process leaves it that was killed."""
    writers.full_home(base)
    workspace = workspace_of(base)
    (base / RECORD).write_text(f"{workspace}\n")
    writers.documents_beside(workspace)
    with open_workspace(workspace) as ws:
        writers.add_document(ws)
        ws.lifecycle.run()
    ws = open_workspace(workspace)
    ws.items.add("added last")
    ws.operational.push("event", {"message": "waits in a segment"}, "tests")
    kill(ws)
    happened.kill(ws)  # else its log goes with the garbage, at any time
    return base


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("filled"))


def places(full):
    """The files that hold something, as paths below the base; of the objects of git a few."""
    names = sorted(path.relative_to(full).as_posix() for path in full.rglob("*") if path.is_file())
    held = [name for name in names if not any(fnmatch(name, pattern) for pattern in SKIPPED)]
    objects = [name for name in held if "/.git/objects/" in name]
    return [name for name in held if name not in objects[3:]]


def told(problems, name):
    """What is said to be wrong with a file, or with the repository that it is of."""
    known = ".git" if "/.git/" in name else Path(name).name
    said = (problem for problem in problems if not problem.what.startswith("SQLite "))  # of its release
    texts = (problem.text() for problem in said if known in problem.where or known in problem.what)
    return {re.sub(r"\b[0-9a-f]{64}\b", "HEAD", text) for text in texts}  # which each change moves on


def remembered(ws, text):
    """Why a text cannot be remembered; "" where it is."""
    try:
        ws.items.add(text)
        ws.flush()
    except NanomemError as error:
        return error.line()
    return ""


class Trial:
    """One file, damaged once."""

    def __init__(self, base, name, damage):
        self.base, self.name = base, name
        self.workspace = workspace_of(base)
        self.wrong: list[str] = []

    def note(self, holds, what):
        if not holds:
            self.wrong.append(f"{self.name}: {what}")

    def run(self, before, damaged):
        """What does not hold."""
        found, problems = self.look()
        own = next((parts for pattern, parts in PLAIN.items() if fnmatch(self.name, pattern)), None)
        for part, rows in before.items():
            lost = gone(rows, found[part])
            if lost and not (own is not None and part in own) and not told(problems, self.name):
                self.note(False, f"{lost} rows of {part} are gone, and nobody says why: {found[part]!s:.200}")
        with open_workspace(self.workspace) as ws:
            refused = remembered(ws, "after the damage")
            self.note(not refused or "nanomem.db" in self.name, f"nothing can be remembered: {refused}")
        after, still = self.look()
        kept = (path for path in self.base.rglob("*") if path.is_file() and path.stat().st_size >= len(damaged))
        wrong = told(problems, self.name)
        in_place = self.name.endswith("nanomem.db") and wrong <= told(still, self.name)  # other pages were written
        if wrong and not in_place and self.name != OUR_ID and not refused:
            self.note(any(damaged in path.read_bytes() for path in kept), "its bytes are not kept")
        self.worse(found, after, "the next change")
        with open_workspace(self.workspace) as ws:
            failed = [f"{one.what}: {why}" for one, why in repairs.apply_repairs(ws, repairs.find_repairs(ws)) if why]
            self.note(not failed, f"not put right: {failed}")
        if refused:
            with open_workspace(self.workspace) as ws:
                again = remembered(ws, "after the repair")
            self.note(not again, f"nothing can be remembered after the repair: {again}")
        mended, _ = self.look()
        self.worse(after, mended, "putting it right")
        return self.wrong

    def look(self):
        with open_workspace(self.workspace) as ws:
            found = seen(ws)
            problems = [*ws.problems(), *ws.doctor()]
        texts = [Problem(text, "") for text in found.values() if isinstance(text, str)]
        return found, [*problems, *texts]

    def worse(self, first, then, what):
        for part, rows in first.items():
            if isinstance(rows, Counter) and (lost := gone(rows, then[part])):
                self.note(False, f"{what} cost {lost} rows of {part}: {then[part]!s:.200}")


def try_every(full, folder, damage, draw):
    """Damage each of the files; how many there were, and what did not hold."""
    with open_workspace(workspace_of(copy(full, folder / "whole"))) as ws:
        before = seen(ws)
    assert all(isinstance(rows, Counter) and rows for rows in before.values()), before
    wrong: list[str] = []
    names = places(full)
    for name in names:
        base = copy(full, folder / "trial")
        path = base / name
        damaged = DAMAGES[damage](path.read_bytes(), random.Random(f"{draw} {damage} {name}"))
        path.write_bytes(damaged)
        if name != RECORD:
            (base / RECORD).write_text(f"{workspace_of(base)}\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotYetWritten)
            wrong += Trial(base, name, damage).run(before, damaged)
        shutil.rmtree(base)
    return len(names), wrong


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_file(full, tmp_path, damage):
    tried, wrong = try_every(full, tmp_path, damage, 0)
    assert tried >= 30
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
@pytest.mark.parametrize("damage", DRAWN)
@pytest.mark.parametrize("draw", range(1, 31))
def test_every_file_again_and_again(full, tmp_path, damage, draw):
    _, wrong = try_every(full, tmp_path, damage, draw)
    assert not wrong, "\n".join(wrong)
