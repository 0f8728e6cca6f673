"""`kill -9` at every step of pushing and aging: what was acknowledged is there, once, and in its order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.workspace import Workspace
from tests.crash.harness import Action, Steps, run_in_child
from tests.tiers.happened import small_home

LIMIT = 5
GRAVE = ("4", "9")


def few(ws: Workspace) -> None:
    """A small ring in this process."""
    ws.settings = ws.settings._replace(operational_entries=LIMIT)


def tell(word: str) -> Action:
    return lambda ws: ws.operational.push("event", {"message": word}, "tests", word in GRAVE)


WORK: list[Action] = [
    few,
    *(tell(str(number)) for number in range(7)),
    lambda ws: ws.operational.age(),
    *(tell(str(number)) for number in range(7, 12)),
    lambda ws: ws.operational.age(),
    tell("12"),
    lambda ws: ws.close(),
]
TOLD = [0, 0, *range(1, 8), 7, *range(8, 13), 12, 13, 13]
"""How many words were told after so many actions."""


def check(workspace: Path, acknowledged: int, told: str) -> None:
    with open_workspace(workspace) as ws:
        few(ws)
        now = [entry.data["message"] for entry in reversed(ws.operational.recent(None))]
        tables = [record.fields["data"]["message"] for record in reversed(ws.records.of("event"))]
        assert len(now) == len(set(now)), told
        assert now == sorted(now, key=int), told
        assert len(tables) == len(set(tables)), told
        assert set(now) & set(tables) <= set(GRAVE), told
        everything = sorted({*now, *tables}, key=int)
        possible = [[str(number) for number in range(count)] for count in TOLD[acknowledged : acknowledged + 2]]
        assert everything in possible, told
        assert {word for word in GRAVE if int(word) < TOLD[acknowledged]} <= set(tables), told
        ws.operational.push("event", {"message": "99"})
        ws.operational.age()
        now = [entry.data["message"] for entry in ws.operational.recent(None)]
        aged = [record.fields["data"]["message"] for record in ws.records.of("event")]
        assert set(now) & set(aged) <= set(GRAVE), told
        assert len(now) <= LIMIT, told
        assert sorted({*now, *aged}, key=int) == [*everything, "99"], told
        assert len(aged) == len(set(aged)), told
        assert ws.problems() == [], told
    with open_workspace(workspace) as ws:
        assert ws.operational.recent(1)[0].data["message"] == "99", told


def sweep(tmp_path: Path, every: int) -> int:
    """Kill at every n-th step; returns how many kills there were."""
    saved = small_home(tmp_path / "saved")

    def copied(name: str) -> Path:
        shutil.copytree(saved.parents[1], tmp_path / name)
        return tmp_path / name / "home" / "workspace"

    _, total = run_in_child(copied("count"), WORK, Steps())
    assert total > 40
    kills = 0
    for place in range(1, total + 1, every):
        for where in ("before", "inside", "after") if every == 1 else ("before", "inside", "after")[place % 3 :][:1]:
            workspace = copied("trial")
            acknowledged, finished = run_in_child(workspace, WORK, Steps(at=place, where=where))
            kills += not finished
            told = f"killed {where} step {place} of {total}, {acknowledged} acknowledged"
            check(workspace, acknowledged, told)
            shutil.rmtree(tmp_path / "trial")
    return kills


@pytest.mark.slow
def test_kills_at_some_steps(tmp_path: Path) -> None:
    assert sweep(tmp_path, 11) > 3


@pytest.mark.crash
@pytest.mark.long
def test_kills_at_every_step(tmp_path: Path) -> None:
    assert sweep(tmp_path, 1) > 100
