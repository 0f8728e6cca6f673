"""`forget` and `scrub --mask` on what the first edition wrote: a memory that is not taken over yet, what is kept of one
that is, and the files of another workspace of the same home, which nobody may touch."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.store.first_edition import contents as first_edition_contents
from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]
ARCHIVE = Path(__file__).parents[1] / "data" / "first-edition.tar.gz"
SAID = "the deploy runs at 9"
pytestmark = pytest.mark.sqlite("the first edition of a file of SQLite")


@pytest.fixture
def old(tmp_path, monkeypatch):
    """`old("sharing")`: our folder in a home that the first edition left, whose usual workspace is the default one."""

    def unpacked(name):
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(tmp_path, members=[m for m in archive if m.name.startswith(f"{name}/")], filter="data")
        monkeypatch.setenv("NANOMEM_WORKSPACE", str(tmp_path / name / "workspace"))
        return tmp_path / name / "nanomem"

    return unpacked


def said(run):
    return [one["text"] for one in json.loads(run("memory", "list", "--limit", "1000", "--json").out)]


def kept_in(data):
    return next(data.glob("backups/first-edition-*/nanomem.db"))


def test_a_dry_run_tells_of_a_memory_of_the_first_edition_and_does_not_take_it_over(old, run):
    data = old("exchanging")
    before = (data / "nanomem.db").read_bytes()
    told = run("forget", "--text", SAID, "--dry-run")
    assert f"Goes: memory_entries ltm_1795855856588_988701: {SAID}" in told.out
    assert (data / "nanomem.db").read_bytes() == before
    assert first_edition_contents.is_first_edition(data / "nanomem.db")


@pytest.mark.slow
@pytest.mark.parametrize("is_taken_over", [False, True])
def test_no_byte_of_a_text_is_left_and_what_was_kept_of_before_goes_with_it(old, run, is_taken_over):
    data = old("exchanging")
    if is_taken_over:
        assert run("memory", "add", "--text", "milk is white").code == 0
        assert planted.holding(kept_in(data).parent, SAID) != []
    others = [text for text in said(run) if SAID not in text]
    done = run("forget", "--text", SAID, "--yes")
    assert (done.code, planted.holding(data.parent, SAID)) == (0, []), done.out
    assert said(run) == others
    assert not first_edition_contents.is_first_edition(data / "nanomem.db")
    assert not list(data.glob("backups/first-edition-*/nanomem.db"))
    assert run("forget", "--text", SAID, "--dry-run").code == 0


@pytest.mark.slow
def test_what_is_kept_of_two_workspaces_is_told_and_stays_as_long_as_one_may_need_it(old, run, monkeypatch):
    data = old("sharing")
    assert run("memory", "add", "--text", "milk is white").code == 0
    done = run("forget", "--text", "item number 1", "--yes")
    kept = kept_in(data).relative_to(data.parent)
    assert (done.code, f"Left: {kept}" in done.out) == (1, True), done.out
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(data.parent / "other"))
    assert "of the other again" in said(run)


@pytest.mark.slow
def test_the_database_of_another_workspace_is_told_and_stays(old, run, monkeypatch):
    data = old("sharing")
    both = [data.parent / name for name in ("workspace", "other")]
    for workspace in both:
        monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
        assert run("memory", "add", "--text", planted.TEXT).code == 0
    for workspace, other in (both, both[::-1]):
        monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
        done = run("forget", "--text", planted.TEXT, "--yes")
        assert planted.TEXT not in said(run)
        if workspace == both[0]:
            assert (done.code, "another workspace's" in done.out) == (1, True)
            monkeypatch.setenv("NANOMEM_WORKSPACE", str(other))
            assert planted.TEXT in said(run)
    assert planted.outside_git(data.parent) == []
