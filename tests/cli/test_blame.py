"""`nanomem blame`: tables that fit, hostile lines that stay text, one line for every mistake."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.text import cell_width
from tests.store.git_samples import sample

HOSTILE = "- evil \x1b]52;c;AAAA\x07 \x1b[2J \u202e [/b] [@click=app.quit]x[/] 中文"


@pytest.fixture
def nb035(tmp_path):
    return sample("nb035", tmp_path).workspace


@pytest.mark.parametrize("file", ["SOUL.md", "user.md", "MEMORY.md", "memory/MEMORY.md", "./USER.md"])
def test_a_file_is_a_table_of_its_lines_that_fits(run, nb035, file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = run("blame", file, "--workspace", nb035)
    rows = found.out.split("\n\n")[0].rstrip("\n").split("\n")
    name = next(path for path in nb035.rglob("*.md") if path.name.lower() == file.rpartition("/")[2].lower())
    assert (found.code, found.err) == (0, "")
    assert rows[0].split() == ["Line", "Commit", "Who", "When", *rows[0].split()[4:]]
    assert len(rows) == 1 + len(name.read_text().rstrip("\n").split("\n"))
    assert all(cell_width(row) <= 80 for row in found.out.split("\n"))


def test_one_line_tells_its_whole_way(run, nb035):
    found = run("blame", "MEMORY.md:10", "--workspace", nb035)
    assert found.code == 0
    for said in (
        "Brought back   2025-09-12",
        "a303f8f1",
        "First written",
        "49e6285a",
        "#111",
        "cli:direct",
        "7d/4w/12m",
    ):
        assert said in found.out


def test_the_json_of_a_file_is_a_list_and_of_a_line_an_object(run, nb035):
    rows = run("blame", "MEMORY.md", "--json", "--workspace", nb035).json
    one = run("blame", "MEMORY.md:10", "--json", "--workspace", nb035).json
    assert one == rows[9]
    assert [row["line"] for row in rows] == list(range(1, 21))
    assert set(one) == {
        "file", "line", "text", "commit", "at", "who", "author", "subject", "accepted", "first", "cursors", "guessed",
        "gone", "entries", "session_key", "messages",
    }  # fmt: skip
    assert (one["commit"][:8], one["first"]["commit"][:8], one["cursors"]) == ("a303f8f1", "49e6285a", [111])


def test_entries_that_no_dream_recorded_are_marked_as_a_guess(run, nb035):
    found = run("blame", "MEMORY.md:10", "--json", "--workspace", nb035).json
    assert (found["guessed"], [entry["recorded"] for entry in found["entries"]]) == (True, [False])
    table = run("blame", "MEMORY.md", "--workspace", nb035).out
    assert " ~#111 " in table
    assert "a guess, no Dream recorded them" in table
    one = run("blame", "MEMORY.md:10", "--workspace", nb035).out
    assert "may have asked for it (a guess, by the words they share" in " ".join(one.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["blame", "nothing.md"], "one of SOUL.md, USER.md, memory/MEMORY.md"),
        (["blame", "history.jsonl:3"], "not a file with versions"),
        (["blame", "USER.md:16"], "the file has 15 lines"),
        (["blame", "USER.md:0"], "no such line"),
        (["blame"], "name a file"),
        (["blame", "--session", "cli:direct"], "--session and --message go together"),
        (["blame", "--message", "2"], "--session and --message go together"),
        (["blame", "--session", "cli:direct", "--message", "99"], "its messages are 0 to 15"),
        (["blame", "--session", "no\x1b[2Jsuch", "--message", "0"], "no such session"),
        (["blame", "--session", "cli:direct", "--message", "-1"], "--message"),
    ],
)
def test_a_mistake_is_one_line_on_stderr(run, nb035, words, said):
    found = run(*words, "--workspace", nb035)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert found.err.count("\n") == 1
    assert "\x1b" not in found.err


def test_a_message_that_led_nowhere_ends_with_1(run, nb035):
    found = run("blame", "--session", "cli:direct", "--message", "0", "--workspace", nb035)
    assert (found.code, found.err) == (1, "")
    assert "no line" in found.out
    asked = run("blame", "--session", "cli:direct", "--message", "0", "--json", "--workspace", nb035)
    assert (asked.code, asked.json) == (1, [])


def test_the_way_back_from_a_message_and_only_in_the_file_that_is_named(run, tmp_path):
    from nanomem_tui.agents.session_names import key_to_name

    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "USER.md").write_text("# User Profile\n")
    (tmp_path / "home" / "config.json").write_text("{}")
    entry = {"cursor": 1, "timestamp": "2026-04-01 10:05", "session_key": "cli:direct"}
    entry["content"] = "- [permanent] Allergic to penicillin"
    (workspace / "memory" / "history.jsonl").write_text(json.dumps(entry) + "\n")
    message = {"role": "user", "content": "I am allergic to penicillin", "timestamp": "2026-04-01T10:00:00"}
    (workspace / "sessions").mkdir()
    head = {"_type": "metadata", "key": "cli:direct", "created_at": "2026-04-01T10:00:00", "metadata": {}}
    (workspace / "sessions" / key_to_name("cli:direct")).write_text(f"{json.dumps(head)}\n{json.dumps(message)}\n")
    run("dream", "run", "--workspace", workspace)
    back = ["blame", "--session", "cli:direct", "--message", "0", "--workspace", workspace]
    found = run(*back)
    assert found.code == 0
    assert "USER.md:" in found.out
    assert "penicillin" in found.out
    assert run(*back, "SOUL.md").code == 1
    assert [row["text"] for row in run(*back, "USER.md", "--json").json] == ["- Allergic to penicillin"]


@pytest.mark.parametrize("words", [[], ["--json"]])
@pytest.mark.parametrize("place", ["USER.md", "USER.md:1"])
def test_no_line_reaches_the_terminal_as_a_command(run, tmp_path, words, place, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "USER.md").write_text(HOSTILE + "\n")
    with open_workspace(workspace) as ws:
        assert ws.dream.blames.blame("USER.md")[0].text == HOSTILE
    found = run("blame", place, *words, "--workspace", workspace)
    assert found.code == 0
    assert not set(found.out) & set("\x1b\x07\u202e")
    assert words or all(cell_width(row) <= 80 for row in found.out.split("\n"))


def test_a_session_option_of_a_folder_that_is_no_workspace_is_one_line(run, tmp_path):
    found = run("blame", "USER.md", "--workspace", tmp_path)
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)


def test_a_line_that_a_person_accepted_names_them_and_the_evidence_of_the_dream(run, tmp_path):
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    entry = {"cursor": 1, "timestamp": "2026-04-01 10:05", "content": "- [durable] Lives in Berlin"}
    (folder / "memory" / "history.jsonl").write_text(json.dumps(entry) + "\n")
    with open_workspace(folder) as ws:
        ws.dream.run(review=True)
        ws.dream.review.accept([ws.dream.review.waiting()[0].id])
        number = next(line.number for line in ws.dream.blames.blame("USER.md") if "Berlin" in line.text)
    told = run("blame", f"USER.md:{number}", "--workspace", folder).out
    for said in ("by a person, who accepted what a Dream proposed", "(it named them)", "#1 2026-04-01 10:05"):
        assert said in told
    assert " accepted " in run("blame", "USER.md", "--workspace", folder).out
    one = run("blame", f"USER.md:{number}", "--json", "--workspace", folder).json
    assert (one["who"], one["accepted"], one["cursors"]) == ("person", True, [1])
