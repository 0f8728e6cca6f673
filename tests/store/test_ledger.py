"""The ledger files: a checksum per line, one process each, nothing acknowledged lost."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.errors import DiskFull, NanomemError
from nanomem_tui.operations import Change, Operation, new_operation
from nanomem_tui.store import ledger as ledgers
from nanomem_tui.store.ledger import Ledger

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(), lambda inner: st.lists(inner, max_size=3)
)
PATCH = st.none() | st.dictionaries(st.text(max_size=8), JSON, max_size=4)
CHANGES = st.lists(st.builds(Change, st.sampled_from(["item", "file"]), st.text(), PATCH, PATCH), max_size=3)


def operation(label: str) -> Operation:
    return new_operation("test", label, [Change("item", "a", None, {"text": label})])


def labels(files: list[ledgers.LedgerFile]) -> list[str]:
    return [o.label for file in files for o in file.operations]


@given(CHANGES, st.text(), st.none() | st.text(min_size=1))
def test_an_operation_comes_back_as_it_was(changes: list[Change], label: str, undoes: str | None) -> None:
    made = new_operation("test", label, changes, undoes=undoes, meta={"note": label})
    line = ledgers.encode(made)
    assert line.count(b"\n") == 1
    assert ledgers.decode(line[:-1]) == made


@pytest.mark.parametrize("number", [500, 501, 1_000, 1_203])
def test_one_of_many_changes_is_the_same_line_as_if_it_were_written_at_once(number: int) -> None:
    label = 'says "changes":[] and ],"meta":{} “so”'
    changes = [Change("item", f"k{n}", None, {"text": f'{n} "changes":[] \udcff'}) for n in range(number)]
    made = new_operation("test", label, changes, undoes="op_1", meta={"changes": []})
    whole = json.dumps(made.to_json(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    line = ledgers.encode(made)
    assert ledgers.body_of(line) == whole
    assert ledgers.decode(line[:-1]) == made
    assert ledgers.id_of(line[:-1]) == made.id
    assert ledgers.id_of(line[:-2]) is ledgers.id_of(line[:-1].replace(b"k7", b"k8")) is None


@given(st.integers(0, 5_000))
def test_any_flipped_bit_is_noticed(place: int) -> None:
    line = ledgers.encode(operation("bits"))[:-1]
    place %= len(line) * 8  # the length depends on the time
    damaged = bytearray(line)
    damaged[place // 8] ^= 1 << place % 8
    assert ledgers.decode(bytes(damaged)) is None


def test_a_torn_line_costs_that_line(tmp_path: Path) -> None:
    lines = [ledgers.encode(operation(name)) for name in ("one", "two", "three")]
    path = tmp_path / "1.ledger"
    path.write_bytes(lines[0] + lines[1][:30] + b"\n" + lines[2])
    found = ledgers.read_file(path)
    assert [o.label for o in found.operations] == ["one", "three"]
    assert [(p.line, p.where) for p in found.problems] == [(2, "ledger/1.ledger")]
    for cut in range(1, len(lines[2])):
        path.write_bytes(lines[0] + lines[2][:-cut] if cut < len(lines[2]) else lines[0])
        found = ledgers.read_file(path)
        assert [o.label for o in found.operations] == (["one", "three"] if cut == 1 else ["one"])
        assert not found.problems, "a torn tail was never acknowledged"


@pytest.mark.parametrize(
    "junk",
    [b"\xff", b"\x00\x00", b'{"cursor": 7, "conte', b"\xef\xbb\xbf", b"\r\n", b"\n\n", b"[1,2]\n", b'"\\ud800"\n'],
)
def test_junk_costs_no_operation(tmp_path: Path, junk: bytes) -> None:
    lines = [ledgers.encode(operation(name)) for name in ("one", "two", "three")]
    path = tmp_path / "1.ledger"
    for data in (
        junk + b"".join(lines),
        lines[0] + junk + lines[1] + lines[2],
        b"".join(lines) + junk,
        b"".join(lines).replace(b"\n", b"\r\n"),
        b"".join(lines).replace(b"\n", b"x", 1),
    ):
        path.write_bytes(data)
        assert labels([ledgers.read_file(path)]) == ["one", "two", "three"]


def test_a_durable_line_is_on_the_disk_before_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.record(operation("first"), durable=False)
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size) or real(handle))
    ledger.record(operation("not yet"), durable=False)
    assert synced == []
    ledger.record(operation("durable"), durable=True)
    assert ledger.path is not None
    assert synced == [ledger.path.stat().st_size]
    ledger.close()


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_what_could_not_be_recorded_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.record(operation("one"), durable=True)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(DiskFull):
            ledger.record(operation("lost"), durable=True)
    assert [o.label for o in ledger.pending] == ["one"]
    assert labels(ledgers.read_all(tmp_path / "ledger")) == ["one"]
    ledger.record(operation("two"), durable=True)
    assert labels(ledgers.read_all(tmp_path / "ledger")) == ["one", "two"]
    ledger.close()


def test_private_and_locked_while_its_process_lives(tmp_path: Path) -> None:
    ledger, other = Ledger(tmp_path / "a" / "ledger"), Ledger(tmp_path / "a" / "ledger")
    ledger.record(operation("one"), durable=True)
    assert ledger.path is not None
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700
    assert other.adopt() == []
    ledger.close()
    assert labels(other.adopt()) == ["one"]
    assert [o.label for o in other.pending] == ["one"]
    third = Ledger(tmp_path / "a" / "ledger")
    assert third.adopt() == [], "adopted by one alone"
    other.close()
    assert labels(third.adopt()) == ["one"], "and free again when that one ended without a checkpoint"
    third.moved(third.pending, tmp_path / "quarantine")
    third.close()
    assert os.listdir(tmp_path / "a" / "ledger") == []


def test_after_a_checkpoint_the_file_is_empty_and_what_came_meanwhile_stays(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    first, second = operation("first"), operation("second")
    ledger.record(first, durable=True)
    ledger.record(second, durable=True)
    ledger.moved([first], tmp_path / "quarantine")
    assert [o.label for o in ledger.pending] == ["second"]
    assert "second" in labels(ledgers.read_all(tmp_path / "ledger"))
    ledger.moved([second], tmp_path / "quarantine")
    assert ledger.path is not None
    assert ledger.path.read_bytes() == b""
    ledger.close()
    assert not (tmp_path / "quarantine").exists()


@pytest.mark.parametrize("tail", [b"{torn\n", b"{torn"])
def test_what_cannot_be_read_is_set_aside_when_the_file_goes(tmp_path: Path, tail: bytes) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    data = ledgers.encode(operation("one")) + tail
    (folder / "1.ledger").write_bytes(data)
    ledger = Ledger(folder)
    ledger.adopt()
    ledger.moved(ledger.pending, tmp_path / "quarantine")
    ledger.close()
    assert os.listdir(folder) == []
    assert [path.read_bytes() for path in (tmp_path / "quarantine").iterdir()] == [data]


def test_it_stays_where_it_cannot_be_set_aside(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    (folder / "1.ledger").write_bytes(ledgers.encode(operation("one")) + b"{torn\n")
    (tmp_path / "quarantine").write_bytes(b"a file where a folder should be")
    ledger = Ledger(folder)
    ledger.adopt()
    ledger.moved(ledger.pending, tmp_path / "quarantine")
    ledger.close()
    assert os.listdir(folder) == ["1.ledger"]


def test_orders_of_several_processes_are_woven_by_time_and_each_kept() -> None:
    def at(time: str, label: str) -> Operation:
        return Operation(label, time, "human", "test", label, ())

    one = [at("2026-01-01T10", "a"), at("2026-01-01T12", "c"), at("2026-01-01T09", "d, the clock went back")]
    two = [at("2026-01-01T11", "b"), at("2026-01-01T13", "e")]
    assert [o.label[0] for o in ledgers.in_order([one, two])] == ["a", "b", "c", "d", "e"]


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    (tmp_path / "victim").write_bytes(ledgers.encode(operation("foreign")))
    (folder / "1.ledger").symlink_to(tmp_path / "victim")
    ledger = Ledger(folder)
    assert ledger.adopt() == []
    ledger.close()
    assert (tmp_path / "victim").exists()


def test_no_permission_is_said(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_bytes(b"a file where the folder should be")
    with pytest.raises(NanomemError, match="recording"):
        Ledger(tmp_path / "ledger").record(operation("one"), durable=True)
