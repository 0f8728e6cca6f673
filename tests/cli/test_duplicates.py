"""`nanomem duplicates`: what says the same, how it differs, and one made of it."""

import pytest

from nanomem_tui import open_workspace
from tests.store.homes import make_home


@pytest.fixture
def ids(tmp_path, monkeypatch):
    """The ids of two sure duplicates, two items that are nearly the same, and two of two scopes."""
    made = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    disk = "The backup disk is kept in the top drawer of the desk"
    with open_workspace(made) as ws:
        added = [
            ws.items.add(text)[1].id
            for text in ("Likes trains", "User likes \x1btrains", "User likes trains.", disk, f"{disk} upstairs")
        ]
        added.append(ws.items.add("Answers are in German")[1].id)
        added.append(ws.items.add("Answers are in German", channel="telegram", chat_id="42")[1].id)
    return added


def there(run):
    return {row["id"] for row in run("memory", "list", "--json").json}


def test_the_list_tells_what_is_sure_and_why_the_rest_is_not(ids, run):
    rows = run("duplicates", "list", "--json").json

    assert [(row["grade"], row["sure"]) for row in rows] == [("same", True), ("scopes", False), ("near", False)]
    assert {item["id"] for item in rows[0]["items"]} == {ids[0], ids[2]}
    assert "upstairs" in rows[2]["why"]
    assert len(run("duplicates", "list", "--sure", "--json").json) == 1
    shown = run("duplicates", "list").out
    assert "Likes trains" in shown or "User likes trains." in shown
    assert shown.endswith("3 clusters\n")
    assert "\x1b" not in shown


def test_show_tells_how_the_members_and_any_two_items_differ(ids, run):
    near = run("duplicates", "show", ids[3])
    assert "leaves out: upstairs" in near.out
    assert "needs a look" in near.out

    two = run("duplicates", "show", ids[0], ids[3], "--json").json
    assert two["sure"] is False
    assert two["items"][1]["differences"]


def test_all_that_is_sure_is_merged_and_nothing_else(ids, run):
    before = there(run)
    assert "stays" in run("duplicates", "merge", "--sure", "--dry-run").out
    assert there(run) == before

    run("duplicates", "merge", "--sure", "--yes")
    assert len(before - there(run)) == 1
    assert before - there(run) <= {ids[0], ids[2]}

    run("undo")
    assert there(run) == before
    assert (
        run("duplicates", "merge", "--sure", "--yes", "--json").json["operation"]["label"].startswith("merge 2 items")
    )
    assert run("duplicates", "merge", "--sure").out == "No duplicates.\n"


def test_what_needs_a_look_is_merged_only_after_a_yes(ids, run):
    refused = run("duplicates", "merge", ids[3])
    assert refused.code
    assert {ids[3], ids[4]} <= there(run)

    run("duplicates", "merge", ids[3], "--into", ids[3], "--yes")
    assert ids[3] in there(run)
    assert ids[4] not in there(run)


def test_items_of_two_scopes_want_the_one_that_stays(ids, run):
    refused = run("duplicates", "merge", ids[5], "--yes")
    assert refused.code
    assert "--into" in refused.err
    run("duplicates", "merge", ids[5], "--into", ids[6], "--yes")
    assert ids[5] not in there(run)


def test_what_is_kept_disabled_or_deleted_is_asked_no_more(ids, run):
    run("duplicates", "keep", ids[0])
    assert all(ids[0] not in row["id"] for row in run("duplicates", "list", "--json").json)
    run("undo")

    run("duplicates", "disable", ids[0], "--stays", ids[0])
    assert run("memory", "show", ids[2], "--json").json["enabled"] is False
    run("undo")

    assert run("duplicates", "delete", ids[0]).code
    run("duplicates", "delete", ids[0], "--stays", ids[0], "--yes")
    assert ids[2] not in there(run)


def test_a_name_that_is_none_is_told(ids, run):
    assert "duplicates list" in run("duplicates", "show", "nowhere").err
    assert run("duplicates", "merge").code
