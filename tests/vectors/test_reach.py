"""What a chat is told of its own transcript is found by meaning too, and nothing of another chat comes with it."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.scopes import Audience
from tests.memory.test_reach import WEATHER, archive, settle, write

pytestmark = pytest.mark.slow

ANA = Audience("telegram", "42", "ana")
QUESTION = "Which automobile does she drive?"
SAID = "Mira came by in her old red Volkswagen."
SUMMED_UP = "Mira sold the Volkswagen and got a Fiat van"


def found(place, backend):
    settle(place, recall_backend=backend)
    with open_workspace(place) as ws:
        ws.conversations.patience = 60.0  # all of it has a vector when the question is asked
        return [one.turn.user for one in ws.reach.search(QUESTION, ANA)]


@pytest.fixture
def place(tmp_path):
    workspace = tmp_path / "home" / "workspace"
    (workspace / "sessions").mkdir(parents=True)
    (workspace / "memory").mkdir()
    write(workspace, "telegram:42", (*WEATHER[:8], ("user", SAID), ("assistant", "Good to hear."), *WEATHER), "ana")
    write(workspace, "telegram:43", (("user", "My automobile is a blue Saab, I drive it daily."),), "bob")
    archive(workspace, (SUMMED_UP, "telegram:42"), ("He drives an automobile, a white Lada", "telegram:43"))
    return workspace


def test_a_chat_is_told_what_means_the_same_in_other_words(place):
    assert SAID not in found(place, "ram"), "no word of it is asked for"
    by_meaning = found(place, "hybrid")
    assert {SAID, SUMMED_UP} <= set(by_meaning[:4])
    assert not any(name in line for line in by_meaning for name in ("Saab", "Lada"))
