"""Files in other encodings and with other line ends: read everywhere without a mark of it, and kept so by our edits."""

import io
import json
import sys

import pytest

CODECS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"]
NOTE = "# Memory\n\n## Home\n- The café opens at 8\n"


def encoded(text, codec, ends="\n"):
    mark = b"\xfe\xff" if codec == "utf-16-be" else b""
    return mark + text.replace("\n", ends).encode(codec)


def clean(text):
    return not any(mark in text for mark in ("\0", "\r", "\ufeff", "\ufffd", "␍", "␀", "U+FEFF"))


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace without a memory."""
    folder = tmp_path / "empty"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Soul\n")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(folder))
    return folder


@pytest.fixture
def memory(workspace):
    return workspace / "memory"


@pytest.fixture
def begin(workspace, run, monkeypatch):
    """The block of a turn with that message, as an agent gets it."""

    def block(text):
        asked = json.dumps({"channel": "cli", "chat_id": "1", "text": text}).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(asked), encoding="utf-8"))
        return str(run("turn", "begin").json["block"])

    return block


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", CODECS)
def test_a_memory_file_is_one_memory_without_a_mark(run, memory, codec, ends):
    (memory / "MEMORY.md").write_bytes(encoded(NOTE, codec, ends))
    assert run("memory", "backfill", "--yes").code == 0
    assert [one["text"] for one in run("memory", "list", "--json").json] == ["The café opens at 8"]
    found = run("memory", "search", "--query", "café", "--json").json
    assert [clean(one["text"]) for one in found] == [True]


@pytest.mark.parametrize(
    ("codec", "ends"), [("utf-8-sig", "\r\n"), ("utf-16", "\n"), ("utf-16-be", "\r\n"), ("utf-8", "\r")]
)
def test_the_block_of_a_turn_has_no_mark(memory, begin, codec, ends):
    before = encoded(NOTE, codec, ends)
    (memory / "MEMORY.md").write_bytes(before)
    block = begin("when does the café open?")
    assert "The café opens at 8" in block
    assert clean(block)
    assert (memory / "MEMORY.md").read_bytes() == before


def test_nul_bytes_of_a_power_cut_get_into_no_memory_and_no_block(run, memory, begin):
    (memory / "MEMORY.md").write_bytes(NOTE.encode() + b"\0" * 35 + b"\n- Ana likes\0\0 green tea\n\0\0\0")
    assert clean(begin("hello there"))
    assert {one["text"] for one in run("memory", "list", "--json").json} == {
        "Ana likes green tea", "The café opens at 8"
    }  # fmt: skip
    assert "NUL bytes" in run("doctor").out


@pytest.mark.parametrize(("name", "codec"), [("a.md", "utf-16"), ("a.txt", "utf-16-be"), ("a.md", "utf-8-sig")])
def test_an_import_reads_the_encoding_of_the_file(run, memory, tmp_path, name, codec):
    path = tmp_path / name
    path.write_bytes(encoded("Ana lives in Évora\n", codec, "\r\n"))
    assert run("memory", "import", path, "--yes").code == 0
    assert [one["text"] for one in run("memory", "list", "--json").json] == ["Ana lives in Évora"]


@pytest.mark.parametrize(("codec", "ends"), [("utf-16", "\n"), ("utf-8-sig", "\r\n"), ("utf-8", "\r\n")])
def test_notes_and_files_are_found_and_shown_without_a_mark(run, memory, codec, ends):
    (memory / "2026-02-21.md").write_bytes(encoded(NOTE, codec, ends))
    (memory.parent / "USER.md").write_bytes(encoded(NOTE, codec, ends))
    shown = run("files", "show", "USER.md")
    assert shown.out.rstrip("\n") == NOTE.rstrip("\n")
    found = run("recall", "café", "--in", "notes")
    assert "The café opens at 8" in found.out
    assert clean(found.out)
    assert clean(run("find", "café").out)


def test_doctor_names_a_file_in_utf_16_makes_it_utf_8_and_undo_brings_it_back(run, memory):
    path = memory / "MEMORY.md"
    before = encoded(NOTE, "utf-16", "\r\n")
    path.write_bytes(before)
    told = run("doctor")
    assert (told.code, "this file is UTF-16" in told.out, "NUL" in told.out) == (1, True, False)
    assert run("doctor", "--fix", "--yes").code == 0
    assert path.read_bytes() == encoded(NOTE, "utf-8", "\r\n")
    assert run("undo").code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(("codec", "ends"), [("utf-16", "\r\n"), ("utf-8-sig", "\n"), ("utf-8", "\r\n")])
def test_a_dream_and_its_restore_keep_the_form_of_a_file(run, memory, codec, ends):
    path = memory / "MEMORY.md"
    before = encoded(NOTE, codec, ends)
    path.write_bytes(before)
    (memory.parent / "SOUL.md").write_text("# Soul\n")
    entry = {"cursor": 1, "timestamp": "2026-07-23 15:35", "content": "- [permanent] n8n runs on port 5888."}
    (memory / "history.jsonl").write_text(json.dumps(entry) + "\n")
    (memory / ".cursor").write_text("1")
    (memory / ".dream_cursor").write_text("0")
    assert run("dream", "run").code == 0
    after = path.read_bytes()
    mark = encoded("", codec)
    text = after.removeprefix(mark).decode("utf-16-le" if codec == "utf-16" else "utf-8")
    assert after.startswith(before)
    assert "- n8n runs on port 5888." in text
    assert text.count("\n") == text.count(ends)
    [newest, *_] = run("dream", "log", "--json").json
    assert "n8n" in run("dream", "show", newest["sha"]).out
    assert clean(run("blame", "MEMORY.md").out)
    assert run("dream", "restore", newest["sha"], "--yes").code == 0
    assert path.read_bytes() == before


def test_an_archive_in_utf_16_is_read_and_doctor_takes_nothing_out(run, memory):
    path = memory / "history.jsonl"
    entry = {"cursor": 1, "timestamp": "2026-07-23 15:35", "content": "the café"}
    line = json.dumps(entry, ensure_ascii=False)
    path.write_bytes(encoded(line + "\n", "utf-16", "\r\n"))
    assert [one["text"] for one in run("history", "list", "--json").json] == ["the café"]
    assert run("doctor", "--fix", "--yes").out.count("Fixed: memory/history.jsonl") == 1
    assert json.loads(path.read_bytes()) == entry


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-32"])
def test_a_session_in_utf_16_is_read_and_doctor_takes_nothing_out(run, workspace, codec):
    lines = (
        '{"_type": "metadata", "key": "telegram:7", "created_at": "2026-03-01T10:00:00", "metadata": {}}\n'
        '{"role": "user", "content": "the café", "timestamp": "2026-03-01T10:00:00"}\n'
        '{"role": "assistant", "content": "at 8", "timestamp": "2026-03-01T10:00:01"}\n'
    )
    path = workspace / "sessions" / "telegram_7.jsonl"
    path.parent.mkdir()
    path.write_bytes(before := encoded(lines, codec))
    shown = run("session", "show", "telegram:7").out
    assert "the café" in shown
    assert "at 8" in shown
    assert "UTF-" in run("doctor").out
    run("doctor", "--fix", "--yes")
    assert path.read_text() == lines
    assert run("undo").code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("codec", CODECS)
def test_an_items_file_of_an_agent_is_read_in_its_encoding(run, memory, codec):
    item = {"id": "ltm_1", "text": "likes café", "source": "explicit_user", "updated_at": "2026-03-01T10:00:00"}
    text = json.dumps({"version": 1, "items": [item]}, ensure_ascii=False)
    (memory / "LTM_SNAPSHOT.json").write_bytes(encoded(text, codec))
    assert [one["text"] for one in run("memory", "list", "--json").json] == ["likes café"]
    assert ("UTF-16" in run("doctor").out) == (codec not in ("utf-8", "utf-8-sig"))


def test_a_list_of_entries_or_a_comma_between_them_costs_none(run, memory):
    entries = [
        json.dumps({"cursor": n, "timestamp": "2026-03-01 10:00", "content": f"- fact {n}"}) for n in range(1, 6)
    ]
    one, two, three, four, five = entries
    (memory / "history.jsonl").write_text(f"{one}, {two}\n[{three}, {four}]\n{five},\n")
    assert [entry["cursor"] for entry in run("history", "list", "--json").json] == [5, 4, 3, 2, 1]
    run("doctor", "--fix", "--yes")
    assert [entry["cursor"] for entry in run("history", "list", "--json").json] == [5, 4, 3, 2, 1]
