"""A model that fails, a person who stops it, others who write meanwhile: nothing is changed and nothing is lost."""

from __future__ import annotations

import time

import pytest

from nanomem_tui.core.errors import (
    BadAnswer,
    Conflict,
    ModelRefused,
    ModelTooLong,
    ModelUnavailable,
    Refused,
)
from nanomem_tui.core.paths import DREAM_CURSOR
from tests.dreams.dreaming import BERLIN, TEA, Dreaming, edit, fact, step, study
from tests.model.server import KEY, Reply, says, status
from tests.store.git_samples import needs_git

pytestmark = needs_git


@pytest.mark.parametrize("phase", ["study", "step"])
@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (status(401, f"bad key {KEY}"), ModelRefused),
        (status(500), ModelUnavailable),
        (says("no JSON at all"), BadAnswer),
        (says('{"analysis": "cut of', finish="length"), ModelTooLong),
        (Reply(302, headers={"Location": "http://127.0.0.1:1/"}), ModelRefused),
    ],
)
def test_an_endpoint_that_fails_changes_nothing(tmp_path, phase, bad, kind, monkeypatch):
    monkeypatch.setenv("NANOMEM_MODEL_KEY", KEY)
    monkeypatch.setattr(
        "nanomem_tui.model.client.ModelClient.__init__.__kwdefaults__", {"backoff": 0.01, "attempts": 2}
    )
    before = (study(fact("tea", 21)), step(edit("add", 21, new="- Prefers tea"), status="more"))
    on = Dreaming(tmp_path, (TEA,), *(before if phase == "step" else ()), bad)
    line = on.fails(kind)
    assert KEY not in line
    assert on.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert on.bench.done == []


def test_a_slow_endpoint_ends_with_the_time_of_the_dream(tmp_path):
    on = Dreaming(tmp_path, (TEA,), says({"facts": []}, wait=30))
    began = time.monotonic()
    assert "longer than 0.5 s" in on.fails(Refused, timeout=0.5)
    assert time.monotonic() - began < 20


def test_a_person_can_stop_it_and_hears_what_it_is_at(tmp_path):
    on = Dreaming(tmp_path, (TEA,), study(fact("tea", 21)), says({"edits": []}, wait=30))
    steps: list[str] = []

    def watch(what):
        steps.append(what)
        if len(steps) > 12:
            raise Refused("stopped")

    on.fails(Refused, watch=watch)
    assert list(dict.fromkeys(steps)) == ["reading 1 entry", "studying the entries 21", "editing, step 1 of at most 10"]


def test_what_others_wrote_while_the_model_thought_stays(tmp_path):
    on = Dreaming(tmp_path, (TEA,), study(fact("tea", 21)), lambda asked: meanwhile())

    def meanwhile():
        on.bench.paths.user.write_text("# User\n- a, by a person\n- b\n- c\n")
        return step(edit("replace", 21, line=4, old="- c", new="- c; prefers tea"))

    on.run()
    assert on.user == "# User\n- a, by a person\n- b\n- c; prefers tea\n"


def test_a_cursor_that_moved_meanwhile_is_never_set_back(tmp_path):
    def meanwhile(_asked):
        (on.bench.paths.workspace / DREAM_CURSOR).write_text("22")
        return step(edit("add", 21, new="- Prefers tea"))

    on = Dreaming(tmp_path, (TEA, BERLIN, "- more"), study(fact("tea", 21)), meanwhile)
    with pytest.raises(Conflict):
        on.run(max_batch_size=1)
    assert (on.cursor, on.user) == ("22", "# User\n- a\n- b\n- c\n")
