"""With the defaults a Dream reads its whole batch; what is over the limit of edits waits, and nothing is lost."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.settings import Settings
from tests.dreams.dreaming import NOTHING_MORE, Dreaming, edit, fact, step, study
from tests.dreams.pipeline import Bench
from tests.store.git_samples import needs_git, small

pytestmark = needs_git
THINGS = ("tea", "figs", "rice", "plums", "jazz", "chess", "rain", "maps", "boats", "bread", "moss", "owls", "pears",
          "dates", "cress", "elms", "flax", "gulls", "hops", "irises")  # fmt: skip


MORE = (
    "kale leek mint sage thyme basil dill chard beets turnip radish onion garlic ginger lemon lime mango papaya melon "
    "quince currant cherry apricot almond walnut pecan hazel cocoa honey syrup butter cream yogurt cheddar brie feta "
    "tofu lentils beans hummus"
).split()


def lines_of(number):
    return "\n".join(f"- User likes {thing}" for thing in (THINGS[number], *MORE[2 * number : 2 * number + 2]))


def marked(lines):
    return lines.replace("- ", "- [permanent] ")


@pytest.mark.slow
def test_a_batch_of_twenty_entries_is_read_with_the_defaults_and_all_of_it_is_written(on):
    on.remember(*(marked(lines_of(number)) for number in range(20)), first=21)
    result = on.dreams.run()
    assert (result.read, result.remaining, result.span) == (20, 0, "21 to 40")
    assert (result.refused, result.notes, result.cursor_after) == ((), (), 40)
    user = on.texts()["USER.md"] or ""
    assert [line for number in range(20) for line in lines_of(number).split("\n") if line not in user] == []


def test_the_next_twenty_are_those_of_the_next_dream(on):
    on.remember(*(f"- User likes {THINGS[number % 20]} number {number}" for number in range(50)), first=21)
    assert [on.dreams.run().read for _ in range(3)] == [20, 20, 10]


@pytest.mark.slow
def test_edits_beyond_the_limit_wait_for_a_person_and_the_batch_is_read(on):
    many = "\n".join(f"- User likes {thing}" for thing in (*THINGS[:1], *THINGS[2:], *MORE[:21]))
    on.remember(marked(many), "- [permanent] User likes figs most of all", first=21)
    result = on.dreams.run()
    assert (result.read, result.remaining, result.cursor_after) == (2, 0, 22)
    assert len(result.edits) == 20, "10 for each of the two entries"
    assert {one.why for one in result.refused} == {"more than 20 edits in one Dream"}
    user = on.texts()["USER.md"] or ""
    waiting = [hunk.edit.new for hunk in on.review.waiting()]
    asked = [*many.split("\n"), "- User likes figs most of all"]
    assert [line for line in asked if (line in user) == (line in waiting)] == [], "each at one place, none at both"


def test_a_limit_of_the_settings_holds_for_each_entry(tmp_path):
    on = Bench(small(tmp_path), settings=Settings(dream_max_iterations=1))
    on.remember("- User likes tea\n- User likes figs", "- User likes rice", first=21)
    result = on.dreams.run()
    assert (result.read, len(result.edits), len(result.refused)) == (2, 2, 1)


def test_a_limit_that_is_given_holds_for_the_whole_dream_and_the_rest_waits_for_the_next(on):
    on.remember(*(marked(f"- User likes {thing}") for thing in THINGS), first=21)
    first = on.dreams.run(max_iterations=6)
    assert (first.read, first.remaining, first.refused) == (6, 14, ())


def test_a_model_reads_the_whole_batch_with_the_defaults(tmp_path):
    entries = tuple(f"- User likes {thing} number {number}" for number, thing in enumerate(THINGS))
    facts = [fact(f"User likes {thing} number {number}", 21 + number) for number, thing in enumerate(THINGS)]
    edits = [edit("add", 21 + at, new=f"- User likes {thing} number {at}") for at, thing in enumerate(THINGS)]
    on = Dreaming(tmp_path, entries, study(*facts), step(*edits), NOTHING_MORE)
    result = on.run()
    assert (result.read, len(result.edits), on.cursor) == (20, 20, "40")


def test_a_model_that_repeats_a_refused_edit_is_stopped_after_the_second_time(tmp_path):
    wrong = edit("replace", 21, line=2, old="- no such line", new="- User prefers tea")
    on = Dreaming(
        tmp_path, ("- User prefers tea",), study(fact("User prefers tea", 21)), *[step(wrong, status="more")] * 9
    )
    result = on.run()
    assert len(on.asked) == 3, "the study, and the edit twice"
    assert (result.read, on.cursor, result.edits) == (1, "21", ())
    assert "it repeated an edit that was refused" in result.analysis
    assert [hunk.edit.new for hunk in on.bench.review.waiting()] == ["- User prefers tea"]


def test_a_model_that_repeats_what_it_may_never_write_is_stopped_and_its_other_edits_stay(tmp_path):
    bad, good = edit("add", 21, file="AGENTS.md", new="- tea"), edit("add", 21, new="- User prefers tea")
    script = [step(bad, good, status="more"), *[step(bad, status="more")] * 9]
    on = Dreaming(tmp_path, ("- User prefers tea",), study(fact("User prefers tea", 21)), *script)
    result = on.run()
    assert len(on.asked) == 3
    assert [one.new for one in result.edits] == ["- User prefers tea"]


def test_a_model_that_mends_a_refused_edit_goes_on(tmp_path):
    wrong = edit("replace", 21, line=2, old="- no such line", new="- User prefers tea")
    mended = edit("replace", 21, line=2, old="- a", new="- a, and prefers tea")
    script = [step(wrong, status="more"), step(mended, status="more"), NOTHING_MORE]
    on = Dreaming(tmp_path, ("- a, and prefers tea",), study(fact("a, and prefers tea", 21)), *script)
    result = on.run()
    assert [one.new for one in result.edits] == ["- a, and prefers tea"]


def test_the_command_says_which_entries_it_read(tmp_path, capsys):
    from nanomem_tui.cli.main import run

    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    rows = [
        {"cursor": 41 + at, "timestamp": "2026-03-01 10:00", "content": f"- User likes {THINGS[at]}"} for at in range(4)
    ]
    (folder / "memory" / "history.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run(["--run-dream", "--workspace", str(folder), "--max-batch-size", "3"])
    assert capsys.readouterr().out.startswith("Read 3 entries (41 to 43), 1 wait.\n")
    run(["dream", "run", "--workspace", str(folder)])
    assert capsys.readouterr().out.startswith("Read 1 entry (44 to 44), 0 wait.\n")
    with open_workspace(folder) as ws:
        assert ws.dream.commits()[1].message.rstrip().endswith("Entries 41 to 43.")
