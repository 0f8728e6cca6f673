"""An archive that is not held is compacted, appended to and put back as one that is, and little of it is in memory."""

import json
import tracemalloc
from contextlib import contextmanager, nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core import files as core_files
from nanomem_tui.core.atomic import quarantined
from nanomem_tui.core.errors import Conflict, NothingToDo
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.sessions import archive
from nanomem_tui.store.files import history
from nanomem_tui.store.files.history import append_changes, read_archive


def entry(cursor, **more):
    value = {"cursor": cursor, "timestamp": "2026-01-02 03:04", "content": f"text {cursor}", **more}
    return json.dumps(value).encode() + b"\n"


@contextmanager
def in_pieces():
    """Every archive is too long to be held, and read a few lines at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "WHOLE", 1)
        patch.setattr(archive, "NEWEST", 2)
        patch.setattr(core_files, "CHUNK", 300)
        patch.setattr(history, "PIECE", 250)
        patch.setattr(history, "READ_OUT", 1)
        yield


def made(folder, data, dreamt):
    memory = folder / "home" / "workspace" / "memory"
    memory.mkdir(parents=True)
    (memory / "history.jsonl").write_bytes(data)
    (memory / ".dream_cursor").write_text(str(dreamt))
    return memory


def told(memory, keep, after):
    """What a preview says, and what there is after the compaction, after what comes then, and after its undo."""
    found = []
    with open_workspace(memory.parent) as ws:
        found.append(ws.history_changes.compaction(keep).to_json())
        try:
            operation = ws.history_changes.compact(keep)
        except NothingToDo as error:
            return [*found, str(error)]
        found += [files(memory), sorted(path.read_bytes() for path in quarantined(ws.paths.quarantine))]
        after(ws)
        found.append(files(memory))
        try:
            ws.undo(operation.id)
        except Conflict as error:  # nothing was left that what came then could follow
            found.append(str(error))
        found.append(files(memory))
    return found


def files(memory):
    return {path.name: path.read_bytes() for path in sorted(memory.iterdir()) if path.is_file()}


@pytest.mark.slow
@given(
    lines=st.lists(st.integers(0, 60) | st.sampled_from([b"", b"{", b"\xff", b"null", b'{"cursor":1}']), max_size=40),
    rising=st.booleans(),
    dreamt=st.integers(-1, 70),
    keep=st.integers(0, 12),
    torn=st.booleans(),
)
def test_the_same_goes_as_of_one_that_is_held(tmp_path_factory, lines, rising, dreamt, keep, torn):
    if rising:
        lines = [*sorted(line for line in lines if isinstance(line, int)), *(x for x in lines if isinstance(x, bytes))]
    data = b"".join(entry(line) if isinstance(line, int) else line + b"\n" for line in lines)
    data = data.removesuffix(b"\n") if torn else data

    def more(ws):
        with ws.paths.history.open("ab") as file:
            file.write(b"" if torn else entry(99))

    folder = tmp_path_factory.mktemp("cut")
    found = []
    for name, how in (("held", nullcontext()), ("pieces", in_pieces())):
        with how:
            found.append(told(made(folder / name, data, dreamt), keep, more))
    assert found[0] == found[1]


def test_entries_are_appended_and_taken_back(tmp_path):
    data = b"".join(entry(number) for number in range(1, 30))
    torn = b'{"cursor": 30, "time'
    memory = made(tmp_path, data + torn, 3)
    new = [HistoryEntry(31, "2026-01-02 03:04", "archived"), HistoryEntry(32, "2026-01-02 03:04", "as well")]
    with in_pieces(), open_workspace(memory.parent) as ws:
        assert read_archive(ws.paths).latest == 29
        operation = new_operation("session.consolidate", "archive", append_changes(new, read_archive(ws.paths).counter))
        ws.perform(operation)
        assert (memory / "history.jsonl").read_bytes().startswith(data + entry(31, content="archived"))
        assert [path.read_bytes() for path in quarantined(ws.paths.quarantine)] == [torn]
        with (memory / "history.jsonl").open("ab") as file:
            file.write(entry(33))
        with pytest.raises(Conflict, match="appended after it"):
            ws.undo(operation.id)
        (memory / "history.jsonl").write_bytes((memory / "history.jsonl").read_bytes().removesuffix(entry(33)))
        ws.undo(operation.id)
        assert (memory / "history.jsonl").read_bytes() == data
        assert not (memory / ".cursor").exists()


def test_what_is_appended_while_it_is_cut_is_not_lost(tmp_path, monkeypatch):
    memory = made(tmp_path, b"".join(entry(number) for number in range(1, 30)), 29)
    with in_pieces(), open_workspace(memory.parent) as ws:
        real = history.atomic.put_blob

        def slow(folder, data):
            with ws.paths.history.open("ab") as file:
                file.write(entry(30))
            return real(folder, data)

        monkeypatch.setattr(history.atomic, "put_blob", slow)
        with pytest.raises(Conflict):
            ws.history_changes.compact(3)
    assert (memory / "history.jsonl").read_bytes().count(b"\n") > 29


@pytest.mark.slow
def test_little_of_it_is_in_memory(tmp_path):
    count = 700_000
    memory = made(tmp_path, b"", count)
    with (memory / "history.jsonl").open("wb") as file:
        file.writelines(entry(number, content="x" * 120) for number in range(1, count + 1))
    (memory / ".cursor").write_text(str(count))
    before = (memory / "history.jsonl").stat().st_size
    assert before > 2 * archive.WHOLE
    with open_workspace(memory.parent) as ws:
        ws.history.count()
        tracemalloc.start()
        try:
            operation = ws.history_changes.compact(500_000)
            assert ws.history.count()["entries"] == 500_000
            ws.undo(operation.id)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (memory / "history.jsonl").stat().st_size == before
    assert most < before / 1.3, f"{most:,}"
