"""Two processes that decide at the same instant: each decision is made once, and the second rests on the first."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory import scopes
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item

pytestmark = pytest.mark.slow  # two processes for each test

ROUNDS = 8
DECIDER = """
import sys
from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NanomemError
with open_workspace(sys.argv[1]) as ws:
    ws.items.all()
    print("ready", flush=True)
    for line in sys.stdin:
        what, key, text = [*line.strip().split(" ", 2), "", ""][:3]
        try:
            if what == "undo":
                print(ws.undo()[0].undoes, flush=True)
                continue
            if what == "edit":
                ws.items.edit(key, text=text)
            else:
                getattr(ws.inbox, what)([key])
            print("done", flush=True)
        except NanomemError as error:
            print(type(error).__name__, flush=True)
"""


@contextmanager
def two(workspace):
    """Two processes with the workspace open, that wait for what to decide."""
    command = [sys.executable, "-c", DECIDER, str(workspace)]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        assert [answer(one) for one in both] == ["ready", "ready"]
        yield both
    finally:
        for one in both:
            one.communicate(timeout=60)


def answer(process):
    return process.stdout.readline().strip()


def ask(both, *lines):
    """What each answers to its line; neither waits for the other."""
    for one, line in zip(both, lines, strict=True):
        one.stdin.write(f"{line}\n")
        one.stdin.flush()
    return [answer(one) for one in both]


def test_two_undos_take_back_two_operations(workspace):
    with open_workspace(workspace) as ws:
        recorded = [ws.items.add(f"number {number}")[0].id for number in range(2 * ROUNDS)]
    with two(workspace) as both:
        taken = [target for _ in range(ROUNDS) for target in ask(both, "undo", "undo")]
    assert sorted(taken) == sorted(recorded)
    with open_workspace(workspace) as ws:
        assert not [item for item in ws.items.all() if item.text.startswith("number")]


def test_what_one_accepts_no_other_rejects(workspace):
    with open_workspace(workspace) as ws:
        keys = [f"held_{number}" for number in range(ROUNDS)]
        held = [scopes.hold_for_review(Item(key, f"words of {key}"), "it orders") for key in keys]
        ws.perform(new_operation("turn", "a turn", [change_of("item", None, item) for item in held], actor="agent"))
    with two(workspace) as both:
        answers = [ask(both, f"accept {key}", f"reject {key}") for key in keys]
    assert {tuple(sorted(pair)) for pair in answers} <= {("NothingToDo", "done"), ("NotFound", "done")}
    with open_workspace(workspace) as ws:
        there = {item.id for item in ws.items.all()}
    assert there.issuperset(key for key, (accepted, _) in zip(keys, answers, strict=True) if accepted == "done")
    assert there.isdisjoint(key for key, (_, rejected) in zip(keys, answers, strict=True) if rejected == "done")


def test_of_two_edits_of_a_text_one_is_made(workspace):
    with open_workspace(workspace) as ws:
        keys = [ws.items.add(f"number {number}")[1].id for number in range(ROUNDS)]
    with two(workspace) as both:
        answers = [ask(both, f"edit {key} by one", f"edit {key} by other") for key in keys]
    assert {tuple(sorted(pair)) for pair in answers} == {("Conflict", "done")}
    with open_workspace(workspace) as ws:
        made = [ws.items.get(key).text for key in keys]
        assert made == ["by one" if pair[0] == "done" else "by other" for pair in answers]
        ws.undo(count=ROUNDS)
        assert [ws.items.get(key).text for key in keys] == [f"number {number}" for number in range(ROUNDS)]
