"""Blame and the line differences under it: exactly what the real git says, on histories that nobody chose."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui.store import git_blame, git_blame_cache
from nanomem_tui.store.git_blame_cache import Kept
from nanomem_tui.store.git_diff import Span, lines_of, spans
from nanomem_tui.store.git_history import GitHistory
from tests.store.git_samples import git, needs_git, sample

pytestmark = needs_git
FILE = "memory/MEMORY.md"
AT_EASE = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

few = st.sampled_from(["", "- a", "- b", "## h", "  - a", "\t- b", "- a ", "}"])
many = st.integers(0, 60).map("- fact number {}".format) | few
texts = st.lists(few, max_size=30) | st.lists(many, max_size=60)


@st.composite
def reworked(draw: st.DrawFn, lines: list[str]) -> list[str]:
    """The lines after an edit as people and Dreams make them: added, taken out, reworded, moved, sorted."""
    lines = list(lines)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines)))
        kind = draw(st.sampled_from(["add", "drop", "reword", "move", "double", "turn"]))
        if kind == "add" or not lines:
            lines[at:at] = draw(st.lists(many, min_size=1, max_size=3))
        elif kind == "drop":
            del lines[at : at + draw(st.integers(1, 4))]
        elif kind == "reword":
            lines[min(at, len(lines) - 1)] += draw(st.sampled_from(["!", " ", " (was b)"]))
        elif kind == "move":
            moved = lines[at : at + draw(st.integers(1, 5))]
            del lines[at : at + len(moved)]
            to = draw(st.integers(0, len(lines)))
            lines[to:to] = moved
        elif kind == "double":
            lines[at:at] = lines[max(0, at - 3) : at]
        else:
            lines.reverse()
    return lines


@st.composite
def histories(draw: st.DrawFn, branching: bool = False) -> list[tuple[bytes, tuple[int, ...]]]:
    """Commits, the first first: the file, and the numbers of its parents."""
    versions = [draw(texts)]
    commits: list[tuple[bytes, tuple[int, ...]]] = []
    for number in range(draw(st.integers(1, 9))):
        parents: tuple[int, ...] = (number - 1,) if number else ()
        if number:
            if branching:
                chosen = st.lists(st.integers(0, number - 1), min_size=1, max_size=2, unique=True)
                parents = tuple(draw(chosen))
            versions.append(draw(reworked(versions[draw(st.sampled_from(parents))])))
        end = draw(st.sampled_from(["\n", "\n", ""]))
        commits.append((("\n".join(versions[-1]) + end).encode(), parents))
    return commits


def made(folder: Path, commits: list[tuple[bytes, tuple[int, ...]]]) -> GitHistory:
    """A repository of these commits, the last of them its head."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    stream = []
    for number, (data, parents) in enumerate(commits):
        stream.append(
            b"commit refs/heads/main\nmark :%d\ncommitter n <n@d> %d +0000\ndata 1\nx\n" % (number + 1, number)
        )
        stream += [b"%s :%d\n" % (b"merge" if place else b"from", one + 1) for place, one in enumerate(parents)]
        if not parents and number:
            raise AssertionError("one root")
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (FILE.encode(), len(data), data))
    line = ["git", "-C", str(folder), "fast-import", "--quiet", "--force"]
    subprocess.run(line, input=b"".join(stream), check=True, capture_output=True)
    return GitHistory(folder / ".git")


def blamed_by_git(folder: Path, *revision: str) -> list[str]:
    return re.findall(
        r"^([0-9a-f]{40}) \d+ \d+", git(folder, "blame", "--line-porcelain", *revision, "--", FILE), re.MULTILINE
    )


def differences(folder: Path, old: bytes, new: bytes) -> list[Span]:
    """What `git diff` finds, with the options that `git blame` uses."""
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    said = git(folder, "diff", "--no-index", "-U0", "--indent-heuristic", "--diff-algorithm=myers", "--text", "old",
               "new", check=False)  # fmt: skip
    found = []
    for start, count, new_start, new_count in re.findall(
        r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", said, re.MULTILINE
    ):
        size, new_size = int(count or 1), int(new_count or 1)
        at, new_at = int(start) - bool(size), int(new_start) - bool(new_size)
        found.append(Span(at, at + size, new_at, new_at + new_size))
    return found


@AT_EASE
@given(data=st.data())
def test_the_changed_lines_are_those_of_git(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    old = data.draw(texts)
    new = data.draw(reworked(old) | texts)
    one, two = ("\n".join(lines).encode() for lines in (old, new))
    assert spans(one, two) == differences(tmp_path_factory.mktemp("diff"), one, two)


@pytest.mark.parametrize("repeated", [1, 40, 400])
def test_the_changed_lines_of_long_texts_are_those_of_git(tmp_path: Path, repeated: int) -> None:
    """Long enough for the search to take shortcuts and give up, and for equal ends to be left out."""
    old = [f"- {number * 7919 % (2000 // repeated + 1)} of the facts" for number in range(2000)]
    new = [*old[500:1200], "- a line", *old[:500:2], *old[1100:]]
    one, two = (("\n".join(lines) + "\n").encode() for lines in (old, new))
    assert spans(one, two) == differences(tmp_path, one, two)
    assert spans(two, one) == differences(tmp_path, two, one)


@pytest.mark.slow
@AT_EASE
@given(commits=histories())
def test_every_line_has_the_commit_that_git_names(
    tmp_path_factory: pytest.TempPathFactory, commits: list[tuple[bytes, tuple[int, ...]]]
) -> None:
    folder = tmp_path_factory.mktemp("line") / "repository"
    history = made(folder, commits)
    assert git_blame.blame(history, history.head() or "", FILE).writers == blamed_by_git(folder, "HEAD")


@pytest.mark.slow
@AT_EASE
@given(commits=histories(branching=True))
def test_merges_are_followed_as_git_follows_them(
    tmp_path_factory: pytest.TempPathFactory, commits: list[tuple[bytes, tuple[int, ...]]]
) -> None:
    folder = tmp_path_factory.mktemp("merge") / "repository"
    history = made(folder, commits)
    assert git_blame.blame(history, history.head() or "", FILE).writers == blamed_by_git(folder, "HEAD")


@pytest.mark.slow
@AT_EASE
@given(commits=histories(), data=st.data())
def test_what_is_known_of_an_older_commit_changes_no_answer(
    tmp_path_factory: pytest.TempPathFactory, commits: list[tuple[bytes, tuple[int, ...]]], data: st.DataObject
) -> None:
    history = made(tmp_path_factory.mktemp("known") / "repository", commits)
    head = history.head() or ""
    older = data.draw(st.sampled_from(history.commits())).sha
    known = [writer or "" for writer in git_blame.blame(history, older, FILE).writers]
    plain, quick = git_blame.blame(history, head, FILE), git_blame.blame(history, head, FILE, known={older: known})
    assert quick.writers == plain.writers
    assert quick.looked_at <= plain.looked_at


@pytest.mark.slow
@AT_EASE
@given(commits=histories(), data=st.data())
def test_lines_that_are_not_committed_are_those_that_git_names(
    tmp_path_factory: pytest.TempPathFactory, commits: list[tuple[bytes, tuple[int, ...]]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("work") / "repository"
    history = made(folder, commits)
    head = history.head() or ""
    now = "\n".join(data.draw(reworked(commits[-1][0].decode().split("\n")))).encode()
    (folder / FILE).parent.mkdir()
    (folder / FILE).write_bytes(now)
    committed = git_blame.blame(history, head, FILE).writers
    places = git_blame.uncommitted(history.file_at(head, FILE) or b"", now)
    found = ["0" * 40 if place is None else committed[place] for place in places]
    assert found == blamed_by_git(folder)


@pytest.mark.parametrize("name", ["nb035", "v0_1_5"])
@pytest.mark.parametrize("file", ["SOUL.md", "USER.md", "memory/MEMORY.md"])
def test_the_files_of_real_agents_are_blamed_as_git_does(tmp_path: Path, name: str, file: str) -> None:
    paths = sample(name, tmp_path)
    history = GitHistory(paths.workspace / ".git")
    said = git(paths.workspace, "blame", "--line-porcelain", "HEAD", "--", file)
    assert git_blame.blame(history, history.head() or "", file).writers == re.findall(
        r"^([0-9a-f]{40}) \d+ \d+", said, re.MULTILINE
    )


def test_only_the_lines_that_are_wanted_are_looked_for(tmp_path: Path) -> None:
    history = made(tmp_path / "r", [(b"a\n", ()), (b"a\nb\n", (0,)), (b"a\nb\nc\n", (1,))])
    found = git_blame.blame(history, history.head() or "", FILE, wanted={2})
    assert found.writers == [None, None, history.head()]
    assert found.looked_at == 1


def test_behind_a_shallow_history_the_oldest_commit_that_is_there_has_the_line(tmp_path: Path) -> None:
    history = made(tmp_path / "r", [(b"a\n", ()), (b"a\nb\n", (0,)), (b"a\nb\nc\n", (1,))])
    newest, middle, oldest = (commit.sha for commit in history.commits())
    git(tmp_path / "r", "repack", "-adq")
    git(tmp_path / "r", "unpack-objects", check=False)
    pack = next((tmp_path / "r/.git/objects/pack").glob("*.pack"))
    data = pack.read_bytes()
    for file in (tmp_path / "r/.git/objects/pack").iterdir():
        file.unlink()
    subprocess.run(["git", "-C", str(tmp_path / "r"), "unpack-objects", "-q"], input=data, check=True)
    os.unlink(tmp_path / "r/.git/objects" / oldest[:2] / oldest[2:])
    assert git_blame.blame(GitHistory(tmp_path / "r/.git"), newest, FILE).writers == [middle, middle, newest]


def test_a_line_that_was_brought_back_is_first_written_by_who_wrote_it(tmp_path: Path) -> None:
    versions = [b"a\nb\n", b"a\nb\nc\n", b"a\n", b"a\nb\nc\nnew\n"]
    history = made(tmp_path / "r", [(data, (number - 1,) if number else ()) for number, data in enumerate(versions)])
    back, _, second, first = (commit.sha for commit in history.commits())
    writers = [writer or "" for writer in git_blame.blame(history, back, FILE).writers]
    assert writers == [first, back, back, back]
    found = git_blame.first_writers(history, FILE, lines_of(versions[-1]), writers, lambda raw: raw.sha == back)
    assert found == [first, first, second, back]


class TestCache:
    kept = Kept(FILE, "a" * 40, "b" * 40, ("c" * 40, "d" * 40), ("c" * 40, "c" * 40))

    def test_what_was_kept_comes_back(self, tmp_path: Path) -> None:
        git_blame_cache.save(tmp_path / "blame", tmp_path, self.kept)
        assert git_blame_cache.load(tmp_path / "blame", tmp_path, FILE) == self.kept
        assert git_blame_cache.load(tmp_path / "blame", tmp_path, "USER.md") is None
        assert git_blame_cache.load(tmp_path / "blame", tmp_path / "other", FILE) is None

    def test_only_the_owner_may_read_it(self, tmp_path: Path) -> None:
        git_blame_cache.save(tmp_path / "blame", tmp_path, self.kept)
        (file,) = (tmp_path / "blame").iterdir()
        assert (file.stat().st_mode & 0o777, (tmp_path / "blame").stat().st_mode & 0o777) == (0o600, 0o700)

    def test_a_damaged_one_is_none(self, tmp_path: Path) -> None:
        git_blame_cache.save(tmp_path / "blame", tmp_path, self.kept)
        (file,) = (tmp_path / "blame").iterdir()
        whole = file.read_bytes()
        for damaged in (b"", whole[:-1], whole.replace(b"c" * 40, b"e" * 40), b"\xff" * 90, whole[65:]):
            file.write_bytes(damaged)
            assert git_blame_cache.load(tmp_path / "blame", tmp_path, FILE) is None

    def test_a_folder_that_cannot_be_made_is_no_error(self, tmp_path: Path) -> None:
        (tmp_path / "blame").write_text("a file")
        git_blame_cache.save(tmp_path / "blame", tmp_path, self.kept)
        assert git_blame_cache.load(tmp_path / "blame", tmp_path, FILE) is None
