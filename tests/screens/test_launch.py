"""The console in a real terminal: its first frame, keys typed too early, silence, and every way to its end."""

import os
import signal
import sys

import pytest

from benchmarks._pty import Terminal
from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput
from nanomem_tui.launch import rows_frame, snapshot_screen, words_frame
from nanomem_tui.store.values import Item
from tests.hygiene.repository import ROOT

pytestmark = pytest.mark.slow

START = "from nanomem_tui.__main__ import main; raise SystemExit(main())"
FOOTER = "compact"  # only the app itself names this key


def start(workspace, before="", size=(80, 24)):
    """The console in a pseudo-terminal; `before` is Python run first."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env = {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
    return Terminal([sys.executable, "-c", before + START, "--workspace", str(workspace)], size=size, env=env)


def enabled(workspace):
    with open_workspace(workspace) as ws:
        return [bool(item.enabled) for item in ws.items.all()]


def test_keys_typed_before_the_app_is_there_are_done_in_order(demo):
    with start(demo) as console:
        console.wait_for("Items")  # the first frame, long before the app
        console.send("jx")
        console.wait_for("undoes it")
        console.send("q")
        console.wait_end()
        assert console.status == 0
        assert "jx" not in console.text
    assert enabled(demo)[1] is False


def test_the_first_rows_come_before_textual(demo):
    watch = (
        "import sys, nanomem_tui.launch as launch; show = launch.Ending.show\n"
        "def watched(self, frame):\n"
        "    show(self, frame); heavy = {'textual', 'sqlmodel', 'rapidfuzz'} & set(sys.modules)\n"
        "    import os; os.write(2, b'heavy:' + str(sorted(heavy)).encode())\n"
        "launch.Ending.show = watched\n"
    )
    with start(demo, watch) as console:
        console.wait_for(FOOTER)
        assert console.text.count("heavy:[]") == 2
        assert "heavy:['" not in console.text


def test_reading_and_browsing_load_no_writing_side_of_the_database(demo):
    watch = (
        "import sys, nanomem_tui.app as app; leave = app.NanomemApp.do_quit\n"
        "def watched(self):\n"
        "    leave(self); import os; os.write(2, b'heavy:' + str('sqlmodel' in sys.modules).encode())\n"
        "app.NanomemApp.do_quit = watched\n"
    )
    with start(demo, watch) as console:
        console.wait_for(FOOTER)
        console.press("j")
        console.send("q")
        console.wait_end()
        assert "heavy:False" in console.text


@pytest.mark.slow
def test_an_idle_console_writes_nothing(demo):
    with start(demo) as console:
        console.wait_for("no agent")
        for _ in range(40):  # what belongs to the start may come late; then there is nothing more
            if not console.drain(quiet=1.5, limit=3):
                return
        pytest.fail(f"it never stops writing: {console.text[-500:]!r}")


ENDS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGUSR1, signal.SIGALRM]


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_saves_restores_the_terminal_and_ends(demo, number):
    with start(demo) as console:
        console.wait_for(FOOTER)
        console.send("x")
        console.wait_for("undoes it")
        console.signal(number)
        console.wait_end()
        assert console.status == 128 + number
        assert console.left_on == []
        assert console.echoes()
    assert enabled(demo)[0] is False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_signal_during_the_start_restores_the_terminal(demo, number):
    with start(demo) as console:
        console.wait_for("Items")
        console.signal(number)
        console.wait_end()
        assert console.status == 128 + number
        assert console.left_on == []
        assert console.echoes()


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGHUP])
def test_a_signal_keeps_what_was_being_typed(demo, number):
    with start(demo) as console:
        console.wait_for(FOOTER)
        console.send("e")
        console.wait_for("leave")
        console.send("half a thought")
        console.wait_for("thought")
        console.signal(number)
        console.wait_end()
        assert console.status == 128 + number
        assert console.left_on == []
        assert console.echoes()
    with start(demo) as console:
        console.wait_for(FOOTER)
        console.send("e")
        console.wait_for("not saved yet")
        console.wait_for("half a thought")


def test_a_stop_gives_the_terminal_back_and_going_on_takes_it_again(demo):
    with start(demo) as console:
        console.wait_for(FOOTER)
        console.signal(signal.SIGTSTP)
        assert os.WIFSTOPPED(os.waitpid(console.pid, os.WUNTRACED)[1])
        console.drain()
        assert console.left_on == []
        assert console.echoes()
        before = len(console.output)
        console.signal(signal.SIGCONT)
        console.wait_for(FOOTER, since=before)
        assert not console.echoes()
        console.send("x")
        console.wait_for("undoes it")
        console.signal(signal.SIGQUIT)
        console.wait_end()
        assert console.status == 128 + signal.SIGQUIT
        assert console.left_on == []
        assert console.echoes()
    assert enabled(demo)[0] is False


def test_a_stop_during_the_start_waits_for_the_app(demo):
    with start(demo) as console:
        console.wait_for("Memory")
        console.signal(signal.SIGTSTP)
        console.wait_for(FOOTER)
        console.send("q")
        console.wait_end()
        assert console.status == 0


@pytest.mark.parametrize("where", ["detail", "load"])
def test_an_error_in_a_worker_is_shown_and_leaves_the_terminal_usable(demo, where):
    broken = f"import nanomem_tui.screens.items as m; m.ItemsScreen.{where} = lambda *given: 1 / 0\n"
    with start(demo, broken, (140, 40)) as console:
        console.wait_for("division by zero")
        console.send("q")
        console.wait_end()
        assert console.status == 0
        assert console.left_on == []
        assert console.echoes()


def test_an_error_in_a_thread_of_the_app_ends_it_with_the_terminal_as_it_was(demo):
    broken = (
        "import nanomem_tui.app as app\n"
        "def look(self): self.run_worker(lambda: 1 / 0, thread=True)\n"
        "app.NanomemApp.do_ledger = look\n"
    )
    with start(demo, broken) as console:
        console.wait_for(FOOTER)
        console.send("U")
        console.wait_end()
        assert console.status == 1
        assert console.left_on == []
        assert console.echoes()


@pytest.mark.parametrize("what_becomes_of_it", ["raise RuntimeError('in an import') from end", "return None"])
def test_a_signal_in_the_midst_of_an_import_is_told_as_one(demo, what_becomes_of_it):
    taken = (
        "import os, signal, nanomem_tui.launch as launch; from nanomem_tui.opening import Opening\n"
        "def wait(self, seconds):\n"
        "    try: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"    except SystemExit as end: {what_becomes_of_it}\n"
        "Opening.wait = wait; launch.rows_frame = lambda columns, lines, rows: ''\n"
    )
    with start(demo, taken) as console:
        console.wait_end()
        assert console.status == 128 + signal.SIGTERM, console.text
        assert console.left_on == []
        assert console.echoes()


def test_a_terminal_that_goes_with_words_unwritten_is_told_as_a_hang_up(demo):
    held = (
        "import contextlib, sys, nanomem_tui.launch as launch; terminal = launch.terminal\n"
        "@contextlib.contextmanager\n"
        "def held(*given):\n"
        "    try:\n"
        "        with terminal(*given) as ending: yield ending\n"
        "    finally: sys.stderr.write('half a line'); launch.threading.active_count = lambda: 1\n"
        "launch.terminal = held\n"
    )
    with start(demo, held) as console:
        console.wait_for(FOOTER)
        console.hang_up()
        console.wait_end()
        assert console.status == 128 + signal.SIGHUP


def test_a_kill_loses_nothing_that_was_said_to_be_done(demo):
    with start(demo) as console:
        console.wait_for(FOOTER)
        console.send("x")
        console.wait_for("undoes it")
        console.signal(signal.SIGKILL)
        console.wait_end()
    assert enabled(demo)[0] is False


def test_a_mistake_of_ours_restores_the_terminal_and_shows_no_memory(demo):
    with open_workspace(demo) as ws:
        ws.items.add("a very private thing")
    broken = "import nanomem_tui.app as app; app.NanomemApp.action_leave_hint = lambda self: 1 / 0\n"
    with start(demo, broken) as console:
        console.wait_for(FOOTER)
        before = len(console.output)
        console.send("\x03")
        console.wait_end()
        after = bytes(console.output[before:]).decode(errors="replace")  # a read may end inside a character
        assert console.status == 1
        assert console.left_on == []
        assert console.echoes()
        assert "ZeroDivisionError" in after
        assert "private" not in after.rpartition("Traceback")[2]


def test_the_own_editor_gets_the_terminal_as_it_was_and_gives_it_back(demo, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nstty -a | grep -q " echo " && printf "edited elsewhere\\n" > "$1"\n')
    editor.chmod(0o700)
    with start(demo, f"import os; os.environ['EDITOR'] = {str(editor)!r}\n") as console:
        console.wait_for(FOOTER)
        console.send("E")
        console.wait_for("edited elsewhere")
        console.wait_for("undoes it")
        console.send("jq")
        console.wait_end()
        assert console.status == 0
        assert console.echoes()
        assert console.left_on == []


def test_no_workspace_is_one_line_and_a_clean_terminal(tmp_path):
    with start(tmp_path / "nowhere") as console:
        console.wait_end()
        assert console.status == 2
        assert console.left_on == []
        assert console.echoes()
        assert console.text.rstrip().count("nowhere") == 1


def test_hostile_text_never_reaches_the_terminal(demo):
    with open_workspace(demo) as ws:
        ws.items.add("\x1b]52;c;aGFja2Vk\x07 \x1b]0;title\x07 \x9b2J hostile")
    with start(demo) as console:
        console.wait_for("hostile")
        console.wait_for(FOOTER)
        console.press("\r")
        console.press("\t")
        written = bytes(console.output).decode(errors="replace")  # a read may end inside a character
        for payload in ("\x1b]52", "\x1b]0;", "\x9b"):
            assert payload not in written


def test_the_frames_before_the_app_fit_and_are_safe():
    item = Item("id", "evil \x1b]52;c;x\x07 " + "很长" * 60, updated_at="2026-01-01T00:00:00+00:00")
    for columns, lines in ((80, 24), (200, 60), (10, 5), (1, 1)):
        words_frame(columns, lines, "loading")
        frame = rows_frame(columns, lines, [item] * 100)
        assert "\x1b]" not in frame
        assert frame.count("evil") <= max(lines - 4, 0)


def test_a_snapshot_is_text_or_a_picture(demo):
    text = snapshot_screen(str(demo), "lessons", (100, 30), "text")
    assert len(text.split("\n")) == 30
    assert "2 Lessons" in text
    assert snapshot_screen(str(demo), "items", (80, 24), "svg").startswith("<svg")


def test_a_snapshot_of_no_screen_says_which_there_are(demo):
    with pytest.raises(BadInput, match="no screen"):
        snapshot_screen(str(demo), "kitchen", (80, 24), "text")
