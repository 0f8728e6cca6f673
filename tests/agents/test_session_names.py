from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.session_names import key_to_lossy_name, key_to_name, lossy_name_to_key, name_to_key
from nanomem_tui.core.errors import BadInput


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_a_key_and_its_name_stand_for_each_other(key):
    name = key_to_name(key)
    assert name_to_key(name) == key
    assert not set(name) & set("/\\\0:+=")


@given(st.text(max_size=20))
def test_a_name_is_a_key_only_when_the_key_gives_that_name(stem):
    key = name_to_key(stem + ".jsonl")
    assert key is None or key_to_name(key) == stem + ".jsonl"


@pytest.mark.parametrize(
    "name",
    ["cli_direct.jsonl", ".jsonl", "Y2xpOmRpcmVjdA==.jsonl", "Y2xpOmRpcmVjdB.jsonl", "_w.jsonl", "Y2xp", "é.jsonl"],
)
def test_a_name_that_agents_ignore_has_no_key(name):
    assert name_to_key(name) is None


def test_names_that_real_releases_gave(samples):
    folder = next((samples / "nb035/home/.nanobot/sessions").glob("[0-9a-f]*"))
    keys = [name_to_key(path.name) for path in folder.glob("*.jsonl")]
    assert len(keys) == 39
    assert None not in keys
    assert "telegram:-1001234567890:topic:42" in keys


def test_old_names_lose_what_a_key_held_and_so_collide():
    assert key_to_lossy_name("slack:T1_C2") == key_to_lossy_name("slack_T1:C2") == "slack_T1_C2.jsonl"
    assert lossy_name_to_key("slack_T1_C2.jsonl") == "slack:T1_C2"
    assert lossy_name_to_key("direct.jsonl") == "direct"
    assert key_to_lossy_name("cli:a/../b") == "cli_a_.._b.jsonl"


@pytest.mark.parametrize("key", ["", "\ud800"])
def test_a_key_without_a_name_is_refused(key):
    with pytest.raises(BadInput):
        key_to_name(key)
