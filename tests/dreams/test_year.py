"""A year of Dreams: nothing goes unaccounted, no file outgrows its budget, one run or many, and once is enough."""

import re

import pytest

from nanomem_tui.agents.archive import dump_entry
from nanomem_tui.core.merge import hunks
from nanomem_tui.core.settings import Settings
from nanomem_tui.dreams.guards import Limits
from tests.conftest import LONG
from tests.dreams import year
from tests.dreams.pipeline import Bench
from tests.store.git_samples import git, needs_git, small, write

pytestmark = needs_git
FILES = tuple(year.START)
TELLING = re.compile(r"\d+(?:[.,:/-]\d+)*|(?<=[\w,;] )[A-ZÄÖÜ][\w’'-]*[\w]")
"""What must not get lost, read without the product's own rules: numbers, dates, and names within a sentence."""


def started(folder, entries, files=year.START):
    paths = small(folder)
    write(paths.workspace, {**files, "memory/.dream_cursor": "0"})
    git(paths.workspace, "commit", "-q", "-a", "-m", "dream: start")
    paths.history.write_bytes(b"".join(map(dump_entry, entries)))
    return Bench(paths, settings=Settings(dream_max_iterations=100_000))


def dreamt(on, batch):
    """Dreams until no entry waits."""
    results = []
    while on.dreams.status()["unprocessed"]:
        results.append(on.dreams.run(max_batch_size=batch))
    return results


def telling(text):
    return set(TELLING.findall(text))


def check_accounted(on, results, entries):
    """Every name, number and date of a line that went is in a file, in the evidence, or named as superseded by it."""
    contents = {entry.cursor: entry.content for entry in entries}
    texts = dict(year.START)
    newest = max(entry.timestamp[:10] for entry in entries)
    gone = 0
    for result in results:
        for name, text in result.after.items():
            lost = [row.text for hunk in hunks(texts[name], text) for row in hunk.lines if row.tag == "delete"]
            texts[name] = text
            for line in lost:
                gone += 1
                asked = [edit for edit in result.edits if edit.old == line]
                assert asked, f"no edit took {line!r}"
                for edit in asked:
                    check_line(edit, {**texts, **result.after}, contents, newest)
    assert texts == on.texts()
    return gone


def check_line(edit, texts, contents, newest):
    assert edit.evidence
    assert all(cursor in contents for cursor in edit.evidence)
    if edit.op == "remove" and "until" in edit.old:
        assert max(re.findall(r"\d{4}-\d{2}-\d{2}", edit.old)) < newest
        return
    known = " ".join([*texts.values(), edit.supersedes, *(contents[cursor] for cursor in edit.evidence)])
    assert not telling(edit.old) - telling(known) - set(re.findall(r"[\w.,:/’'-]+", known)), edit


def check_year(tmp_path, entries, batches):
    """The whole of it; returns the Dreams of the first batch size."""
    ends, first = [], []
    for batch in batches:
        on = started(tmp_path / f"by{batch}", entries)
        results = dreamt(on, batch)
        first = first or results
        assert check_accounted(on, results, entries) > 2
        assert all(len((text or "").encode()) <= Limits().max_bytes for text in on.texts().values())
        refused = [refusal for result in results for refusal in result.refused]
        assert len(on.review.waiting()) == len(refused)
        ends.append((on.texts(), [(r.edit.new, r.why) for r in refused]))
        assert on.paths.dream_cursor.read_text() == str(entries[-1].cursor)
        commits = len(on.dreams.commits())
        on.paths.dream_cursor.write_text("0")
        again = dreamt(on, batch)
        # What a line said when an entry was read first may be gone since: then the entry says something new again.
        anew = sum(len(result.edits) for result in again)
        assert 100 * anew <= sum(len(result.edits) for result in results)
        assert anew or on.texts() == ends[-1][0]
        # A line that is there now may be asked about too, or for another section.
        assert len(on.review.waiting()) - len(refused) <= max(25, 0.06 * len(refused))
        assert len(on.dreams.commits()) >= commits
        assert git(on.paths.workspace, "fsck", "--strict") == ""
    assert all(end == ends[0] for end in ends)
    return first


@pytest.mark.slow
def test_a_month_in_one_dream_or_many_is_the_same_and_loses_nothing(tmp_path):
    results = check_year(tmp_path, year.generated(2000)[:60], (20, 7, 2000))
    assert sum(len(result.edits) for result in results) > 20


@pytest.mark.slow
def test_a_year_in_one_dream_or_many_is_the_same_and_loses_nothing(tmp_path):
    entries = year.generated() if LONG else year.generated()[:400]
    results = check_year(tmp_path, entries, (20, 2000))
    assert len(results) == len(entries) // 20
