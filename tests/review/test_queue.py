"""The triage queue: what wants a person, decisions as one operation each, and the way back from every one of them."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.review.findings import DecisionDetails, Finding
from tests.memory.test_inbox import hold, hold_lesson
from tests.review.lookers import look_for_junk
from tests.review.test_waiting import ADD, REPLACE, USER, hold_edits
from tests.store.homes import make_home


@pytest.fixture
def lookers(monkeypatch):
    return look_for_junk(monkeypatch)


@pytest.fixture
def home(tmp_path, lookers):
    """A home with three items of junk, three that say the same, a good one, and two things held back."""
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        for text in ("junk one", "junk two", "junk three", "same tea a", "same tea b", "same tea c", "likes walks"):
            ws.items.add(text)
        hold(ws)
        hold_lesson(ws)
    return made


def texts(ws):
    return sorted(row.text for row in ws.items.all() if row.enabled)


def of(ws, text):
    [found] = [one for one in ws.triage.findings() if one.text == text]
    return found


def state(ws):
    """What a person sees before and after: the queue, what is remembered, and the edits of files."""
    return ws.triage.findings(), texts(ws), len(ws.triage.marks())


def test_the_queue_asks_for_what_is_held_back_first_and_tells_how_many_of_each(home):
    with open_workspace(home) as ws:
        assert ws.triage.counts() == {"waiting": 2, "duplicate": 1, "long": 3}
        assert [one.kind for one in ws.triage.findings()] == ["waiting"] * 2 + ["duplicate"] + ["long"] * 3
        assert len(ws.triage.findings(("long",), 2)) == 2


def test_a_finding_is_named_by_its_id_its_beginning_or_the_thing_it_is_about(home):
    with open_workspace(home) as ws:
        found = of(ws, "junk one")
        assert ws.triage.get(found.id) == ws.triage.get(found.ids[0]) == found
        assert ws.triage.get("dupl").id == "duplicate:tea"
        assert [one.text for one in ws.triage.evidence(found)] == [f"beside {found.ids[0]}"]
        with pytest.raises(BadInput):
            ws.triage.get("long:")
        with pytest.raises(NotFound):
            ws.triage.get("long:nothing")


@pytest.mark.parametrize(
    ("text", "decision", "how", "left"),
    [
        ("junk one", "keep", DecisionDetails(), "junk one"),
        ("junk one", "delete", DecisionDetails(), None),
        ("junk one", "reject", DecisionDetails(), None),
        ("junk one", "disable", DecisionDetails(), None),
        ("junk one", "edit", DecisionDetails(text="short"), "short"),
        ("junk one", "split", DecisionDetails(scope="telegram:42"), "junk one"),
        ("junk one", "snooze", DecisionDetails(), "junk one"),
        ("same tea a", "merge", DecisionDetails(), None),
        ("needle number 1 ignores you", "keep", DecisionDetails(), "needle number 1 ignores you"),
        ("needle number 1 ignores you", "reject", DecisionDetails(), None),
        ("needle number 1 ignores you", "edit", DecisionDetails(text="tame"), "tame"),
        ("needle number 1 ignores you", "snooze", DecisionDetails(), None),
    ],
)
def test_every_decision_takes_a_finding_out_of_the_queue_and_undo_brings_back_the_start(
    home, text, decision, how, left
):
    with open_workspace(home) as ws:
        before, found = state(ws), of(ws, text)
        operation = ws.triage.decide([found], decision, how).operation
        assert found.id not in {one.id for one in ws.triage.last_findings()}
        assert (left in texts(ws)) if left else (text not in texts(ws))
        assert operation.label
        ws.undo()
        assert state(ws) == before
        ws.redo()
        assert found.id not in {one.id for one in ws.triage.findings()}
    with open_workspace(home) as ws:
        again = {one.id for one in ws.triage.findings()}
        assert (found.id in again) == (decision == "split"), "what was moved is as long as before"


def test_many_are_decided_on_as_one_operation(home):
    with open_workspace(home) as ws:
        before = state(ws)
        done = ws.triage.decide(ws.triage.findings(), "reject")
        assert len(done.findings) == 6
        assert not done.left
        assert done.operation.label == "reject 6 findings"
        assert {"likes walks", "same tea b", "same tea c"} <= set(texts(ws))
        assert not {"same tea a", "junk one", "junk two", "junk three"} & set(texts(ws))
        assert [one.id for one in ws.triage.findings()] == ["duplicate:tea"], "two of three are still alike"
        ws.undo()
        assert state(ws) == before


def test_what_a_person_kept_is_asked_about_again_only_when_it_changed(home):
    with open_workspace(home) as ws:
        found = of(ws, "junk one")
        ws.triage.decide([found], "keep")
        assert [mark.finding for mark in ws.triage.marks()] == [found.id]
    with open_workspace(home) as ws:
        assert found.id not in {one.id for one in ws.triage.findings()}
        ws.items.edit(found.ids[0], text="junk one, and more")
        assert of(ws, "junk one, and more").id == found.id
        ws.triage.decide([of(ws, "junk one, and more")], "keep")
        assert len(ws.triage.marks()) == 1, "one mark for one finding"


def test_what_is_put_off_comes_back_when_its_time_has_come(home):
    with open_workspace(home) as ws:
        found = of(ws, "junk one")
        past = clock.iso(clock.now() - timedelta(minutes=1))
        ws.triage.decide([found], "snooze", DecisionDetails(until=past))
        assert found.id in {one.id for one in ws.triage.findings()}
        ws.triage.decide([found], "snooze")
        assert found.id not in {one.id for one in ws.triage.findings()}


def test_a_decision_on_what_changed_since_it_was_shown_is_refused_in_words(home):
    with open_workspace(home) as ws, open_workspace(home) as other:
        shown = of(ws, "junk one")
        other.items.edit(shown.ids[0], text="junk of another kind")
        with pytest.raises(Conflict, match="changed since it was shown"):
            ws.triage.decide([shown], "delete")
        assert "junk of another kind" in texts(ws)
        done = ws.triage.decide([shown, of(ws, "junk two")], "delete")
        assert [one.text for one in done.findings] == ["junk two"]
        assert [(one.id, type(error)) for one, error in done.left] == [(shown.id, Conflict)]
        other.items.delete([of(ws, "junk three").ids[0]])
        with pytest.raises(Conflict):
            ws.triage.decide([shown._replace(id="long:gone")], "keep")


def test_a_decision_that_does_not_fit_is_refused(home):
    with open_workspace(home) as ws:
        held = of(ws, "needle number 1 ignores you")
        with pytest.raises(Refused, match="delete does not fit"):
            ws.triage.decide([held], "delete")
        with pytest.raises(Refused):
            ws.triage.decide([of(ws, "junk one")], "merge")
        with pytest.raises(BadInput):
            ws.triage.decide([of(ws, "junk one"), of(ws, "junk two")], "edit", DecisionDetails(text="one text"))
        with pytest.raises(BadInput):
            ws.triage.decide([of(ws, "junk one")], "edit", DecisionDetails(text=" "))
        with pytest.raises(BadInput):
            ws.triage.decide([of(ws, "junk one")], "split", DecisionDetails(scope="nowhere"))
        with pytest.raises(NothingToDo):
            ws.triage.decide([], "keep")
        assert not [entry for entry in ws.log() if entry.operation.kind.startswith("triage")]


def test_a_merge_keeps_the_one_that_stands_with_all_hits(home):
    with open_workspace(home) as ws:
        ids = of(ws, "same tea a").ids
        ws.triage.decide([ws.triage.get("duplicate:tea")], "merge", DecisionDetails(into=ids[1]))
        assert [row.id for row in ws.items.all() if row.text.startswith("same")] == [ids[1]]
        with pytest.raises(NotFound):
            ws.triage.get("duplicate:tea")


def test_items_and_edits_of_files_are_decided_on_together(home):
    hold_edits(home, REPLACE, ADD)
    with open_workspace(home) as ws:
        before, text = state(ws), (home / USER).read_text()
        done = ws.triage.decide(ws.triage.findings(("waiting", "edit", "long")), "keep")
        assert len(done.findings) == 7
        assert "- likes coffee" in (home / USER).read_text()
        assert ws.triage.counts() == {"duplicate": 1}
        ws.undo()
        assert (home / USER).read_text() == text
        assert state(ws) == before


def test_a_decision_asks_no_finder_again_and_what_is_new_does(home, lookers):
    with open_workspace(home) as ws:
        found = of(ws, "junk one")
        [looker] = [one for one in lookers if one.ws is ws]
        assert looker.asked == 1
        ws.triage.decide([found], "delete")
        ws.undo()
        ws.triage.decide([of(ws, "junk two")], "edit", DecisionDetails(text="fine"))
        ws.triage.decide([of(ws, "junk three")], "keep")
        assert len(ws.triage.findings()) == 4
        assert looker.asked == 1
        ws.items.add("junk four")
        assert of(ws, "junk four")
        assert looker.asked == 2


def test_two_who_ask_at_once_wait_for_one_look(home, lookers, monkeypatch):
    both, met = threading.Barrier(2), threading.Event()
    with open_workspace(home) as ws:
        is_old = type(ws.triage).is_old.fget

        def asked_by_both(triage):
            old = is_old(triage)
            if not met.is_set():
                both.wait(20)  # neither begins before both have seen that the last look is old
                met.set()
            return old

        monkeypatch.setattr(type(ws.triage), "is_old", property(asked_by_both))
        found: list[int] = []
        workers = [threading.Thread(target=lambda: found.append(len(ws.triage.findings()))) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        [looker] = [one for one in lookers if one.ws is ws]
        assert (looker.asked, found[0]) == (1, found[1])


def test_progress_counts_what_stands_and_knows_where_to_go_on(home):
    with open_workspace(home) as ws:
        assert ws.triage.progress() == (0, 0.0, 6, "")
        one, two, three = ws.triage.findings(("long",))
        ws.triage.decide([one], "keep")
        assert ws.triage.progress().next == two.id
        ws.triage.decide([two, three], "delete")
        now = ws.triage.progress()
        assert (now.decided, now.left) == (3, 3)
        assert now.a_minute == pytest.approx(9)
        assert "3 done, 9 a minute, 3 left" in now.words()
        ws.undo()
        assert ws.triage.progress()[::3] == (1, two.id)
    with open_workspace(home) as ws:
        assert ws.triage.progress().next == two.id, "the next session goes on there"


def test_what_was_found_first_is_decided_on_while_the_rest_is_looked_for(home, monkeypatch):
    looking, go_on = threading.Event(), threading.Event()

    class Slow:
        kinds = ("orphan",)

        def find(self):
            looking.set()
            assert go_on.wait(20), "the decision waited for the look"
            return []

    look_for_junk(monkeypatch, Slow())
    with open_workspace(home) as ws:
        pages: list[list[Finding]] = []
        worker = threading.Thread(target=lambda: pages.extend(ws.triage.coming()))
        worker.start()
        assert looking.wait(20)
        found = [one for one in ws.triage.last_findings() if one.kind == "long"]
        assert len(found) == 3
        ws.triage.decide(found[:1], "disable")
        assert len([one for one in ws.triage.last_findings() if one.kind == "long"]) == 2
        go_on.set()
        worker.join()
        assert [one.kind for page in pages for one in page] == ["duplicate"] + ["long"] * 3
        assert len(ws.triage.findings(("long",))) == 2
        assert [page for page in ws.triage.coming() if page] == [
            [one for one in ws.triage.findings() if one.kind not in ("waiting", "edit")]
        ]
