"""Blame: what the real git says of the memory files of real agents, and true of histories that nobody chose."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui.agents.git_history import GitHistory, LineOrigin, blame, line_places
from tests.store.git_samples import git, needs_git, sample

pytestmark = needs_git
FILE = "memory/MEMORY.md"
AT_EASE = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

few = st.sampled_from(["", "- a", "- b", "## h", "  - a", "\t- b", "- a ", "}"])
many = st.integers(0, 60).map("- fact number {}".format) | few
texts = st.lists(few, max_size=30) | st.lists(many, max_size=60)


@st.composite
def reworked(draw, lines):
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
def histories(draw):
    """Commits, the first first: the file, and the numbers of its parents."""
    versions = [draw(texts)]
    commits: list[tuple[bytes, tuple[int, ...]]] = []
    for number in range(draw(st.integers(1, 9))):
        parents: tuple[int, ...] = (number - 1,) if number else ()
        if number:
            versions.append(draw(reworked(versions[-1])))
        end = draw(st.sampled_from(["\n", "\n", ""]))
        commits.append((("\n".join(versions[-1]) + end).encode(), parents))
    return commits


def made(folder, commits):
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


def never(_):
    return False


def writers(history, sha=None, file=FILE):
    return [line.by for line in blame(history, sha or history.head() or "", file, never)]


@pytest.mark.slow
@AT_EASE
@given(commits=histories())
def test_a_line_stands_in_every_version_since_the_commit_that_is_named(tmp_path_factory, commits):
    history = made(tmp_path_factory.mktemp("line") / "repository", commits)
    lines = commits[-1][0].decode().splitlines()
    numbers = {commit.sha: number for number, commit in enumerate(reversed(history.commits()))}
    found = writers(history)
    assert len(found) == len(lines)
    for line, sha in zip(lines, found, strict=True):
        versions = [line in data.decode().splitlines() for data, _ in commits]
        assert all(versions[numbers[sha] :])
        last = max((number for number, held in enumerate(versions) if not held), default=-1)
        assert numbers[sha] > last


@AT_EASE
@given(old=texts, data=st.data())
def test_a_line_that_is_kept_is_the_same_line(old, data):
    new = data.draw(reworked(old))
    found = line_places(old, new)
    kept = [place for place in found if place is not None]
    assert len(found) == len(new)
    assert kept == sorted(set(kept))
    assert all(place is None or old[place] == line for place, line in zip(found, new, strict=True))


@pytest.mark.parametrize("name", ["nb035", "v0_1_5"])
@pytest.mark.parametrize("file", ["SOUL.md", "USER.md", "memory/MEMORY.md"])
def test_the_files_of_real_agents_are_blamed_as_git_does(tmp_path, name, file):
    paths = sample(name, tmp_path)
    history = GitHistory(paths.workspace / ".git")
    said = git(paths.workspace, "blame", "--line-porcelain", "HEAD", "--", file)
    assert writers(history, file=file) == re.findall(r"^([0-9a-f]{40}) \d+ \d+", said, re.MULTILINE)


def test_behind_a_shallow_history_the_oldest_commit_that_is_there_has_the_line(tmp_path):
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
    assert writers(GitHistory(tmp_path / "r/.git"), newest) == [middle, middle, newest]


def test_a_line_that_was_brought_back_is_first_written_by_who_wrote_it(tmp_path):
    versions = [b"a\nb\n", b"a\nb\nc\n", b"a\n", b"a\nb\nc\nnew\n"]
    history = made(tmp_path / "r", [(data, (number - 1,) if number else ()) for number, data in enumerate(versions)])
    back, _, second, first = (commit.sha for commit in history.commits())
    found = blame(history, back, FILE, lambda commit: commit.sha == back)
    assert found == [
        LineOrigin(first, first),
        LineOrigin(back, first),
        LineOrigin(back, second),
        LineOrigin(back, back),
    ]


def test_a_line_that_a_merge_brought_is_of_the_merge_as_in_the_log(tmp_path):
    history = made(tmp_path / "r", [(b"a\n", ()), (b"a\nb\n", (0,)), (b"x\na\n", (0,)), (b"x\na\nb\n", (1, 2))])
    merged, second, first = (commit.sha for commit in history.commits())
    assert writers(history) == [merged, first, second]
