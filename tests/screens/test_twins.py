"""A key and its command do the same: on two copies of one home they leave the same memory behind."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from nanomem_tui.actions import ACTIONS, BY_NAME
from nanomem_tui.cli.main import run
from nanomem_tui.store.work.kinds import RECORD_KINDS
from nanomem_tui.tabs import TABS
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console

pytestmark = pytest.mark.slow  # two homes and a console for each action

TIMES = {"created_at", "updated_at", "revision", "last_accessed_at", "expires_at", "last_applied_at", "at"}
"""Fields that say when a thing was done: these are done at two times."""
_IDS = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.+:]+|\b(?:ltm|lesson|op|triage|rule|journal|reflection|fact|hunk)_\d{6,}_\w+|\b[0-9a-f]{40}\b"
)


class Typed(str):
    """Text to type, where other strings are keys."""

    __slots__ = ()


class Twin(NamedTuple):
    """An action on a screen, the keys that do it on the row at `row` (an index), and the command: its words may hold
    `{0}`, `{1}`: the ids of the rows shown, from `row` on; `{text}`: the text that the row has now."""

    action: str
    screen: str
    keys: Sequence[str]
    command: str
    row: int = 0
    before: Sequence[str] = ()


def palette(name):
    return ("colon", Typed(name), "enter")


TWINS = (
    Twin("toggle", "items", ("x",), "memory disable {0}", 2),
    Twin("delete", "items", ("d",), "memory delete {0} --yes"),
    Twin("pin", "items", ("p",), "memory pin {0}"),
    Twin("edit", "items", ("e", Typed("not "), "ctrl+s"), "memory edit {0} --text {text}"),
    Twin("fields", "items", ("i", Typed("decision"), "enter"), "memory edit {0} --kind decision"),
    Twin("add", "items", ("a", Typed("tea at four"), "ctrl+s"), "memory add --text 'tea at four'"),
    Twin("merge", "items", ("space", "space", "m", "y"), "memory merge {0} {1} --yes", 7),
    Twin("compact", "items", ("c", "enter", "y"), "memory compact --yes"),
    Twin("toggle", "lessons", ("x",), "memory lessons disable {0}", 1),
    Twin("delete", "lessons", ("d",), "memory lessons delete {0} --yes"),
    Twin("edit", "lessons", ("e", Typed("again"), "ctrl+s"), "memory lessons edit {0} --bad-action {bad_action}"),
    Twin("reset_lessons", "lessons", (*palette("reset lessons"), Typed("reset"), "enter"),
         "memory lessons reset --yes"),
    Twin("edit", "files", ("e", Typed("- Tea"), "ctrl+s"), "files edit {0} --from {file}"),
    Twin("delete", "journal", ("d",), "journal delete {0} --yes"),
    Twin("delete", "reflections", ("d",), "reflections delete {0} --yes"),
    Twin("make_lesson", "reflections", ("L",), "reflections lesson {0}"),
    Twin("compact", "sessions", ("c", "4", "enter", "y"), "session compact {0} --keep 4 --yes"),
    Twin("wal_recover", "wal", ("exclamation_mark", "y"), "wal recover {0}", 1),
    Twin("dream_run", "dream", ("r", "y"), "--run-dream"),
    Twin("dream_restore", "dream", ("t", "y"), "dream restore {0} --yes"),
    Twin("backfill", "items", (*palette("take in notes"), "y"), "memory backfill --yes"),
    Twin("flush", "items", ("x", "ctrl+s"), "memory flush", before=("memory disable {0}",)),
    Twin("undo", "items", ("x", "u"), "undo", before=("memory disable {0}",)),
    Twin("redo", "items", ("d", "u", "ctrl+r"), "redo", before=("memory delete {0} --yes", "undo")),
    Twin("lifecycle_run", "tiers", ("Y", "y"), "lifecycle run"),
    Twin("accept", "inbox", ("plus",), "triage keep {0}"),
    Twin("reject", "inbox", ("minus",), "triage reject {0} --yes"),
    Twin("toggle", "inbox", ("x",), "triage disable {0}"),
    Twin("delete", "inbox", ("d",), "triage delete {0} --yes"),
    Twin("snooze", "inbox", ("Z",), "triage snooze {0}"),
    Twin("merge", "inbox", ("m", "y"), "triage merge {0} --yes", 2),
    Twin("merge", "duplicates", ("m",), "duplicates merge {0}"),
    Twin("toggle", "duplicates", ("x",), "duplicates disable {0}"),
    Twin("delete", "duplicates", ("d",), "duplicates delete {0} --yes"),
    Twin("accept", "duplicates", ("plus",), "duplicates keep {0}"),
    Twin("snooze", "duplicates", ("Z",), "triage snooze {0}"),
    Twin("merge", "conflicts", ("m",), "conflicts supersede {0}"),
    Twin("accept", "conflicts", ("plus",), "conflicts keep-both {0}"),
    Twin("snooze", "conflicts", ("Z",), "triage snooze {0}"),
    Twin("reject", "conflicts", ("minus",), "conflicts keep-old {0}", row=1),
    Twin("split", "items", ("S", Typed("slack:C0LANTERN"), "enter"), "scopes move {0} --to slack:C0LANTERN"),
    Twin("all_like", "inbox", ("ampersand", "d", "y"), "triage like {0} delete --yes", 13),
)  # fmt: skip

SHOWS = {
    "go_items": ("items", "memory list"),
    "go_lessons": ("lessons", "memory lessons list --include-disabled"),
    "go_sessions": ("sessions", "session list"),
    "go_wal": ("wal", "wal list"),
    "go_dream": ("dream", "dream log"),
    "go_inbox": ("inbox", "triage list"),
    "go_moments": ("moments", "moments list --limit 1000"),
    "ledger": ("ledger", "log"),
    "only_dreams": ("dream", "dream log --dreams"),
}
"""Actions that show a list, the screen, and the command that lists the same ids."""


TOLD_ELSEWHERE = {
    "edit_external": "as edit, with the words from an editor: tests/screens/test_own_editor.py",
    "import_file": "a file of another system: tests/screens/test_transfer.py",
    "export_file": "tests/screens/test_transfer.py",
    "export_view": "tests/screens/test_view_export.py",
    "consolidate": "a model: tests/screens/test_sessions.py",
    "migrate_history": "the archive of an old release: tests/screens/test_archive_changes.py",
    "keep_recall": "saved questions: tests/screens/test_recall.py",
    "check_recall": "saved questions: tests/screens/test_recall.py",
    "doctor": "tests/screens/test_status.py",
    "mend": "tests/screens/test_mending.py",
    "backup": "tests/screens/test_mending.py",
    "next_part": "the next kind of records, the next file: tests/screens/test_tiers.py, test_dream_versions.py",
    "jump": "tests/screens/test_find.py",
    "workspaces": "both tell what together.py says: tests/screens/test_workspaces.py, tests/cli/test_workspaces.py",
    "last_turn": "both tell what memory/turns/traces.py says: tests/screens/test_recall.py and cli/test_turns.py",
    "bookmark": "kept beside the memory: tests/screens/test_habits.py",
    "bookmarks": "tests/screens/test_habits.py",
    "filters": "tests/screens/test_habits.py",
}
LOOKS = frozenset(
    "source search_all blame follow dream_review versions asker reply_to context toggle_tier more_weight less_weight "
    "why_not group_by by_meaning ".split()
) | {f"go_{one.screen}" for tab in TABS for one in tab.lists if f"go_{one.screen}" not in SHOWS}
"""Actions that change nothing and lead to something else than a list of rows."""


@pytest.fixture
def homes(built_demo, tmp_path):
    """Two copies of one home, each under the same name."""
    for name in ("keys", "command"):
        shutil.copytree(built_demo, tmp_path / name / ".nanobot", symlinks=True)
    return tmp_path / "keys" / ".nanobot" / "workspace", tmp_path / "command" / ".nanobot" / "workspace"


def lasting(row):
    """A row without its times, and with its id only where both homes had it."""
    fields = {name: value for name, value in row._asdict().items() if name not in TIMES}
    return {name: _IDS.sub("ID", value) if isinstance(value, str) and name != "text" else value
            for name, value in fields.items()}  # fmt: skip


def state(workspace):
    """All that a person would miss: rows, files, sessions, what waits. Not what just happened: it goes by itself after
    an hour, with whoever looks first."""
    with open_workspace(workspace) as ws:
        snapshot = ws.store.load()
        rows = {layer: sorted(map(str, map(lasting, snapshot.table(layer).values())))
                for layer in ("item", "lesson", "record")}  # fmt: skip
        trail = {
            kind: [{**one.fields, "timestamp": ""} for one in ws.records.list_records(kind)] for kind in RECORD_KINDS
        }
        documents = {name: ws.documents.read(name) for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")}
        waits = sorted((one.layer, one.text, one.why) for one in ws.quarantine.list())
        sessions = {one.key: one.messages for one in ws.sessions.list()}
        pending = {key: [one.text for one in some] for key, some in ws.traces.pending.all().items()}
        triage = [(one.kind, one.text) for one in ws.triage.findings()]
    files = {"documents": documents, "sessions": sessions, "pending": pending}
    return {**rows, **files, "trail": trail, "waits": waits, "triage": triage}


async def by_keys(workspace, twin):
    """Do it; the ids of the rows from the one it began at, and the fields of that row then."""
    async with console(workspace, twin.screen, (160, 50)) as on:
        await on.until(lambda: on.screen.table.state == "rows")
        await on.press(*["j"] * twin.row)
        ids = on.ids[twin.row :]
        for key in twin.keys:
            if key == "y" and twin.action == "backfill":  # asked once the notes are read: nobody answers before
                await on.until(lambda: on.app.screen is not on.app.main_screen)
            await (on.type(key) if isinstance(key, Typed) else on.press(key))
        await on.app.settled()
        return ids, fields_of(on, ids[0])


def fields_of(on, row_id):
    rows = {on.screen.row_id(row): row for row in on.screen.listing.rows}
    row = rows.get(row_id)
    return row._asdict() if hasattr(row, "_asdict") else {}


def told(line, ids, fields):
    return [word.format(*ids, **fields) for word in shlex.split(line)]


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: f"{twin.action}-{twin.screen}")
async def test_a_key_and_its_command_leave_the_same_behind(homes, twin):
    keys, command = homes
    before = state(keys)
    ids, fields = await by_keys(keys, twin)
    if twin.screen == "files":
        fields["file"] = keys / ids[0]
    for line in (*twin.before, twin.command):
        words = [*told(line, ids, fields), "--workspace", str(command)]
        assert await asyncio.to_thread(run, words) == 0, words
    after = state(keys)
    assert after == state(command)
    if twin.action not in {"undo", "flush", "lifecycle_run", "backfill", "redo"}:
        assert after != before, "nothing was done at all"


@pytest.mark.parametrize("action", SHOWS)
async def test_a_list_and_its_command_show_the_same(homes, action, capsys):
    screen, line = SHOWS[action]
    async with console(homes[0], screen, (160, 50)) as on:
        if action == "only_dreams":
            await on.press("h")
        shown = on.ids
    capsys.readouterr()
    assert await asyncio.to_thread(run, [*line.split(), "--json", "--workspace", str(homes[0])]) in {0, 1}
    rows = json.loads(capsys.readouterr().out)
    assert [str(row.get("id") or row.get("key") or row.get("sha")) for row in rows] == shown


def test_every_action_with_a_command_is_compared_with_it():
    for twin in TWINS:
        assert BY_NAME[twin.action].on(twin.screen), twin
    compared = {twin.action for twin in TWINS} | SHOWS.keys() | TOLD_ELSEWHERE.keys() | LOOKS
    with_command = {action.name for action in ACTIONS if action.command}
    assert with_command - compared == set()
    assert compared - {action.name for action in ACTIONS} == set()
