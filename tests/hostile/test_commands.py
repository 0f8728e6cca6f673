"""No command sends a terminal what a memory, a file's name or its own arguments hold, and none of them blocks."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.hostile.commands import commands, line_of, on_a_terminal
from tests.snapshots import hostile

pytestmark = pytest.mark.slow

WORDS = hostile.everything() + " \udc9b2J \udcff ../../x"
OURS = {"\n", "\t"}
NAMES = ("id", "key", "name", "cursor", "session_key", "path", "file", "sha", "session")


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory):
    return hostile.build(tmp_path_factory.mktemp("hostile") / ".nanobot").parent


@pytest.fixture
def workspace(hostile_home, tmp_path):
    return moved_in(hostile_home, tmp_path)


def moved_in(built, folder):
    """The workspace of a copy of a home, which is the agent's own."""
    home = folder / ".nanobot"
    shutil.copytree(built, home, symlinks=True)
    (home / "config.json").write_text(json.dumps({"agents": {"defaults": {"workspace": str(home / "workspace")}}}))
    return home / "workspace"


def obeyed(raw):
    """What a terminal would obey, or a reader not see, of what came out; an escape sequence of colour too."""
    said = raw.replace(b"\r\x1b[K", b"").replace(b"\r\n", b"\n").decode("utf-8", "replace")  # our own line of progress
    controls = {c for c in said if (ord(c) < 32 and c not in OURS) or 0x7F <= ord(c) <= 0x9F}
    return controls | (set(said) & set(hostile.FORBIDDEN_CHARACTERS))


def faults(answers):
    """Each answer that is not words and an exit code, one line for each."""
    found = []
    for line, raw, code in answers:
        named = ascii(" ".join(line))[:120]
        if code not in {0, 1, 2}:
            found.append(f"{named}: ended with {code}: {raw[-200:]!r}")
        if bad := obeyed(raw):
            found.append(f"{named}: {sorted(map(ascii, bad))} came out")
        if b"Traceback" in raw:
            found.append(f"{named}: {raw[-300:]!r}")
        if "--json" in line and code == 0 and not raw.startswith(b"Usage: ") and not parses(raw):
            found.append(f"{named}: no JSON: {raw[:200]!r}")
    return found


def document(raw):
    """The JSON document after the notes that went to stderr; an error when there is none."""
    lines = raw.replace(b"\r\n", b"\n").decode().split("\n")
    first = next((number for number, line in enumerate(lines) if line[:1] in {"{", "[", '"'}), 0)
    return json.JSONDecoder().raw_decode("\n".join(lines[first:]))[0]


def parses(raw):
    """Whether there is such a document."""
    try:
        document(raw)
    except ValueError:
        return False
    return True


def read_lines():
    """Every command without anything that it does not need, and every list as JSON too."""
    lines = []
    for path, command in commands():
        line = line_of(path, command, WORDS)
        at = line.index("--") if "--" in line else len(line)
        lines += [line, [*line[:at], "--json", *line[at:]]]
    return lines


def hostile_lines():
    """The same, and every command with an option that it does not have."""
    return read_lines() + [[*path, f"--{WORDS}"] for path, _ in commands()]


def shown_lines(workspace, scratch):
    """`show`, `history` and the like of what the lists beside them name."""
    known = dict(commands())
    lists = [path for path in known if path[-1] == "list"]
    listed = on_a_terminal(workspace, [[*path, "--json"] for path in lists], scratch)
    lines = []
    for path, (_, raw, code) in zip(lists, listed, strict=True):
        if code != 0 or not parses(raw):
            continue
        rows = document(raw)
        while isinstance(rows, dict):
            rows = next((value for value in rows.values() if isinstance(value, list)), [])
        named = [row for row in rows if isinstance(row, dict)][:15]
        ids = [str(next((row[name] for name in NAMES if row.get(name)), "")) for row in named]
        for name in ("show", "history"):
            if (*path[:-1], name) in known:
                asked = [*path[:-1], name]
                lines += [[*asked, *as_json, "--", one] for one in ids for as_json in ([], ["--json"])]
    return lines


def test_a_few_commands_send_the_terminal_nothing_of_a_memory(workspace, tmp_path):
    lines = [["memory", "list"], ["memory", "list", "--json"], ["session", "list"], ["dream", "log"], ["files", "list"],
             ["record", "goal", "list"], ["session", "show", "--", WORDS], ["--" + WORDS]]  # fmt: skip
    assert faults(on_a_terminal(workspace, lines, tmp_path)) == []


@pytest.mark.slow
def test_every_command_sends_the_terminal_nothing_of_a_memory_and_of_its_arguments(workspace, tmp_path):
    lines = hostile_lines()
    assert len(lines) > 500
    assert faults(on_a_terminal(workspace, lines, tmp_path)) == []


@pytest.mark.slow
def test_all_that_the_lists_name_is_shown_without_an_escape(workspace, tmp_path):
    lines = shown_lines(workspace, tmp_path)
    assert len(lines) > 100
    assert faults(on_a_terminal(workspace, lines, tmp_path)) == []


CHANGING = (
    ["memory", "add", "--text"], ["memory", "lessons", "add", "--action", "x", "--trigger"],
    ["journal", "add", "--text"],
    ["facts", "set", "--category", "c", "--key", "k", "--value"], ["bookmarks", "add", "items"],
    ["record", "goal", "add", "--data"], ["scopes", "move", "--to", "global"], ["inbox", "accept"], ["inbox", "reject"],
    ["memory", "disable"], ["memory", "pin"], ["memory", "delete", "--yes"],
    ["session", "compact", "--keep", "1", "--yes"], ["wal", "recover", "--yes"], ["knowledge", "remove", "--yes"],
)  # fmt: skip


@pytest.mark.slow
def test_what_is_really_changed_is_told_without_an_escape(workspace, tmp_path):
    """Each change made, by words of an attack and by ids that are there, then taken back."""
    known = {"/".join(path) for path, _ in commands()}
    ids = [document(raw) for _, raw, _ in on_a_terminal(workspace, [["memory", "list", "--json"]], tmp_path)]
    named = [row["id"] for row in ids[0]][:3]
    lines: list[list[str]] = []
    for line in CHANGING:
        assert any("/".join(line[:size]) in known for size in (1, 2, 3)), line
        given = named if line[0] in ("scopes", "memory") and line[1] != "add" else [WORDS]
        end = [] if line[-1].startswith("--") and line[-1] != "--yes" else ["--"]
        lines += [[*line, *end, one] for one in given]
    lines += [["--run-dream"], ["memory", "compact", "--yes"], ["memory", "flush"], ["doctor", "--fix", "--yes"],
              ["scrub", "--mask", "--yes"], ["forget", "--yes", "--text", "HOSTILETITLE"], ["backup", "make"],
              ["memory", "export", "--to", str(tmp_path / "o.json")],
              ["memory", "import", str(tmp_path / "o.json"), "--yes"],
              ["log"], ["log", "--verify"], *[["undo"], ["redo"], ["undo"]] * 4]  # fmt: skip
    answers = on_a_terminal(workspace, lines, tmp_path)
    assert faults(answers) == []
    assert sum(code == 0 for _, _, code in answers) > 15
