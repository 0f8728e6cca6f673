"""The console in a real terminal: a whole session of curation, and a memory that attacks the reader's terminal."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.workspace import open_workspace
from tests.snapshots import hostile
from tests.snapshots.terminal import nanomem

pytestmark = pytest.mark.slow

# Textual's own: the shape of the mouse pointer, one word of letters.
POINTER = re.compile(rb"\x1b\]22;[a-z-]*\x07")
QUIET = 0.05  # seconds without a byte after which a key has done what it does
ESC, ENTER, TAB, SAVE = "\x1b", "\r", "\t", "\x13"


def told(workspace, *arguments):
    """What a fresh process says."""
    command = [sys.executable, "-m", "nanomem_tui", "--workspace", str(workspace), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    return json.loads(done.stdout)


def leave(console, text):
    """Close a dialog, or give a filter up. A key right after esc would be a key with alt, so wait until it is gone."""
    console.type(ESC)
    console.hides(text)


@pytest.mark.slow
def test_a_whole_session_of_curation(pictured_home, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # whose console was never opened
    home = tmp_path / ".nanobot"
    shutil.copytree(pictured_home, home, symlinks=True)
    workspace = home / "workspace"
    with open_workspace(workspace) as ws:
        total = ws.items.count()["total"]
        lessons = ws.lessons.all()
        at = next(number for number, lesson in enumerate(lessons) if lesson.enabled)
        lesson = lessons[at]
        sessions = ws.layout.sessions_dir
    assert sessions is not None
    session = sessions / key_to_name("telegram:20417")
    lines = len(session.read_bytes().splitlines())

    with nanomem(workspace, 100, 30) as console:
        console.shows("1 Memory", "q quit", f"{total}", "hides this")
        leave(console, "hides this")  # the lines for who is here for the first time
        # Find one item and edit it.
        console.press("/", "/ ")
        console.press("dentist at 9:15", "1 of ")
        console.press(ENTER, "Tomorrow: dentist at 9:15")
        console.press("e", "^s save")
        console.press(", bring the form", "bring the form")
        console.press(SAVE, "u undoes it")
        leave(console, f" of {total}")
        # Disable a lesson.
        console.press("2", lesson.trigger[:16])
        console.press("j" * at + "x", "u undoes it")
        # Delete an item, and think better of it.
        console.press("1", "1 Memory")
        console.press("/", "/ ")
        console.press("brb lunch", "1 of ")
        console.press(ENTER, "brb lunch")
        console.press("d", "0 of ")
        console.press("u", "1 of ")
        leave(console, f" of {total}")
        # Shorten a conversation, after a look.
        console.press("3", "telegram:20417", "o memories")
        console.press("c", "Keep how many of the 8 messages", "300")
        console.press("4" + ENTER, "8 → 4", "yes, do it")
        console.press("y", "u undoes it")
        # Save, and leave.
        console.press(SAVE, "aved")
        console.type("q")
        assert console.ends() == 0
        assert console.raw.rstrip().endswith((b"\x1b[?1049l", b"\x1b[?25h")) or b"\x1b[?1049l" in console.raw

    found = told(workspace, "memory", "search", "--query", "dentist")
    assert "Tomorrow: dentist at 9:15, bring the form" in json.dumps(found)
    status = told(workspace, "memory", "status")
    assert status["items"]["total"] == total
    assert status["checkpoint"]["dirty"] == 0
    with open_workspace(workspace) as ws:
        assert not ws.lessons.get(lesson.id).enabled
        assert any(item.text == "brb lunch" for item in ws.items.all())
    assert len(session.read_bytes().splitlines()) == lines - 4
    assert len(told(workspace, "log")) >= 4


@pytest.mark.slow
def test_keys_typed_while_it_starts_are_not_lost(pictured_home, tmp_path):
    home = tmp_path / ".nanobot"
    shutil.copytree(pictured_home, home, symlinks=True)
    with nanomem(home / "workspace") as console:
        console.until(lambda: b"\x1b[?1049h" in console.raw, "the first frame")
        console.type("jjj3")
        console.shows("3 Sessions", "telegram:20417")
        console.type("1")
        console.until(lambda: "▸" in console.text.split("\n")[6], "the cursor is on the fourth item")


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory):
    return hostile.build(tmp_path_factory.mktemp("hostile") / ".nanobot")


def harmless(console):
    """Nothing that came out is obeyed by a terminal in a way that the console did not mean."""
    raw = POINTER.sub(b"", console.raw)
    for payload in hostile.FORBIDDEN:
        assert payload not in raw, f"{payload!r} came out"
    written = raw.decode("utf-8", "replace")
    for character in hostile.FORBIDDEN_CHARACTERS:
        assert character not in written, f"{character!r} came out"


def walk(console, *rows):
    """Go through a list and its details; each key when all that the one before it does has been drawn."""
    for keys in rows:
        console.type(keys)
        while console.read(QUIET):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 200])
def test_nothing_in_a_memory_reaches_the_terminal(hostile_home, tmp_path, columns):
    home = tmp_path / ".nanobot"
    shutil.copytree(hostile_home.parent, home, symlinks=True)
    # A wide screen shows the detail of each row; on a narrow one the list shows every attack, and one row is opened.
    down = ["j"] * (len(hostile.ATTACKS) if columns > 100 else 2)
    with nanomem(home / "workspace", columns, 40) as console:
        console.shows("1 Memory", "clipboard-before ␛]52;c;SE9TVElMRQ==␇CLIPBOARD-after"[:30], "q quit")
        console.shows("[/foo][@click=app.quit]"[:12])
        walk(console, *down, ENTER, "G", TAB)
        console.press("2", "2 Lessons", "before")
        walk(console, *down, ENTER, "G", TAB)
        console.press("3", "3 Sessions", "cli:clipboard")
        walk(console, *down, ENTER, "g", "n", ENTER, "n", ENTER, "n", ENTER, "G", TAB)
        console.press("F", "Find in all")
        console.press("after", " found")
        walk(console, "\x1b[B", "\x1b[B", ENTER)
        console.hides("Find in all")
        walk(console, TAB)
        console.press("c", "Keep how many")
        console.press("1" + ENTER, "begins with")
        console.press("n", "3 Sessions")
        console.press("[", "Notes", "clipboard-before")
        walk(console, ENTER, "G", TAB)
        console.press("3", "cli:clipboard")
        console.press("]", "Summaries", "waits")
        walk(console, *down, ENTER, "G", TAB)
        console.press("4", "4 WAL", "cli:")
        walk(console, *down, ENTER, "g", "n", TAB)
        console.press("5", "5 Dreams", "dream:")
        walk(console, *down, "g", ENTER, "G", TAB)
        console.press("t", "Take back")
        leave(console, "Take back")
        console.press("T", "Review", "No edit proposed")
        walk(console, TAB, "G", TAB)
        console.press("1", "clipboard")
        console.press("]", "Fact")
        console.press("]", "who the agent is")
        walk(console, ENTER, "G", TAB)
        console.press("e", "Edit SOUL.md")
        leave(console, "Edit SOUL.md")
        console.press("1", "clipboard")
        console.press("]", "Facts", "before")
        walk(console, *["j"] * 4, *down, "O", "O", "G", ENTER, "n", "n", "G", TAB, "s", *down)
        console.press("3", "cli:clipboard")
        console.press("]", "Summaries")
        console.press("]", "Journal", "before")
        walk(console, *down, ENTER, "G", TAB)
        console.press("2", "2 Lessons")
        console.press("]", "Reflections", "before")
        walk(console, *down, ENTER, "G", TAB)
        console.press("e", "INSIGHT")
        leave(console, "INSIGHT")
        console.press("9", "9 System")
        console.press("]", "Usage", "2025-01-02")
        walk(console, ENTER, "G", TAB, "B", "G", "B", "G", ENTER, "G", TAB)
        console.press("8", "8 Work", "Lifecycle")
        walk(console, "j", TAB, "n", ENTER, "G", TAB, "k", TAB, "n", ENTER, "G", TAB)
        walk(console, *["j"] * 5, ENTER)
        console.shows("Records", "Tool calls")
        walk(console, *down, ENTER, "n", ENTER, "n", ENTER, "G", TAB)
        console.press("e", "DESCRIPTION")
        leave(console, "DESCRIPTION")
        console.press("9", "9 System")
        walk(console, *["j"] * 12)
        console.press("U", "History")
        console.press("?", "Keys of")
        leave(console, "Keys of")
        console.type("q")
        assert console.ends() == 0
        harmless(console)


@pytest.mark.slow
def test_the_proof_would_see_an_attack(hostile_home):
    with nanomem(hostile_home) as console:
        console.shows("1 Memory")
        console.raw += hostile.everything().encode()
        with pytest.raises(AssertionError, match="came out"):
            harmless(console)
