"""`kill -9` before, inside and after every file operation and statement: nothing acknowledged is lost.

The default form tries a spread of the steps; `make crash` tries every one.
"""

from __future__ import annotations

import random
import shutil

import pytest

from nanomem_tui import open_workspace
from tests.crash.harness import Action, Look, Steps, check, looks_of, run_in_child, script
from tests.store.homes import make_home

WHERE = ("before", "inside", "after")


def prepared(base, *, adopted):
    """A workspace to start from, before its first change or after it."""
    workspace = make_home(base)
    if adopted:
        with open_workspace(workspace) as ws:
            ws.items.set_pinned(["ltm_4"], True)
    return workspace


def copied(saved, base, name):
    shutil.copytree(saved.parents[1], base / name)
    return base / name / "home" / "workspace"


def sweep(tmp_path, actions, *, adopted, every):
    """Kill at every n-th step; returns how many kills there were."""
    saved = prepared(tmp_path / "saved", adopted=adopted)
    seen: list[Look] = looks_of(copied(saved, tmp_path, "model"), actions)
    _, total = run_in_child(copied(saved, tmp_path, "count"), actions, Steps())
    assert total > 50
    kills = 0
    for place in range(1, total + 1, every):
        where = WHERE[(place // every) % 3] if every > 1 else None
        for chosen in [where] if where else WHERE:
            workspace = copied(saved, tmp_path, "trial")
            acknowledged, finished = run_in_child(workspace, actions, Steps(at=place, where=chosen))
            try:
                check(workspace, seen, acknowledged)
            except AssertionError as error:
                raise AssertionError(f"killed {chosen} step {place} of {total}") from error
            kills += not finished
            shutil.rmtree(tmp_path / "trial")
    return kills


@pytest.mark.parametrize(
    "adopted", [pytest.param(False, marks=pytest.mark.crash), True], ids=["at the first change", "later"]
)
@pytest.mark.crash
def test_a_kill_at_a_spread_of_steps(tmp_path, adopted):
    assert sweep(tmp_path, script(9), adopted=adopted, every=5) > 10


@pytest.mark.crash
@pytest.mark.long
@pytest.mark.parametrize("adopted", [False, True], ids=["at the first change", "later"])
def test_a_kill_at_every_step(tmp_path, adopted):
    assert sweep(tmp_path, script(18), adopted=adopted, every=1) > 250


def kill_at_random(tmp_path, rounds):
    """A workspace that is killed again and again; its model goes on from what was found."""
    chance = random.Random(7)
    actions = [action for number in range(400) for action in script(9)[number % 9 : number % 9 + 1]]
    killed = 0
    for number in range(rounds):
        if number % 8 == 0:
            base = tmp_path / f"from{number}"
            workspace = prepared(base, adopted=number % 16 == 0)
        model = copied(workspace, base, f"model{number}")
        acknowledged, finished = run_in_child(workspace, actions, Steps(), seconds=chance.uniform(0.005, 0.25))
        killed += not finished
        seen = looks_of(model, [*actions[: acknowledged + 1], lambda ws: ws.close()])
        check(workspace, seen, acknowledged)
        shutil.rmtree(base / f"model{number}")
    assert killed > rounds // 2


@pytest.mark.crash
def test_a_kill_at_any_time(tmp_path):
    kill_at_random(tmp_path, 6)


@pytest.mark.crash
@pytest.mark.slow
def test_many_kills_at_any_time(tmp_path):
    kill_at_random(tmp_path, 150)


@pytest.mark.crash
def test_statements_are_steps(tmp_path):
    workspace, steps, told = prepared(tmp_path, adopted=True), Steps(), tmp_path / "told"
    actions: list[Action] = [
        lambda ws: ws.items.add("counted"),
        lambda ws: ws.flush(),
        lambda ws: told.write_text("\n".join(steps.names)),
    ]
    run_in_child(workspace, actions, steps)
    names = {name.split()[0] for name in told.read_text().splitlines() if name.strip()}
    assert {"BEGIN", "INSERT", "COMMIT", "write", "fsync"} <= names
