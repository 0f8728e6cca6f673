"""Every kind of secret by every way in, and a thousand values that only look like one."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.language.secrets import find, kinds, mask
from tests.memory.test_secrets import BESIDE, VALUES
from tests.memory.turns import begin, end, turn
from tests.poison.lookalikes import NUMBER, lookalikes
from tests.store.homes import make_home

SECRETS = {kind: f"Remember that the {kind} is {value}" for kind, value in VALUES.items()} | {
    kind: f"Remember this: {before}{value}{'@db.example/x' if before.endswith(':') and '//' in before else ''}"
    for kind, (before, value) in BESIDE.items()
}
WORDS = {**VALUES, **{kind: value for kind, (_, value) in BESIDE.items()}}


def test_no_value_that_only_looks_like_one_is_masked():
    texts = list(lookalikes())
    assert len(set(texts)) > NUMBER * 0.9
    assert [(text, [one.kind for one in find(text)]) for text in texts if find(text)] == []
    assert [text for text in texts if mask(text) != text] == []


def test_every_kind_is_known_by_its_shape():
    assert len(kinds()) >= 22
    assert [kind for kind, text in SECRETS.items() if not find(text)] == []
    assert {*SECRETS, "e-mail address", "telephone number"} <= set(kinds()), "those two are personal, and no secret"


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(SECRETS))
def test_none_of_them_lies_open_after_a_turn(kind, tmp_path):
    home = make_home(tmp_path, items=0, lessons=0)
    with open_workspace(home) as ws:
        turn(ws, SECRETS[kind], f"I noted it. {SECRETS[kind]}")
        ws.flush()
        assert [row.text for row in ws.items.all() if row.enabled and not row.waits and WORDS[kind] in row.text] == []
    secret = WORDS[kind].encode()
    ours = [path for path in home.parent.rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert ours == []


def test_a_pending_action_is_masked_as_a_memory_is(tmp_path):
    with open_workspace(make_home(tmp_path, items=0, lessons=0)) as ws:
        end(ws, begin(ws, "what is next?").turn, pending_actions=["read out the PIN 4821", "try wifi pass: Sommer2026"])
        begun = begin(ws, "and now?")
    assert [text for text in (begun.block, *begun.pending) if "4821" in text or "Sommer2026" in text] == []
    assert "read out the PIN [password #" in begun.block
