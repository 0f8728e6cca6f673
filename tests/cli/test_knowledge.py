"""`nanomem knowledge`: added, searched, listed, shown, synced and taken away on the command line."""

import importlib.metadata
import io
import re
from types import SimpleNamespace

import pytest

from tests.hygiene.repository import ROOT

PAGE = (
    ".TH NGINX 8\n.SH NAME\nnginx \\- HTTP and reverse proxy server\n"
    ".SH OPTIONS\n.TP\n.B \\-t\nTest the \x1b[31m configuration.\n"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty workspace, which is the default one, on a machine with one man page."""
    (tmp_path / "man" / "man8").mkdir(parents=True)
    (tmp_path / "man" / "man8" / "nginx.8").write_text(PAGE)
    (tmp_path / "share").mkdir()
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(tmp_path / "home" / "workspace"))
    monkeypatch.setenv("MANPATH", str(tmp_path / "man"))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "share"))
    monkeypatch.setattr(importlib.metadata, "distributions", list)
    return tmp_path


@pytest.mark.slow
def test_the_pages_that_the_readme_names_are_read_with_the_package_alone(place, run):
    readme = (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"\]\((docs/\w+\.md)\)", readme))
    assert "`nanomem knowledge list --source nanomem`" in " ".join(readme.split())
    listed = run("knowledge", "list", "--source", "nanomem", "--json").json
    assert {one["source"].removeprefix("nanomem ") for one in listed} >= named
    assert "docs/work.md" in named
    for one in listed:
        assert f"From      {one['source']}" in run("knowledge", "show", one["id"]).out


@pytest.mark.slow
def test_they_are_read_before_there_is_a_workspace(place, run, monkeypatch):
    missing = place / "nobody" / "workspace"
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(missing))
    listed = run("knowledge", "list", "--source", "nanomem")
    assert (listed.code, listed.err) == (0, f"Note: no workspace yet at {missing}: only the pages of nanomem\n")
    one = run("knowledge", "list", "--source", "nanomem", "--json").json[0]
    assert f"From      {one['source']}" in run("knowledge", "show", one["id"]).out
    assert run("knowledge", "search", "undo an operation of nanomem", "--json").json
    assert not missing.parent.exists(), "nothing was made"
    named = run("--workspace", str(missing), "knowledge", "list")
    assert named.code == 2, "who names one that is not there is told"


COMMAND = "nanomem knowledge add --man-all --packages-all"


@pytest.fixture
def packaged(place):
    """The same machine with a package that documents itself, and a page of it that cannot be read."""
    folder = place / "share" / "doc" / "nginx"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# nginx\n\nPut your sites into sites-enabled.\n")
    (folder / "faq.txt").write_bytes(b"\0\1\2" * 50)
    return place


def answering(text):
    return SimpleNamespace(isatty=lambda: True, readline=lambda: text)


@pytest.mark.slow
@pytest.mark.parametrize("line", [("search", "put sites"), ("list",), ("status",)])
def test_without_a_terminal_the_first_use_names_the_command_that_indexes_what_is_installed(
    packaged, run, monkeypatch, line
):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    first = run("knowledge", *line)
    note = f"Note: no documents are indexed yet. To index the manuals of this machine: {COMMAND}\n"
    assert (first.code, first.err) == (0, note)
    assert run("knowledge", *line, "--json").err == ""
    assert run(*COMMAND.split()[1:]).code == 0, "the command that is named works"
    assert run("knowledge", *line).err == ""


def test_the_command_that_is_named_asks_only_for_what_this_machine_has(place, run):
    assert run("knowledge", "list").err.rstrip().endswith("nanomem knowledge add --man-all")
    (place / "man" / "man8" / "nginx.8").unlink()
    assert run("knowledge", "list").err == ""


@pytest.mark.slow
def test_the_first_use_offers_to_index_what_is_installed_and_says_what_is_in_it(packaged, run, monkeypatch):
    monkeypatch.setattr("sys.stdin", answering("y\n"))
    first = run("knowledge", "search", "put sites into")
    assert first.code == 0
    assert "1 manual page and the /usr/share/doc pages of 1 package" in first.err
    assert "Index them now? [y/N]" in first.err
    assert "nginx: README.md" in first.out, "and the search goes on"
    told = run("knowledge", "status")
    assert (told.code, told.err) == (0, "")
    assert told.out in first.err, "what is in it is said at once, and later"
    assert re.search(r"Documents +2 \(1 man, 1 package\), in 3 chunks\n", told.out)
    assert re.search(r"Manual sections +8 \(1\)\n", told.out)
    assert re.search(r"Packages +1: nginx\n", told.out)
    assert re.search(r"Last read +20\d\d-", told.out)
    assert re.search(r"Not read +1: \S+/nginx/faq.txt: no text", told.out)
    found = run("knowledge", "status", "--json").json
    assert (found["documents"], found["kinds"], found["packages"]) == (2, {"man": 1, "package": 1}, ["nginx"])
    assert [one["where"] for one in found["unread"]] == [str(packaged / "share" / "doc" / "nginx" / "faq.txt")]
    assert "Documents" in run("knowledge", "list").out
    (packaged / "share" / "doc" / "nginx" / "faq.txt").write_text("It can be read now.")
    run("knowledge", "sync")
    assert run("knowledge", "status", "--json").json["unread"] == []


@pytest.mark.slow
def test_a_no_is_remembered_and_a_search_goes_on_without(packaged, run, monkeypatch):
    monkeypatch.setattr("sys.stdin", answering("n\n"))
    first = run("knowledge", "search", "put sites")
    assert (first.code, first.out.startswith("Nothing found")) == (0, True)
    assert f"To do it later: {COMMAND}" in first.err
    assert run("knowledge", "search", "put sites").err == ""
    assert run("knowledge", "list", "--json").json, "the pages of nanomem itself"


@pytest.mark.slow
def test_who_took_everything_away_is_not_asked_again(packaged, run):
    run("knowledge", "add", "--man", "nginx")
    run("knowledge", "remove", "nginx(8)", "--yes")
    assert run("knowledge", "list").err == ""


@pytest.mark.slow
def test_our_own_pages_answer_only_who_asks_for_them(place, run):
    run("knowledge", "add", "--man", "nginx")
    nothing = run("knowledge", "search", "quarantined until a person accepts")
    assert nothing.out.splitlines()[0].startswith("Nothing found")
    assert "--source nanomem" in nothing.out
    asked = run("knowledge", "search", "quarantined until a person accepts", "--source", "nanomem", "--json").json
    assert asked
    assert all(0 < one["score"] <= 1 for one in asked)
    assert run("knowledge", "search", "violin concerto").out.count("\n") == 1


def test_a_man_page_is_added_and_found_with_its_place(place, run):
    added = run("knowledge", "add", "--man", "nginx", "--json").json
    assert [one["title"] for one in added["new"]] == ["nginx(8)"]
    hits = run("knowledge", "search", "test configuration", "-n", "1", "--source", "man", "--json").json
    assert {name: hits[0][name] for name in ("title", "section", "line_from", "line_to", "source")} == {
        "title": "nginx(8)",
        "section": "OPTIONS",
        "line_from": 7,
        "line_to": 7,
        "source": str(place / "man" / "man8" / "nginx.8"),
    }
    assert {"id", "text", "score", "parts"} <= hits[0].keys()
    told = run("knowledge", "search", "test configuration").out
    assert "nginx(8) > OPTIONS" in told
    assert "\x1b" not in told
    assert run("knowledge", "add", "--man", "nginx").out == "1 document is as before\n"


@pytest.mark.slow
def test_a_solution_a_page_and_a_folder_are_added_at_once_and_undone_at_once(place, run):
    (place / "notes").mkdir()
    (place / "notes" / "a.md").write_text("# Notes\n\nWords.\n")
    (place / "page").write_text("<title>Saved</title><p>Text.")
    line = ["--page", place / "page", "--solution", "Raise the limit", "--source", "us"]
    assert run("knowledge", "add", place / "notes", *line, "--dry-run").out.startswith("Would add 3 documents")
    assert run("knowledge", "list", "--source", "file", "--json").json == []
    assert run("knowledge", "add", place / "notes", *line).code == 0
    rows = run("knowledge", "list", "--json").json
    assert [one["title"] for one in rows if one["kind"] != "nanomem"] == ["Notes", "Saved", "Raise the limit"]
    assert run("undo").code == 0
    assert {one["kind"] for one in run("knowledge", "list", "--json").json} == {"nanomem"}


@pytest.mark.slow
def test_a_document_is_shown_and_taken_away(place, run):
    run("knowledge", "add", "--man", "nginx")
    shown = run("knowledge", "show", "nginx(8)", "--json").json
    assert [chunk["section"] for chunk in shown["text"]] == ["NAME", "OPTIONS"]
    assert "HTTP and reverse proxy server" in run("knowledge", "show", shown["id"][:8]).out
    assert run("knowledge", "remove", "nginx(8)", "--dry-run").code == 0
    assert run("knowledge", "remove", "nginx(8)").code == 2
    assert run("knowledge", "remove", "nginx(8)", "--yes").code == 0
    assert run("knowledge", "show", "nginx(8)").code == 2


@pytest.mark.slow
def test_a_sync_reads_again_what_changed(place, run):
    run("knowledge", "add", "--man", "nginx")
    assert run("knowledge", "sync").out == "1 document is as before\n"
    (place / "man" / "man8" / "nginx.8").write_text(PAGE + ".SH BUGS\nNone.\n")
    assert run("knowledge", "sync", "--dry-run", "--json").json["changed"][0]["title"] == "nginx(8)"
    assert "changed  nginx(8)" in run("knowledge", "sync").out


def test_all_packages_are_added_only_where_that_is_asked_for(place, run):
    (place / "share" / "doc" / "nginx").mkdir(parents=True)
    (place / "share" / "doc" / "nginx" / "README.md").write_text("# nginx\n\nPut your sites here.\n")
    assert run("knowledge", "sync").out == "Nothing changed.\n"
    added = run("knowledge", "add", "--packages-all", "--json").json
    assert [one["title"] for one in added["new"]] == ["nginx: README.md"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["add"], "name what is to be added"),
        (["add", "https://example.org/a.html"], "save the page"),
        (["add", "--page", "http://example.org"], "save the page"),
        (["add", "--pack", "https://example.org/a.zip"], "save the page"),
        (["add", "nosuch.md"], "no such file"),
        (["add", "--man", "nosuch"], "no such man page"),
        (["add", "--package", "nosuch"], "no such package"),
        (["add", "--pack", "nosuch"], "no such pack"),
        (["add", "--solution", "text"], "--source"),
        (["add", "--source", "text"], "--solution"),
        (["add", "--solution", " ", "--source", "us"], "empty"),
        (["add", "--solution", ""], "the solution is empty"),
        (["search"], "nothing to look for"),
        (["search", "x", "--source", "nosuch"], "nosuch"),
        (["show", "nosuch"], "no such document"),
        (["remove", "nosuch", "--yes"], "no such document"),
    ],
)
def test_a_wrong_line_is_told_in_one_line(place, run, line, said):
    result = run("knowledge", *line)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert said in result.err
