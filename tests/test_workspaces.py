"""Several workspaces searched as one: the best first, by turns, each for itself, and no more than can be held."""

from __future__ import annotations

from pathlib import Path

from nanomem_tui import workspaces
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.workspace import Workspace, open_workspace
from nanomem_tui.workspaces import Known, Together, summary


def made(folder, name, *texts):
    """A workspace in a home of its own."""
    workspace = folder / name / ".nanobot" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace.parent / "config.json").write_text("{}")
    with open_workspace(workspace) as ws:
        for text in texts:
            ws.items.add(text)
    return Known(name, str(workspace), "settings", find_workspace(workspace))


def asked(search, query, limit=50):
    return list(search.find(query, limit))[-1]


def test_a_large_memory_hides_no_small_one(tmp_path):
    large = made(tmp_path, "large", *(f"tea number {number}" for number in range(30)))
    small = made(tmp_path, "small", "tea at four", "green tea")
    search = Together(lambda: [large, small])
    found = asked(search, "tea", 6)
    assert [hit.known.name for hit in found.hits] == ["large", "small", "large", "large", "large", "large"]
    assert (found.total, found.fuzzy, found.done) == (32, False, True)
    assert [hit.place.title for hit in asked(search, "green").hits] == ["green tea"]
    search.close()


def test_two_workspaces_of_one_home_stay_two(tmp_path):
    one = made(tmp_path, "home", "the boat is green")
    beside = Path(one.path).with_name("workspace-b")
    (beside / "memory").mkdir(parents=True)
    with open_workspace(beside) as ws:
        ws.items.add("the boat is red")
    other = Known("b", str(beside), "settings", find_workspace(beside))
    found = asked(Together(lambda: [one, other]), "boat")
    assert {(hit.known.name, hit.place.title) for hit in found.hits} == {
        ("home", "the boat is green"), ("b", "the boat is red"),
    }  # fmt: skip
    assert [summary(each).items for each in (one, other)] == [1, 1]
    assert one.found is not None
    assert other.found is not None
    assert (one.found.data, one.found.habits.name) == (other.found.data, "habits.json")
    assert (other.found.habits.name, other.found.drafts.name) == ("habits-workspace-b.json", "drafts-workspace-b")


def test_what_is_open_is_asked_as_it_is_now(tmp_path):
    place = made(tmp_path, "one")
    assert place.found is not None
    with open_workspace(place.found.workspace) as ws:
        ws.items.add("not yet written")
        search = Together(lambda: [place], {place.folder: lambda: ws})
        assert asked(search, "written").total == 1
        assert summary(place, {place.folder: lambda: ws}).items == 1
        search.close()
        assert ws.items.count()["total"] == 1  # it was not ours to close


def test_more_than_can_be_held_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(workspaces, "MOST", 1)
    both = [made(tmp_path, "one", "tea"), made(tmp_path, "two", "tea")]
    found = asked(Together(lambda: both), "tea")
    assert (found.total, dict(found.left_out)) == (1, {"two": "beyond the first 1"})


def test_a_closed_search_opens_nothing(tmp_path):
    place = made(tmp_path, "one", "tea")
    search = Together(lambda: [place])
    search.close()
    found = asked(search, "tea")
    assert found.total == 0
    assert "the search is closed" in found.left_out["one"]


def test_an_error_of_any_kind_stands_in_the_summary(tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("boom")

    place = made(tmp_path, "one")
    monkeypatch.setattr(Workspace, "status", fails)
    told = summary(place)
    assert told.error is not None
    assert told.to_json()["id"] == "one"
    gone = Known("gone", str(tmp_path / "gone"), "settings", None)
    assert summary(gone).error is not None


def test_names_differ_and_none_looks_like_a_path(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "config.toml"))
    places = [made(tmp_path / town, "ana", "x").folder for town in ("rome", "oslo")]
    third = made(tmp_path, "bob", "x").folder
    names = [one.name for one in workspaces.list_workspaces({**dict.fromkeys(places, ""), third: "a/b"}).workspaces]
    assert names == ["ana", "oslo-ana", "a-b"]
