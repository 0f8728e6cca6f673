"""Bookmarks and named filters: one private file, made when something is kept, that nothing can break."""

import json
import os
import stat

import pytest

from nanomem_tui.core import paths
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound
from nanomem_tui.store.files import user
from nanomem_tui.store.files.user import Bookmark, Habits, NamedFilter
from nanomem_tui.workspace import open_workspace
from tests.store.homes import make_home

MARK = Bookmark("items", "ltm_1", "the boat")


@pytest.fixture
def habits(tmp_path):
    with open_workspace(make_home(tmp_path)) as ws:
        return ws.habits


@pytest.fixture
def file(tmp_path):
    """Where they are kept."""
    return paths.find_workspace(tmp_path / "home" / "workspace").habits


def test_there_is_no_file_before_something_is_kept(habits, file):
    assert habits.read().bookmarks == ()
    assert habits.problems() == []
    assert not file.exists()
    habits.set_bookmark(MARK)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert habits.has_bookmark(MARK._replace(title="another"))


def test_what_is_kept_is_there_again(habits):
    habits.set_bookmark(MARK)
    habits.save_filter(NamedFilter("old", "items", "age:>30d"))
    kept = habits.read()
    assert kept.bookmarks == (MARK,)
    assert kept.filters == (NamedFilter("old", "items", "age:>30d"),)
    habits.remove_bookmark(MARK)
    habits.delete_filter("old", "items")
    assert not any(habits.read())


def test_the_macros_of_an_older_version_are_left_as_they_are(habits, file):
    macros = [{"name": "tidy", "steps": [{"action": "toggle", "screen": "items"}]}, "not one"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": 1, "bookmarks": [MARK._asdict()], "macros": macros}))
    assert habits.problems() == []
    assert habits.read().bookmarks == (MARK,)
    habits.save_filter(NamedFilter("old", "items", "age:>30d"))
    assert json.loads(file.read_text("utf-8"))["macros"] == macros


def test_a_name_stands_for_the_newest_and_what_it_was_is_told(habits):
    first = NamedFilter("old", "items", "age:>30d")
    assert habits.save_filter(first) is None
    assert habits.save_filter(first._replace(screen="lessons")) is None
    assert habits.save_filter(first._replace(text="age:>60d")) == first
    assert [one.text for one in habits.read().filters] == ["age:>30d", "age:>60d"]


def test_what_cannot_be_kept_is_refused_in_words(habits, file):
    with pytest.raises(BadInput, match="the name is empty"):
        habits.save_filter(NamedFilter(" \n", "items", "x"))
    with pytest.raises(BadInput, match="at most 60 fit"):
        habits.save_filter(NamedFilter("x" * 61, "items", "x"))
    with pytest.raises(BadInput, match="there is no filter to keep"):
        habits.save_filter(NamedFilter("empty", "items", " "))
    with pytest.raises(NotFound):
        habits.remove_bookmark(MARK)
    assert not file.exists()


@pytest.mark.parametrize(
    "data",
    [b"junk", b"[]", b"{}", b"\xff\xfe", b'{"version": 2}', b"[" * 100_000, b'{"version": 1, "filters": [{"name": 3}]}',
     b'{"version": 1, "bookmarks": [{"screen": "items", "row": "x", "evil": "y"}]}', b""],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_told_and_set_aside_when_the_next_is_kept(habits, data, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    assert not any(habits.read())
    assert "cannot be read" in habits.problems()[0].what
    assert file.read_bytes() == data
    habits.set_bookmark(MARK)
    assert habits.problems() == []
    assert habits.read().bookmarks == (MARK,)
    kept = list((file.parent / "quarantine").glob("*habits.json"))
    assert [path.read_bytes() for path in kept] == [data]


def test_two_consoles_keep_what_the_other_one_kept(habits, file, tmp_path, monkeypatch):
    other = Habits(paths.find_workspace(tmp_path / "home" / "workspace"))
    real, others = os.open, iter([MARK])

    def meanwhile(path, flags, *more, **named):
        """The other console keeps one after the look at the file, before what this one has written takes its place."""
        if flags & os.O_CREAT:
            for mark in others:
                other.set_bookmark(mark)
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", meanwhile)
    habits.set_bookmark(Bookmark("lessons", "lesson_1"))
    assert next(others, None) is None
    assert {one.screen for one in other.read().bookmarks} == {"items", "lessons"}
    assert json.loads(file.read_text("utf-8"))["version"] == 1


def test_of_a_file_that_is_too_large_it_is_said_that_it_must_go(habits, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b" " * (user.MOST_BYTES + 1))
    assert habits.problems()[0].fix == user.UNTIL_MOVED
    with pytest.raises(NanomemError) as error:
        habits.set_bookmark(MARK)
    assert error.value.fix == user.UNTIL_MOVED


def test_a_list_of_workspaces_that_cannot_be_read_is_told_to_who_forgets_one(tmp_path, monkeypatch):
    file = tmp_path / "workspaces.json"
    file.write_bytes(b"junk")
    monkeypatch.setattr(paths, "remembered_workspaces", lambda: file)
    with pytest.raises(NanomemError, match="cannot be read"):
        user.forget_workspace("/srv/a")
    file.unlink()
    with pytest.raises(NotFound):
        user.forget_workspace("/srv/a")
