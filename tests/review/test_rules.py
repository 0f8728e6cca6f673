"""Rules: a decision for all that is alike, looked at before, made as one operation, and taken back by one undo."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import demo, open_workspace
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.review.inbox import pattern_of, rule_like
from tests.memory.test_inbox import hold
from tests.review.lookers import look_for_junk
from tests.store.homes import make_home


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with junk of everybody and of one chat, and two things held back for one reason."""
    look_for_junk(monkeypatch)
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        for text in ("junk one", "junk number two", "junk three"):
            ws.items.add(text)
        ws.items.add("junk of a chat", channel="telegram", chat_id="42")
        hold(ws, 1)
        hold(ws, 2)
    return made


def of(ws, text):
    [found] = [one for one in ws.triage.findings() if one.text == text]
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("not recalled for 213 days", "not recalled for 40 days"),
        ("says what ltm_1739443200123_1 says", "says what ltm_17394_2 says"),
        ("about “Ana Lima”, not “Bo”", "about “Cy”, not “Di”"),
        ("older than 2026-01-02", "older than 1999-12-31"),
    ],
)
def test_reasons_that_differ_by_numbers_ids_and_names_are_alike(one, other):
    assert pattern_of(one) == pattern_of(other)
    assert pattern_of(one) != pattern_of("it orders")


def test_all_like_one_is_what_has_its_kind_scope_source_and_reason(home):
    with open_workspace(home) as ws:
        rule = rule_like(of(ws, "junk one"), "delete")
        assert {one.text for one in ws.triage.rules.meant(rule)} == {"junk one", "junk number two", "junk three"}
        wider = rule._replace(scope_key="")
        assert len(ws.triage.rules.meant(wider)) == 4
        assert "delete what is too long" in rule.words()
        assert "it has * characters" in rule.words()
        assert "global" in rule.words()


def test_a_rule_is_applied_and_kept_as_one_operation_and_undo_takes_back_both(home):
    with open_workspace(home) as ws:
        before = ws.triage.findings()
        shown = ws.triage.rules.meant(rule_like(of(ws, "junk one"), "delete"))
        ws.items.add("junk that nobody was shown")
        done = ws.triage.rules.apply(rule_like(shown[0], "delete"), keep=True, findings=shown)
        assert {one.id for one in done.findings} == {one.id for one in shown}
        assert of(ws, "junk that nobody was shown")
        [rule] = ws.triage.rules.all()
        assert ws.triage.rules.get(rule.id[:12]) == rule
        ws.undo()
        assert ws.triage.rules.all() == []
        assert {one.id for one in before} < {one.id for one in ws.triage.findings()}


def test_kept_rules_are_applied_when_a_person_says_so_and_never_by_themselves(home):
    with open_workspace(home) as ws:
        ws.triage.rules.add(rule_like(of(ws, "junk one"), "delete"))
        ws.triage.rules.add(rule_like(of(ws, "needle number 1 ignores you"), "reject"))
        assert len(ws.triage.findings()) == 6
    with open_workspace(home) as ws:
        assert len(ws.triage.findings()) == 6
        done, left = ws.triage.rules.apply_all()
        assert [len(one.findings) for one in done] == [3, 2]
        assert not left
        assert [one.text for one in ws.triage.findings()] == ["junk of a chat"]
        assert ws.triage.rules.apply_all() == ([], [])
        ws.undo(count=2)
        assert len(ws.triage.findings()) == 6


def test_a_rule_is_kept_once_and_let_go_with_undo(home):
    with open_workspace(home) as ws:
        rule = rule_like(of(ws, "junk one"), "keep")
        ws.triage.rules.add(rule)
        with pytest.raises(NothingToDo, match="kept already"):
            ws.triage.rules.add(rule)
        ws.triage.rules.apply(rule, keep=True)
        [kept] = ws.triage.rules.all()
        ws.triage.rules.delete([kept.id])
        with pytest.raises(NotFound):
            ws.triage.rules.get(kept.id)
        ws.undo()
        assert ws.triage.rules.all() == [kept]
        with pytest.raises(NothingToDo, match="no finding is like that"):
            ws.triage.rules.apply(kept)


def test_scopes_are_decided_one_by_one_and_words_that_nobody_proposes(home):
    with open_workspace(home) as ws:
        with pytest.raises(BadInput, match="cannot be decided for many"):
            rule_like(of(ws, "junk one"), "split")
        with pytest.raises(BadInput, match="none are proposed"):
            ws.triage.rules.apply(rule_like(of(ws, "junk one"), "edit"))


def test_a_rule_decides_only_what_was_offered(home):
    with open_workspace(home) as ws:
        ws.items.add("same tea a")
        ws.items.add("same tea b")
        assert ws.triage.rules.meant(rule_like(ws.triage.get("duplicate:tea"), "delete")) == []
        assert len(ws.triage.rules.meant(rule_like(ws.triage.get("duplicate:tea"), "merge"))) == 1


def test_how_long_ago_makes_no_other_reason():
    ages = [f"never recalled in {age}, while 31 other items were" for age in ("9 d", "3 mon", "2 y", "5 h", "21 days")]
    assert len({pattern_of(why) for why in ages}) == 1
    old = "never recalled in * d, while * other items were"  # as a rule was kept before
    assert pattern_of(old) == pattern_of(ages[1])


@given(
    st.lists(st.sampled_from(["36 d,", "while", "20", "items", "“a”", "*", "*,", ",", "x_1", "never", "d"])).map(
        " ".join
    )
)
def test_the_pattern_of_a_pattern_is_itself(why):
    assert pattern_of(pattern_of(why)) == pattern_of(why)


@pytest.mark.slow
def test_each_finding_is_among_those_that_its_own_rule_means(tmp_path):
    with open_workspace(demo.build(tmp_path)) as ws:
        found = ws.triage.findings()
        assert len({one.kind for one in found}) > 5
        for one in found:
            assert one.id in {meant.id for meant in ws.triage.rules.meant(rule_like(one, "keep"))}, one.why
