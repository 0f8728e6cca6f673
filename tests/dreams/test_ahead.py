"""A cursor of Dreams beyond the last entry: said by how many, with what that leads to and what to write there."""

import shutil

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NothingToDo, Refused
from tests.dreams.pipeline import Bench
from tests.store.git_samples import needs_git, small

pytestmark = needs_git


@pytest.fixture
def on(tmp_path):
    """A Dream has read entries 21 to 23; then the cursor file became 999, and the agent wrote 24 and 25."""
    on = Bench(small(tmp_path))
    on.remember("- User likes tea", "- User likes rain", "- User likes figs", first=21)
    on.dreams.run()
    on.paths.dream_cursor.write_text("999")
    on.remember("- User likes jazz", "- User likes plums", first=24)
    return on


def test_it_is_told_by_how_many_and_what_to_write_there(on):
    status = on.dreams.status()
    told = status["ahead"]
    assert (told["cursor"], told["by"], status["unprocessed"], status["cursor"]) == (999, 974, 0, 25)
    assert told["what"] == (
        "the cursor says 999, 974 ahead of the last entry (25): no Dream would ever read the 974 entries to come"
    )
    assert (told["where"], told["fix"]) == (
        "memory/.dream_cursor",
        "write 23 into memory/.dream_cursor: up to there Dreams have read, and 2 entries would wait",
    )


def test_a_dream_says_what_the_status_says_and_writes_nothing(on):
    told = on.dreams.status()["ahead"]
    for dry in (True, False):
        with pytest.raises(Refused) as caught:
            on.dreams.run(dry_run=dry)
        assert (caught.value.what, caught.value.fix, caught.value.exit_code) == (told["what"], told["fix"], 2)
    assert on.paths.dream_cursor.read_text() == "999"


def test_it_stays_so_while_the_agent_writes_on(on):
    on.remember("- User likes chess", first=26)
    told = on.dreams.status()["ahead"]
    assert (told["by"], on.dreams.status()["unprocessed"]) == (973, 0)
    on.remember("- User likes chess", first=999)
    assert on.dreams.status()["ahead"] is None
    on.remember("- User likes go", first=1000)
    assert on.dreams.run(dry_run=True).read == 1


def test_what_it_says_to_do_has_the_entries_read(on):
    on.paths.dream_cursor.write_text("23")
    assert on.dreams.status()["ahead"] is None
    assert on.dreams.run().read == 2


@pytest.mark.parametrize("why", ["no versions", "an archive that began anew"])
def test_where_nobody_knows_what_was_read_it_says_so(on, why):
    if why == "no versions":
        shutil.rmtree(on.paths.workspace / ".git")
    else:
        on.paths.history.write_text("")
        on.remember("- User likes chess")
    assert "write the last entry that a Dream has read" in on.dreams.status()["ahead"]["fix"]


def test_a_cursor_of_an_entry_that_was_compacted_away_is_not_ahead(on):
    on.paths.cursor.write_text("999")
    assert on.dreams.status()["ahead"] is None
    with pytest.raises(NothingToDo):
        on.dreams.run()


def test_an_archive_that_was_removed_leaves_the_cursor_ahead_of_it(on):
    on.paths.dream_cursor.write_text("1")
    on.paths.history.unlink()
    told = on.dreams.status()["ahead"]["what"]
    assert "1 ahead of the last entry (0): no Dream would ever read the entry to come" in told


def test_the_doctor_and_the_status_of_the_memory_name_it(on):
    with open_workspace(on.paths.workspace) as ws:
        (said,) = (one for one in ws.status()["problems"] if one["where"] == "memory/.dream_cursor")
        assert said["fix"] == on.dreams.status()["ahead"]["fix"]
        (found,) = (one for one in ws.doctor() if one.where == "memory/.dream_cursor")
        assert "974 ahead" in found.what
        assert "dream status" in found.fix
