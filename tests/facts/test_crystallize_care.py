"""What a run leaves to a person: half sentences, voices without a name, what is over; and how facts are dated."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.facts.crystallize import Decision
from nanomem_tui.memory.facts.proposals import NOT_PLAIN
from tests.facts.talking import START, keep_all, over_in, say, talking, values, verdicts

LATER = START + timedelta(days=3000)


def with_yes(ws):
    """A run of `crystallize --yes`."""
    plan = ws.crystallizer.plan()
    return ws.crystallizer.apply(
        plan, [Decision(one, "inbox" if one.why or one.unnamed else "keep") for one in plan.open]
    )


def waiting(ws):
    return sorted(one.text for one in ws.inbox.list())


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("My name is Luka", True),
        ("Actually, my name is Luka", True),
        ("my heart will go on, my name is Luka, I live on the hill", False),
        ("my name is Luka and I live in Oslo", False),
        ("they sang: my name is Luka", False),
    ],
)
def test_only_a_plain_statement_replaces_what_is_known(text, replaced, talked, workspace):
    ws = talked(cli_direct=["My name is Robert"])
    with_yes(ws)
    say(workspace, "cli:direct", text)
    with_yes(ws)
    assert values(ws)["name"] == ("Luka" if replaced else "Robert")
    assert waiting(ws) in ([], ["name: Luka"])


def test_half_a_sentence_takes_no_place_of_what_was_said_in_the_same_run(talked):
    said = ["My name is Robert", "I live in Rome, my name is Luka"]
    ws = talked(cli_direct=said)
    plan = ws.crystallizer.plan()
    assert {one.proposal.value: (one.verdict, one.why) for one in plan.open} == {
        "Robert": ("new", ""), "Rome": ("new", ""), "Luka": ("contradicts", NOT_PLAIN),
    }  # fmt: skip
    with_yes(ws)
    assert (values(ws), waiting(ws)) == ({"name": "Robert", "lives in": "Rome"}, ["name: Luka"])
    ws.inbox.accept([ws.inbox.list()[0].id])
    assert values(ws)["name"] == "Luka"


def test_of_a_group_that_names_nobody_every_voice_waits(tmp_path):
    workspace = talking(tmp_path)
    say(workspace, "telegram:-100777", "My name is Gina.", "My name is Hugo.", "My name is Gina.")
    with open_workspace(workspace) as ws:
        with_yes(ws)
        assert (values(ws), waiting(ws)) == ({}, ["name: Gina", "name: Hugo"])


@pytest.mark.parametrize(
    ("before", "text", "key", "after"),
    [
        ("Я живу в Казани.", "Я больше не живу в Казани, переехала в Самару.", "живёт в", "Самару"),
        ("Меня зовут Ольга.", "Меня зовут не Ольга, а Елена.", "имя", "Елена"),
        ("My name is Olga", "My name is not Olga, it's Elena", "name", "Elena"),
        ("I work as a nurse", "I quit my job at Mercy, I work as a baker now.", "job", "baker"),
    ],
)
@pytest.mark.parametrize("runs", [1, 2])
def test_what_is_so_instead_takes_its_place(before, text, key, after, runs, talked, workspace):
    ws = talked(cli_direct=[before])
    if runs == 2:
        with_yes(ws)
    say(workspace, "cli:direct", text)
    with_yes(ws)
    assert (values(ws), ws.inbox.list()) == ({key: after}, [])


ENDED = [
    ("I'm allergic to penicillin", "I'm no longer allergic to penicillin.", "penicillin: allergic"),
    ("I work at St. Mary's Hospital", "I quit my job at St. Mary's Hospital.", "works at: St. Mary's Hospital"),
    ("I don't drink coffee", "I drink coffee again.", "coffee: does not drink"),
    ("my favourite shell is fish", "Forget that my favourite shell is fish.", "favourite shell: fish"),
    ("I live in Berlin", "I don't live in Berlin anymore", "lives in: Berlin"),
    ("I love jazz", "I no longer like jazz", ""),
    ("Я живу в Казани", "Я больше не живу в Казани", "живёт в: Казани"),
    ("Я работаю в Яндексе", "Я уволился из Яндекса", "работает в: Яндексе"),
    ("у меня аллергия на арахис", "у меня больше нет аллергии на арахис", ""),
    ("我住在北京", "我不再住在北京了", "住在: 北京"),
    ("我在阿里巴巴工作", "我已经不在阿里巴巴工作了", "工作单位: 阿里巴巴"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "text", "fact"), ENDED, ids=lambda one: one[:20])
def test_that_a_fact_is_so_no_longer_waits_in_the_inbox(before, text, fact, talked, workspace):
    ws = talked(cli_direct=[before])
    with_yes(ws)
    [known] = ws.facts.all()
    say(workspace, "cli:direct", text)
    plan = ws.crystallizer.plan()
    assert [(one.fact.id, one.evidence.number) for one in plan.over] == [(known.id, 1)]
    assert plan.is_new
    done = with_yes(ws)
    assert done.operation.label == "crystallize: 1 to the inbox"
    assert waiting(ws) == [f"forget: {known.item.text}"]
    assert fact in ("", known.item.text)
    assert ws.crystallizer.plan().over == (), "it waits already"
    ws.undo()
    assert (waiting(ws), len(ws.crystallizer.plan().over)) == ([], 1), "a run that was taken back decided nothing"
    with_yes(ws)
    ws.inbox.accept([ws.inbox.list()[0].id])
    assert (values(ws), ws.inbox.list()) == ({}, [])
    ws.undo()
    ws.inbox.reject([ws.inbox.list()[0].id])
    assert ws.crystallizer.plan().over == (), "a person decided"
    say(workspace, "cli:direct", text, at=LATER)
    assert len(ws.crystallizer.plan().over) == 1, "it was said again"


@pytest.mark.parametrize(
    "text",
    [
        "If I'm no longer allergic to penicillin, what then?", "My doctor says I'm no longer allergic to penicillin",
        "I'm no longer allergic to nuts", "Am I no longer allergic to penicillin?", "I'm no longer hungry",
    ],
)  # fmt: skip
def test_what_ends_nothing(text, talked):
    ws = talked(cli_direct=["I'm allergic to penicillin", text])
    with_yes(ws)
    assert (ws.crystallizer.plan().over, values(ws)) == ((), {"penicillin": "allergic"})


def test_an_end_in_the_same_run_keeps_the_fact_away_until_it_is_said_again(talked, workspace):
    said = ["I live in Rome", "I no longer live in Rome"]
    ws = talked(cli_direct=said)
    plan = ws.crystallizer.plan()
    assert (verdicts(plan), plan.over) == ([("lives in: Rome", "over")], ())
    say(workspace, "cli:direct", "I live in Rome")
    assert verdicts(ws.crystallizer.plan()) == [("lives in: Rome", "over"), ("lives in: Rome", "new")]
    keep_all(ws)
    assert (values(ws), ws.crystallizer.plan().over) == ({"lives in": "Rome"}, ())


def test_a_fact_is_dated_by_its_message_and_values_of_one_run_are_its_history(tmp_path):
    workspace = talking(tmp_path)
    for day, colour in enumerate(("teal", "orange"), 1):
        say(workspace, "cli:direct", f"My favourite color is {colour}", at=START + timedelta(days=day))
    with open_workspace(workspace) as ws:
        keep_all(ws)
        for day, colour in enumerate(("pink", "green"), 5):
            say(workspace, "cli:direct", f"My favourite color is {colour}", at=START + timedelta(days=day))
        keep_all(ws)
        [fact] = ws.facts.all()
        history = ws.facts.history(fact.id)
        assert [one.value for one in history] == ["green", "pink", "orange", "teal"]
        assert [one.since[:10] for one in history] == ["2026-03-07", "2026-03-06", "2026-03-03", "2026-03-02"]
        assert [one.until[:10] for one in history] == ["", "2026-03-07", "2026-03-06", "2026-03-03"]
        assert [one.source_message_id for one in history] == [f"cli:direct#{number}" for number in (3, 2, 1, 0)]
        assert {one.actor for one in history} == {"human"}
        assert ws.crystallizer.plan().open == []
        ws.facts.edit(fact.id, value="teal")
        assert ws.facts.history(fact.id)[0].since > "2026-03-08", "a person's word is of now"
        ws.undo()
        ws.undo()
        assert [one.value for one in ws.facts.history(fact.id)] == ["orange", "teal"]


def test_what_waited_is_dated_by_its_message_too(tmp_path):
    workspace = talking(tmp_path)
    say(workspace, "telegram:-1", "I live in Oslo")
    with open_workspace(workspace) as ws:
        with_yes(ws)
        ws.inbox.accept([ws.inbox.list()[0].id])
        [fact] = ws.facts.all()
        assert ws.facts.history(fact.id)[-1].since[:10] == "2026-03-01"


def test_an_end_names_the_fact_that_is_over():
    assert [(one.key, one.value) for one in over_in("I no longer live in Rome")] == [("lives in", "Rome")]
    assert over_in("I live in Rome") == []
