"""An edit without words of one's own gives a finding the words that are proposed for it, one by one or by rule."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput
from nanomem_tui.review.inbox import rule_like
from tests.memory.test_inbox import hold
from tests.store.homes import make_home

TOKENS = tuple("ghp_" + part * 3 for part in ("a1B2c3D4e5F6", "f6E5d4C3b2A1"))


@pytest.fixture
def home(tmp_path):
    """A home in which two items hold a token, and one thing is held back."""
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        for token in TOKENS:
            ws.items.add(f"the release bot uses {token}")
        hold(ws)
    return made


def test_a_secret_is_masked_by_an_edit_without_words_and_undo_brings_it_back(home):
    with open_workspace(home) as ws:
        one, other = ws.triage.findings(("secret",))
        assert "GitHub token" in str(ws.triage.proposed(one))
        words = str(ws.triage.proposed(one))
        assert not any(token in words for token in TOKENS)
        ws.triage.decide([one], "edit")
        assert ws.items.get(one.ids[0]).text == words
        assert ws.triage.findings(("secret",)) == [other]
        ws.undo()
        assert ws.items.get(one.ids[0]).text.endswith(TOKENS)


def test_all_secrets_are_masked_by_one_rule(home):
    with open_workspace(home) as ws:
        done = ws.triage.rules.apply(rule_like(ws.triage.findings(("secret",))[0], "edit"), keep=True)
        assert len(done.findings) == 2
        assert ws.triage.findings(("secret",)) == []
        ws.undo()
        assert len(ws.triage.findings(("secret",))) == 2


def test_what_is_held_back_is_not_accepted_with_no_words(home):
    with open_workspace(home) as ws:
        [held] = ws.triage.findings(("waiting",))
        with pytest.raises(BadInput, match="no words are given"):
            ws.triage.decide([held], "edit")
        assert ws.triage.proposed(held) is None
        assert ws.triage.get(held.id) == held
