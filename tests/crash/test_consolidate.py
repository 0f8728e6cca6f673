"""`kill -9` at each step of a consolidation, a migration and a compaction of the archive: nothing is archived twice,
no offset moves before its entries are on disk, and whoever comes next finishes or starts again."""

import json
import shutil

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.core.errors import NothingToDo
from tests.crash.harness import Steps, run_in_child
from tests.dreams.test_consolidator import KEY, Home, session, talk

BUDGET = 400
WHERE = ("before", "inside", "after")


def prepared(base):
    home = Home(base)
    home.write(talk(8))
    first = {"cursor": 1, "timestamp": "2026-01-01 00:00", "content": "there already"}
    (home.memory / "history.jsonl").write_text(json.dumps(first) + "\n")
    (home.memory / ".cursor").write_text("1")
    return home


def opened(base):
    """The home that lies at `base` already."""
    home = Home.__new__(Home)
    home.workspace = base / ".nanobot" / "workspace"
    home.memory = home.workspace / "memory"
    home.folder = next((base / ".nanobot" / "sessions").iterdir())
    return home


def copied(saved, target):
    shutil.copytree(saved, target)
    return opened(target)


def consolidate(ws):
    ws.consolidator.consolidate(KEY, budget=BUDGET)


def state(home):
    """What an agent would see: entries, offsets, messages without the time of the boundary."""
    found = session(home)
    texts = [(message.role, message.content, message.hidden) for message in found.messages]
    return home.entries(), (home.memory / ".cursor").read_text(), found.last_archived, texts, dict(found.metadata)


def files(home):
    """The files that have a name: a killed write leaves a temporary one, which nobody reads."""
    return {name: data for name, data in home.files().items() if not name.endswith(".nanomem-tmp")}


def sweep(tmp_path, actions, every, check):
    """Kill at every n-th step of the actions; returns how many kills there were."""
    saved = tmp_path / "saved"
    _, total = run_in_child(copied(saved, tmp_path / "count").workspace, actions, Steps())
    assert total > 20
    kills = 0
    for place in range(1, total + 1, every):
        for where in WHERE if every == 1 else (WHERE[(place // every) % 3],):
            home = copied(saved, tmp_path / "trial")
            _, finished = run_in_child(home.workspace, actions, Steps(at=place, where=where))
            try:
                check(home)
            except AssertionError as error:
                raise AssertionError(f"killed {where} step {place} of {total}") from error
            kills += not finished
            shutil.rmtree(tmp_path / "trial")
    return kills


def kill_a_consolidation(tmp_path, every):
    before = state(prepared(tmp_path / "saved"))
    model = copied(tmp_path / "saved", tmp_path / "model")
    with open_workspace(model.workspace) as ws:
        consolidate(ws)
    after = state(model)
    many = len(after[0])

    def check(home):
        parsed = parse_session(next(home.folder.glob("*.jsonl")).read_bytes(), "", "")
        if parsed.last_archived:
            assert len(home.entries()) == many, "an offset moved before its entries were there"
        with open_workspace(home.workspace) as ws:
            ws.consolidator.recover()
            plan = ws.consolidator.plan(KEY, budget=BUDGET)
            if not plan.nothing:
                ws.consolidator.apply(plan)
            assert state(home) == after
            assert ws.history.problems() == []
        with open_workspace(home.workspace) as ws:
            assert state(home) == after, "the next process changes nothing"
            ws.undo()
            assert state(home) == before
            with pytest.raises(NothingToDo):
                ws.undo()

    return sweep(tmp_path, [consolidate, lambda ws: ws.close()], every, check)


@pytest.mark.crash
def test_a_consolidation_killed_at_a_spread_of_steps(tmp_path):
    assert kill_a_consolidation(tmp_path, every=5) > 4


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.long
def test_a_consolidation_killed_at_every_step(tmp_path):
    assert kill_a_consolidation(tmp_path, every=1) > 50


@pytest.mark.crash
def test_a_process_that_only_looks_leaves_it_to_the_next_change(tmp_path):
    """Killed between the entries and the offsets: any change of any process finishes it, with no second archive."""
    home = prepared(tmp_path / "saved")
    model = copied(tmp_path / "saved", tmp_path / "model")
    with open_workspace(model.workspace) as ws:
        consolidate(ws)
    for place in range(1, 200):
        trial = copied(tmp_path / "saved", tmp_path / f"trial{place}")
        run_in_child(trial.workspace, [consolidate], Steps(at=place, where="after"))
        if len(trial.entries()) > 1 and session(trial).last_archived == 0:
            break
    else:
        raise AssertionError("never killed in between")
    assert session(home).last_archived == 0
    with open_workspace(trial.workspace) as ws:
        ws.items.add("something else")
    assert state(trial) == state(model)


@pytest.mark.crash
def test_an_undo_killed_at_a_spread_of_steps(tmp_path):
    before = state(prepared(tmp_path / "saved"))
    with open_workspace(opened(tmp_path / "saved").workspace) as ws:
        consolidate(ws)
    after = state(opened(tmp_path / "saved"))

    def check(home):
        with open_workspace(home.workspace) as ws:
            ws.items.add("something else")
        assert state(home) in (before, after)
        with open_workspace(home.workspace) as ws:
            if state(home) == before:
                consolidate(ws)
            assert [row["content"] for row in home.entries()] == [row["content"] for row in after[0]]
            assert session(home).last_archived == after[2]

    assert sweep(tmp_path, [lambda ws: ws.undo(), lambda ws: ws.close()], 6, check) > 3


def rewrite(ws):
    ws.history_changes.compact(3)


def migrate(ws):
    ws.history_changes.migrate()


@pytest.mark.crash
@pytest.mark.parametrize("action", [rewrite, migrate])
def test_the_archive_rewritten_and_killed(tmp_path, action):
    home = prepared(tmp_path / "saved")
    if action is rewrite:
        rows = [{"cursor": n, "timestamp": "2026-01-01 00:00", "content": f"entry {n}"} for n in range(1, 10)]
        (home.memory / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (home.memory / ".dream_cursor").write_text("9")
    else:
        (home.memory / "history.jsonl").unlink()
        (home.memory / "HISTORY.md").write_text("[2026-01-02 03:04] one\n\n[2026-01-03 03:04] two\n")
    before = files(home)
    model = copied(tmp_path / "saved", tmp_path / "model")
    with open_workspace(model.workspace) as ws:
        action(ws)
    after = files(model)

    def check(trial):
        with open_workspace(trial.workspace) as ws:
            ws.items.add("something else")  # whoever comes next takes over what was left
        assert files(trial) in (before, after), sorted(files(trial))
        with open_workspace(trial.workspace) as ws:
            if files(trial) == before:
                action(ws)
            assert files(trial) == after

    assert sweep(tmp_path, [action, lambda ws: ws.close()], 4, check) > 4
