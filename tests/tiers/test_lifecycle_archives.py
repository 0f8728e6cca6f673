"""A closed year of long-term memory in a file: written and read back first, searched, brought back, not overwritten."""

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict, NothingToDo, Refused
from nanomem_tui.store.work import year_archive
from tests.tiers.test_lifecycle import all_of, kept

NOW = datetime(2026, 3, 2, 12, 20, tzinfo=UTC)


@pytest.fixture
def ws(place):
    with clock.at(NOW), open_workspace(place) as opened:
        for year in (2024, 2025):
            for number in range(3):
                at = datetime(year, 5, 1 + number, tzinfo=UTC)
                kept(opened, "goal", f"g{year}_{number}", NOW - at, status="completed", description=f"Harbour {number}")
                kept(opened, "tool-call", f"c{year}_{number}", NOW - at, reason="look at the harbour")
        kept(opened, "incident", "i2024", NOW - datetime(2024, 5, 1, tzinfo=UTC))
        opened.lifecycle.run()
        yield opened


def folder(ws):
    return ws.paths.data / "archive"


def of_year(ws, year):
    return {key: record for key, record in all_of(ws).items() if f"{year}_" in key}


def test_a_year_leaves_is_searched_and_comes_back(ws):
    before, there = of_year(ws, 2024), all_of(ws)
    operation, made = ws.lifecycle.archive(2024)
    assert operation.label == "archive 2024: 6 records to archive/2024.jsonl.gz"
    assert made.counts == {"goal": 3, "tool-call": 3}
    assert (made.first[:10], made.last[:10]) == ("2024-05-01", "2024-05-03")
    assert of_year(ws, 2024) == {}
    assert len(of_year(ws, 2025)) == 6
    assert ws.records.get("incident", "i2024")  # always kept
    hits = ws.lifecycle.archives.search("harbour 2")[0]
    assert [hit.record.id for hit in hits][:1] == ["g2024_2"]
    assert {hit.record.key for hit in hits} == set(before)
    assert hits[0].record == before["goal/g2024_2"]
    assert ws.lifecycle.restore(2024).label == "restore 2024: 6 records from its archive"
    assert all_of(ws) == there
    assert ws.lifecycle.archives.search("harbour")[0] == []
    ws.undo()
    assert of_year(ws, 2024) == {}
    ws.undo()
    assert all_of(ws) == there
    ws.redo()
    assert of_year(ws, 2024) == {}
    assert len(ws.lifecycle.archives.search("harbour")[0]) == 6


def test_the_file_is_what_its_manifest_says(ws):
    _, made = ws.lifecycle.archive(2024)
    path = folder(ws) / "2024.jsonl.gz"
    assert year_archive.file_digest(path) == made.sha256
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert [line["id"] for line in lines] == [f"{kind}2024_{number}" for kind in "gc" for number in range(3)]
    manifest = json.loads((folder(ws) / "2024.json").read_bytes())
    assert manifest["state"] == "archived"
    assert manifest["records"] == 6
    assert {oct(one.stat().st_mode & 0o777) for one in folder(ws).iterdir()} == {"0o600"}


def test_a_second_archive_of_a_year_is_a_second_file(ws):
    ws.lifecycle.archive(2024)
    first = (folder(ws) / "2024.jsonl.gz").read_bytes()
    with pytest.raises(NothingToDo):
        ws.lifecycle.archive(2024)
    kept(ws, "goal", "late", NOW - datetime(2024, 7, 1, tzinfo=UTC), status="completed", description="Harbour, late")
    ws.lifecycle.run()
    _, made = ws.lifecycle.archive(2024)
    assert made.name == "2024-2"
    assert (folder(ws) / "2024.jsonl.gz").read_bytes() == first
    assert len(ws.lifecycle.archives.search("harbour")[0]) == 7
    ws.lifecycle.restore(2024)
    assert len(of_year(ws, 2024)) == 6
    assert ws.records.get("goal", "late").tier == "longterm"


@pytest.mark.slow
def test_a_damaged_archive_deletes_nothing_and_is_told(ws):
    ws.lifecycle.archive(2024)
    path = folder(ws) / "2024.jsonl.gz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    there = all_of(ws)
    with pytest.raises(Refused, match="the archive is damaged"):
        ws.lifecycle.restore(2024)
    with pytest.raises(Refused, match="the archive is damaged"):
        ws.undo()
    assert all_of(ws) == there
    found = [problem for problem in ws.doctor() if "archive" in problem.what]
    assert [problem.what for problem in found] == ["the archive is damaged"]
    _, problems = ws.lifecycle.archives.search("harbour")
    assert [problem.what for problem in problems] == ["the archive is damaged"]
    path.unlink()
    with pytest.raises(Refused, match="the archive is gone"):
        ws.lifecycle.restore(2024)


def test_what_is_not_written_as_it_should_be_takes_nothing_away(ws, monkeypatch):
    there = all_of(ws)
    real = os.fsync

    def lying(handle):
        """A disk that keeps something else than what it was given."""
        real(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path.name.startswith(".2024.jsonl.gz"):
            path.write_bytes(gzip.compress(b"{}\n"))

    monkeypatch.setattr(os, "fsync", lying)
    with pytest.raises(Exception, match="not written as it should be"):
        ws.lifecycle.archive(2024)
    assert all_of(ws) == there
    assert list(folder(ws).iterdir()) == []


def test_a_record_that_changed_meanwhile_stays(ws):
    made = ws.lifecycle.archives.make(2024, clock.iso(NOW))
    ws.records.update("goal", "g2024_0", {"status": "failed"})
    ws.lifecycle.archives.leave(made.name)
    assert set(of_year(ws, 2024)) == {"goal/g2024_0"}
    ws.lifecycle.archives.bring_back(made.name)
    assert ws.records.get("goal", "g2024_0").fields["status"] == "failed"
    assert len(of_year(ws, 2024)) == 6


def test_a_year_that_is_not_over_stays(ws):
    for year in (2026, 2027):
        with pytest.raises(Refused, match="not over"):
            ws.lifecycle.archive(year)
    with pytest.raises(NothingToDo):
        ws.lifecycle.archive(1999)
    with pytest.raises(NothingToDo):
        ws.lifecycle.restore(2024)


def test_an_archive_is_restored_once(ws):
    operation, _ = ws.lifecycle.archive(2024)
    ws.lifecycle.restore(2024)
    with pytest.raises(Conflict, match="restored already"):
        ws.undo(operation.id)
