"""The knowledge base: what adding again changes, what comes back by undo, what a sync finds, what is searched."""

import contextlib
import gzip
import importlib.metadata
import os
import re
import shutil
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, Conflict, DiskFull, NotFound
from nanomem_tui.store.work import knowledge
from nanomem_tui.tiers import knowledge as base
from nanomem_tui.tiers import knowledge_sources
from nanomem_tui.tiers.knowledge_sources import Found
from nanomem_tui.workspace import Workspace
from tests.crash.harness import fork
from tests.hygiene.repository import ROOT

RUNBOOK = """# Runbook

## Reload

Send the master process a signal, so that it reads its configuration again.

## Certificates

Renew them with the little robot each month.
"""
NGINX = r""".TH NGINX 8
.SH NAME
nginx \- HTTP and reverse proxy server
.SH SIGNALS
.TP
HUP
Reload configuration, start the new worker process.
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A machine with one man page, a package, and an empty workspace."""
    manuals = tmp_path / "man" / "man8"
    manuals.mkdir(parents=True)
    (manuals / "nginx.8.gz").write_bytes(gzip.compress(NGINX.encode()))
    package = tmp_path / "share" / "doc" / "nginx"
    package.mkdir(parents=True)
    (package / "README.md").write_text("# nginx\n\nPut your sites into sites-enabled.\n")
    (package / "changelog.gz").write_bytes(gzip.compress(b"everything that ever was\n"))
    (tmp_path / "workspace").mkdir()
    monkeypatch.setenv("MANPATH", str(tmp_path / "man"))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "share"))
    monkeypatch.setattr(importlib.metadata, "distributions", list)
    monkeypatch.setenv("DPKG_ADMINDIR", str(tmp_path / "dpkg"))
    return tmp_path


@pytest.fixture
def ws(place):
    from nanomem_tui.core import config, paths

    found = paths.find_workspace(place / "workspace", starting=True)
    with Workspace(found, config.load(found)) as opened:
        yield opened


def titles(ws):
    return [one.title for one in ws.knowledge.documents(own=False)]


def file(place, text=RUNBOOK, name="runbook.md"):
    (place / name).write_text(text)
    return knowledge_sources.read_path(place / name)


def test_our_own_pages_are_there_without_any_adding_and_a_search_writes_nothing(ws):
    hit = ws.knowledge.search("what of nanomem survives a power cut", 1)[0]
    assert (hit.kind, hit.source) == ("nanomem", "nanomem docs/trust.md")
    assert ws.knowledge.search("what survives a power cut", 1, ["nanomem"])[0].kind == "nanomem"
    assert ws.knowledge.documents(own=False) == []
    assert not ws.paths.work_database.exists()


def test_an_example_in_our_own_pages_answers_no_question(ws, place):
    command = re.compile(r'nanomem (?:knowledge|context|record|memory|recall)\b[^"\n]*"([^"\n]+)"')
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")]
    examples = {match for page in pages for match in command.findall(page) if "nanomem" not in match}
    assert len(examples) >= 5
    for example in examples:
        assert ws.knowledge.search(example, 3) == [], example
    ws.knowledge.add(file(place, "# Proxy\n\nA reverse proxy names its upstream.\n"))
    hits = ws.knowledge.search("reverse proxy upstream", 5)
    assert [hit.kind for hit in hits] == ["file"]
    assert {hit.kind for hit in ws.knowledge.search("reverse proxy upstream", 50, ["nanomem"])} == {"nanomem"}


def test_a_hit_knows_its_document_section_and_lines(ws, place):
    ws.knowledge.add(file(place))
    hit = ws.knowledge.search("renew certificates", 1, ["file"])[0]
    assert (hit.title, hit.section, hit.line_from, hit.line_to) == ("Runbook", "Runbook > Certificates", 9, 9)
    assert hit.source == str(place / "runbook.md")
    assert hit.text == "Renew them with the little robot each month."


def test_a_score_is_the_share_of_the_question_that_is_answered(ws, place):
    ws.knowledge.add(file(place))
    ws.knowledge.add_text("# Tunnels\n\nA tunnel forwards a port to another machine.\n", "me", "Tunnels")

    def score(question, *sources):
        best = ws.knowledge.search(question, 1, sources)[0]
        assert sum(best.parts.values()) == pytest.approx(best.score, abs=0.001)
        return best.score

    assert 0.9 <= score("forward a port") <= 1
    assert 0.8 <= score("renew certificates") <= 1
    assert score("forward a port") == score("forward a port", "solution"), "whichever kinds are searched"
    assert score("forward the violin concerto of a pianist") < 0.4 < score("forward the port concerto")
    assert score("certificates " * 50) <= 1


def test_a_file_that_was_added_in_two_ways_is_found_once(ws, place):
    (place / "page.html").write_text("<title>Robots</title><h1>Robots</h1><p>The little robot renews them.</p>")
    ws.knowledge.add(knowledge_sources.read_path(place / "page.html"))
    ws.knowledge.add(Found([knowledge_sources.saved_page(place / "page.html")], []))
    assert len(titles(ws)) == 2
    assert len(ws.knowledge.search("little robot", 5, ["file", "page"])) == 1


def test_adding_again_changes_only_what_changed(ws, place):
    first = ws.knowledge.add(file(place))
    assert first.operation is not None
    before = dict(ws.knowledge.chunks(first.new[0].id))
    again = ws.knowledge.add(file(place))
    assert (again.operation, again.unchanged) == (None, 1)
    changed = ws.knowledge.add(
        file(place, RUNBOOK.replace("# Runbook\n", "# Runbook\n\nNew.\n").replace("month", "week"))
    )
    after = dict(ws.knowledge.chunks(first.new[0].id))
    kept = before.keys() & after.keys()
    assert [after[key].section for key in kept] == ["Runbook > Reload"]
    assert [after[key].line_from - before[key].line_from for key in kept] == [2]
    assert [one.title for one in changed.changed] == ["Runbook"]
    assert ws.knowledge.search("each week", 1, ["file"])[0].id in after.keys() - before.keys()
    assert "month" not in ws.knowledge.search("robot month", 1, ["file"])[0].text


def test_every_change_is_one_operation_and_comes_back_by_undo_and_redo(ws, place):
    more = file(place, "# Other\n\nWords.\n", "other.md")
    ws.knowledge.add(Found([*file(place).documents, *more.documents], []))
    ids = [key for one in ws.knowledge.documents(own=False) for key, _ in ws.knowledge.chunks(one.id)]
    assert len(ws.log()) == 1
    ws.undo()
    assert titles(ws) == []
    assert ws.knowledge.search("robot", 3, ["file"]) == []
    ws.redo()
    assert [key for one in ws.knowledge.documents(own=False) for key, _ in ws.knowledge.chunks(one.id)] == ids
    ws.knowledge.remove(["Runbook"])
    assert titles(ws) == ["Other"]
    ws.undo()
    assert sorted(titles(ws)) == ["Other", "Runbook"]
    assert ws.knowledge.search("robot", 1, ["file"])[0].title == "Runbook"


def test_an_undo_refuses_a_document_that_changed_since(ws, place):
    first = ws.knowledge.add(file(place)).operation
    ws.knowledge.add(file(place, RUNBOOK + "\nMore.\n"))
    with pytest.raises(Conflict):
        ws.undo(first.id)


def test_what_was_added_is_there_for_the_next_who_opens(ws, place):
    ws.knowledge.add(file(place))
    ws.close()
    with open_workspace(place / "workspace") as other:
        assert other.knowledge.search("robot", 1, ["file"])[0].title == "Runbook"


def test_a_slip_finds_the_word_that_was_meant(ws, place):
    ws.knowledge.add(file(place))
    assert ws.knowledge.search("certifcates", 1, ["file"])[0].section == "Runbook > Certificates"


def test_a_solution_is_kept_with_its_source_and_replaced_by_its_title(ws):
    ws.knowledge.add_text("Raise worker_connections.", "our incident of May", "Too many connections")
    ws.knowledge.add_text("Raise worker_connections, then reload.", "our incident of June", "Too many connections")
    hit = ws.knowledge.search("worker connections", 3, ["solution"])
    assert [(one.title, one.source) for one in hit] == [("Too many connections", "our incident of June")]
    with pytest.raises(BadInput):
        ws.knowledge.add_text("  ", "nowhere")


@pytest.mark.slow
def test_man_pages_are_found_as_man_finds_them(ws, place):
    folder = place / "man" / "man8"
    (folder / "webserver.8").write_text(".so man8/nginx.8\n")
    os.symlink("nginx.8.gz", folder / "httpd.8.gz")
    for name in ("nginx", "nginx.8", "nginx(8)", "webserver", "httpd"):
        found = knowledge_sources.named_manuals([name])
        assert [(one.title, one.about) for one in found.documents] == [("nginx(8)", "HTTP and reverse proxy server")]
    assert len(knowledge_sources.all_manuals().documents) == 1
    for name in ("nosuch", "nginx(1)"):
        with pytest.raises(NotFound):
            knowledge_sources.named_manuals([name])
    with pytest.raises(BadInput):
        knowledge_sources.named_manuals(["../nginx"])


def test_where_nothing_shows_man_pages_each_is_named_as_not_read(place, monkeypatch):
    monkeypatch.setenv("PATH", str(place))
    found = knowledge_sources.named_manuals(["nginx"])
    assert found.documents == []
    assert [problem.what for problem in found.problems] == ["neither man nor mandoc is installed to read it with"]


def test_a_package_tells_what_it_documents_and_not_its_history(ws):
    found = knowledge_sources.named_packages(["nginx"])
    assert [one.title for one in found.documents] == ["nginx: README.md"]
    with pytest.raises(NotFound):
        knowledge_sources.named_packages(["nosuch"])


def test_what_a_python_package_says_of_itself_is_read(monkeypatch):
    monkeypatch.undo()
    found = knowledge_sources.named_packages(["click"])
    assert any(one.title.lower() == "click" and one.chunks for one in found.documents)


@pytest.mark.slow
def test_a_sync_reads_again_what_changed_and_adds_what_is_new(ws, place):
    folder = place / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nFirst.\n")
    ws.knowledge.add(knowledge_sources.read_path(folder))
    ws.knowledge.add(knowledge_sources.all_manuals())
    ws.knowledge.add(file(place))
    nothing = ws.knowledge.sync()
    assert (nothing.operation, nothing.new, nothing.changed) == (None, (), ())
    (folder / "a.md").write_text("# A\n\nSecond.\n")
    (folder / "b.md").write_text("# B\n\nNew.\n")
    (place / "man" / "man8" / "other.8").write_text(".TH O 8\n.SH NAME\nother \\- else\n")
    (place / "runbook.md").write_text(RUNBOOK + "\nMore.\n")
    done = ws.knowledge.sync()
    assert {one.title for one in done.new} == {"B", "other(8)"}
    assert {one.title for one in done.changed} == {"A", "Runbook"}
    (place / "runbook.md").unlink()
    gone = ws.knowledge.sync()
    assert (gone.operation, len(gone.problems)) == (None, 1)
    assert "Runbook" in titles(ws)


def noted_programs(place, monkeypatch):
    """The programs that show man pages; a line for each run goes to the file that is returned."""
    runs, folder = place / "runs", place / "bin"
    folder.mkdir()
    for name in ("man", "mandoc"):
        if program := shutil.which(name):
            (folder / name).write_text(f'#!/bin/sh\necho {name} >> {runs}\nexec {program} "$@"\n')
            (folder / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return runs


@pytest.mark.slow
def test_a_sync_shows_each_man_page_once_and_keeps_what_cannot_be_shown(ws, place, monkeypatch):
    (place / "man" / "man8" / "other.8").write_text(".TH O 8\n.SH NAME\nother \\- else\n")
    ws.knowledge.add(knowledge_sources.named_manuals(["other"]))
    ws.knowledge.add(Found([one for one in knowledge_sources.all_manuals().documents if one.title == "nginx(8)"], []))
    before = [ws.knowledge.chunks(title) for title in ("other(8)", "nginx(8)")]
    shown = noted_programs(place, monkeypatch)
    assert ws.knowledge.sync().operation is None
    assert len(shown.read_text().splitlines()) == 3  # `other` is of all man pages now too
    monkeypatch.setenv("PATH", str(place))
    problems = ws.knowledge.sync().problems
    assert {problem.fix for problem in problems} == {"install man or mandoc"}
    assert [ws.knowledge.chunks(title) for title in ("other(8)", "nginx(8)")] == before


def test_no_sync_brings_back_what_was_taken_away(ws):
    ws.knowledge.add(knowledge_sources.all_manuals())
    ws.knowledge.remove(["nginx(8)"])
    assert ws.knowledge.sync().new == ()
    ws.undo()
    assert titles(ws) == ["nginx(8)"]


def test_a_sync_adds_packages_installed_since_one_was_added(ws, place):
    folder = place / "share" / "doc"

    def install(name):
        (folder / name).mkdir()
        (folder / name / "README.md").write_text(f"# {name}\n\nHow to use {name}.\n")

    install("there-before")
    ws.knowledge.add(file(place))
    assert (ws.knowledge.sync().operation, titles(ws)) == (None, ["Runbook"])
    ws.knowledge.add(knowledge_sources.named_packages(["nginx"]))
    assert ws.knowledge.sync().new == ()
    install("new")
    (folder / "nginx" / "README.md").write_text("# nginx\n\nSites go into sites-enabled.\n")
    done = ws.knowledge.sync()
    assert [one.title for one in (*done.new, *done.changed)] == ["new: README.md", "nginx: README.md"]
    (folder / "new" / "README.md").unlink()
    (folder / "new").rmdir()
    assert [problem.where for problem in ws.knowledge.sync().problems] == ["new"]
    assert [one.title for one in ws.knowledge.add(knowledge_sources.all_packages()).new] == ["there-before: README.md"]


@pytest.mark.slow
def test_who_adds_much_is_told_how_far_it_is(ws, place):
    for number in range(50):
        (place / "man" / "man8" / f"page{number}.8").write_text(f".TH P 8\n.SH NAME\npage{number} \\- says {number}\n")
    told = []
    ws.knowledge.add(
        knowledge_sources.all_manuals(lambda *said: told.append(said)), tell=lambda *said: told.append(said)
    )
    assert {total for _, _, total in told} == {51}
    assert {what for what, _, _ in told} == {"Reading man pages", "Indexing"}


def test_the_pages_of_nanomem_itself_stay(ws):
    own = ws.knowledge.documents()[0]
    assert ws.knowledge.chunks(own.id)
    with pytest.raises(BadInput):
        ws.knowledge.remove([own.id])


def test_nothing_is_fetched_and_what_is_no_text_is_refused(place):
    with pytest.raises(BadInput, match="nothing is fetched"):
        knowledge_sources.read_path(Path("https://example.org/page"))
    (place / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    for read in (knowledge_sources.read_path, knowledge_sources.saved_page):
        with pytest.raises(BadInput):
            read(place / "picture.md")
    with pytest.raises(NotFound):
        knowledge_sources.read_path(place / "nosuch.md")


def test_a_folder_leaves_out_links_and_hidden_files_and_tells_what_it_could_not_read(place):
    folder = place / "notes"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "a.md").write_text("hidden")
    (folder / "bad.md").write_bytes(b"\0\0")
    (folder / "good.txt").write_bytes(b"words \xff and more\n")
    (folder / "program.py").write_text("print()")
    os.symlink("/etc/passwd", folder / "link.md")
    os.symlink("/etc", folder / "others")
    found = knowledge_sources.read_path(folder)
    assert [one.title for one in found.documents] == ["good.txt"]
    assert found.documents[0].chunks[0].text == "words \ufffd and more"
    told = {Path(problem.where).name: problem.severity for problem in found.problems}
    assert told == {"bad.md": "warning", "link.md": "note", "others": "note"}


def test_a_link_is_told_when_its_folder_is_added_and_not_with_every_sync(ws, place):
    (place / "notes").mkdir()
    file(place, name="notes/runbook.md")
    os.symlink("/etc/passwd", place / "notes" / "link.md")
    added = ws.knowledge.add(knowledge_sources.read_path(place / "notes"))
    assert [problem.what for problem in added.problems] == ["a link, which is not followed"]
    assert ws.knowledge.sync().problems == ()


def test_a_folder_of_which_nothing_can_be_read_says_why(place):
    folder = place / "notes"
    folder.mkdir()
    (folder / "bad.md").write_bytes(b"\0\0")
    os.symlink("/etc/passwd", folder / "link.md")
    with pytest.raises(BadInput) as error:
        knowledge_sources.read_path(folder)
    assert "bad.md is left out: no text" in error.value.fix
    assert "link.md is left out: a link" in error.value.fix


def test_a_pack_that_is_added_as_a_file_says_how_it_is_added(place):
    (place / "pack.zip").write_bytes(b"PK\x03\x04\0\0\0")
    with pytest.raises(BadInput, match="no text") as error:
        knowledge_sources.read_path(place / "pack.zip")
    assert error.value.fix == "a pack goes in with --pack"


def three(place):
    """Three documents."""
    return Found(
        [one for name in "abc" for one in file(place, f"# {name}\n\nWords {name}.\n", f"{name}.md").documents], []
    )


@pytest.fixture
def half_done(ws, place, monkeypatch):
    """A workspace in which an addition of three documents was killed after the first."""
    monkeypatch.setattr(base, "BATCH", 1)
    put = knowledge.put

    def killed(*args):
        if titles(ws):
            os._exit(9)
        put(*args)

    child = fork()
    if not child:
        monkeypatch.setattr(knowledge, "put", killed)
        with contextlib.suppress(BaseException):
            ws.knowledge.add(three(place))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    return place / "workspace"


def test_an_addition_that_was_killed_half_done_is_finished_by_who_opens_next(half_done):
    with open_workspace(half_done) as other:
        other.store.settle()
        assert titles(other) == ["a", "b", "c"]


def test_an_addition_that_was_killed_half_done_can_be_undone(half_done):
    with open_workspace(half_done) as other:
        other.undo()
        assert titles(other) == []
        other.redo()
        assert titles(other) == ["a", "b", "c"]


def test_an_addition_that_was_killed_half_done_is_one_operation_when_it_is_made_again(half_done, place):
    with open_workspace(half_done) as other:
        again = other.knowledge.add(three(place))
        assert (again.operation, again.unchanged) == (None, 3)
        other.undo()
        assert titles(other) == []


def test_an_addition_that_somebody_interrupts_is_taken_back(ws, place, monkeypatch):
    ws.knowledge.add(file(place))
    monkeypatch.setattr(base, "BATCH", 1)

    told = []

    def tell(what, done, total):
        told.append((what, done))
        if told.count(("Indexing", 2)) == 1 and told[-1] == ("Indexing", 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ws.knowledge.add(three(place), tell=tell)
    assert titles(ws) == ["Runbook"]
    ws.undo()
    assert titles(ws) == []


def test_an_addition_that_fails_half_way_is_taken_back_and_a_sync_may_add_it_later(ws, place, monkeypatch):
    folder = place / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# a\n\nWords.\n")
    ws.knowledge.add(knowledge_sources.read_path(folder))
    for name in "bcd":
        (folder / f"{name}.md").write_text(f"# {name}\n\nWords.\n")
    monkeypatch.setattr(base, "BATCH", 1)
    with monkeypatch.context() as broken:
        put = knowledge.put

        def full(connection, one, chunks):
            if one.title == "d":
                raise DiskFull("no space left")
            put(connection, one, chunks)

        broken.setattr(knowledge, "put", full)
        with pytest.raises(DiskFull):
            ws.knowledge.add(knowledge_sources.read_path(folder))
    assert titles(ws) == ["a"]
    assert {one.title for one in ws.knowledge.sync().new} >= {"b", "c", "d"}
