"""Every parser of what others may have written, fed what nobody would write: real files flipped, cut, spliced and
repeated, and junk. What comes out is a value or an error of ours, in time, and of what is whole nothing is lost.

By default some dozens of runs each; the slow suite makes `RUNS` of each, from a fixed seed.
"""

from __future__ import annotations

import json
import random
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui import demo
from nanomem_tui.agents import (
    archive,
    documents,
    git,
    jsonl,
    markdown,
    releases,
    session_file,
    snapshot_files,
    turn_log,
)
from nanomem_tui.cli.options import json_object
from nanomem_tui.core import config
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.memory import filters
from nanomem_tui.memory.recall import regressions
from nanomem_tui.memory.transfer import detect
from nanomem_tui.memory.turns.request import turn_end, turn_input
from nanomem_tui.store.first_edition.contents import read_ledgers
from nanomem_tui.store.moving.backup import check_archive as check_backup
from nanomem_tui.store.moving.backup import make_backup
from nanomem_tui.store.recovery import Line

RUNS = 10_000
SECONDS = 2.0
"""The longest that one parse of a small file may take, on a busy machine."""
SEED = 8
Parse = Callable[[bytes, Path], object]


def text(data):
    return data.decode("utf-8", "surrogateescape")


def summed(body):
    """A line of ours as whoever can write the file could make it."""
    return b'{"c":"%08x","r":%s}' % (zlib.crc32(body), body)


def in_file(name, read):
    def parse(data, folder):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return read(path)

    return parse


def place_of(path):
    (path.parents[1] / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
    return find_workspace(path.parents[1] / "workspace")


def settings_of(path):
    return config.load(place_of(path), forgiving=True)


def home_of(path):
    found = place_of(path.parent / "x" / "y")
    return releases.detect(found), releases.agent_settings(found)


def head_of(path):
    return git.read_head(path.parent)


PARSERS: dict[str, tuple[str, Parse]] = {
    "history": ("memory/history.jsonl", lambda data, _: archive.parse_history(data, "x")),
    "history in Markdown": ("memory/MEMORY.md", lambda data, _: archive.parse_history_md(data, "x", 0.0)),
    "cursor": ("memory/.cursor", lambda data, _: archive.parse_cursor(data)),
    "lines of JSON": ("memory/history.jsonl", lambda data, _: jsonl.parse_jsonl(data, "x")),
    "transcript": ("../sessions/", lambda data, _: session_file.parse_session(data, "x", "cli:x")),
    "head of a transcript": ("../sessions/", lambda data, _: session_file.session_header(data, "x")),
    "count of messages": ("../sessions/", lambda data, _: session_file.count_messages(data)),
    "torn tail": ("memory/history.jsonl", lambda data, _: jsonl.torn_tail(data)),
    "turn log": ("memory/session-state/", lambda data, _: turn_log.parse_wal(data, "x")),
    "snapshot": ("memory/LTM_SNAPSHOT.json", lambda data, _: snapshot_files.parse_snapshot(data, "x")),
    "lessons": ("memory/LESSONS.jsonl", lambda data, _: snapshot_files.parse_lessons(data, "x")),
    "audit log": ("memory/LTM_AUDIT.jsonl", lambda data, _: snapshot_files.parse_audit(data, "x")),
    "Markdown": ("memory/MEMORY.md", lambda data, _: markdown.decode(data, "x")),
    "prose": ("memory/MEMORY.md", lambda data, _: documents.parse_markdown(text(data), "x")),
    "plain text": ("memory/MEMORY.md", lambda data, _: documents.parse_text(text(data), "x")),
    "man page": ("man", lambda data, _: documents.parse_man_page(text(data), "x")),
    "saved page": ("html", lambda data, _: documents.parse_saved_page(documents.decode_page(data), "x")),
    "import": ("memory/LTM_SNAPSHOT.json", lambda data, _: detect.read_bytes(data, "LTM_SNAPSHOT.json", "x", "w")),
    "import of Markdown": ("memory/MEMORY.md", lambda data, _: detect.read_bytes(data, "a.md", "x", "w")),
    "import of lines": ("memory/LESSONS.jsonl", lambda data, _: detect.read_bytes(data, "a.jsonl", "x", "w")),
    "filter": ("filter", lambda data, _: filters.parse(text(data))),
    "HEAD of git": (".git/HEAD", in_file(".git/HEAD", head_of)),
    "line of our log": ("operation", lambda data, _: Line.parse(data)),
    "ledger": ("ledger", in_file("a.ledger", lambda path: read_ledgers(path.parent))),
    "settings": ("toml", in_file("nanomem/config.toml", settings_of)),
    "agent's settings": ("../config.json", in_file("config.json", home_of)),
    "saved questions": ("questions", in_file("questions.json", regressions.read)),
    "backup": ("backup", in_file("a.nanomem-backup", check_backup)),
    "turn begins": ("turn", lambda data, _: turn_input(json_object(data, "stdin", "{}"))),
    "turn ends": ("turn", lambda data, _: turn_end(json_object(data, "stdin", "{}"), whole=True)),
    "operation": ("operation", lambda data, _: Operation.from_json(json.loads(data))),
}
SLOW_TO_OPEN = {"backup": 300, "settings": 2_000, "agent's settings": 2_000}
"""Those that open a place for each run make fewer of them."""
THEIR_ERRORS: Mapping[str, tuple[type[Exception], ...]] = {
    # Callers turn the errors of a value that is no such thing into words.

     "operation": (ValueError, KeyError, TypeError, RecursionError),
    "tree of git": (ValueError,), "commit of git": (ValueError,),
}  # fmt: skip


class Samples(dict[str, bytes]):
    """A real file for each parser; told in a word, for they are long."""

    def __repr__(self):
        return "samples"


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return samples_in(tmp_path_factory.mktemp("fuzzed"))


def samples_in(folder):
    """Make a home in a folder, and take a real file for each parser out of it."""
    home = demo.build(folder / ".nanobot")
    workspace = home if home.name == "workspace" else home / "workspace"
    paths = find_workspace(workspace)
    made = make_backup(paths, releases.detect(paths), folder / "backup").path.read_bytes()
    turn = {"session_key": "telegram:1", "text": "hi", "assistant": "yes", "tools": [{"name": "x", "result": "y"}]}
    change = ["item", "ltm_1", None, {"text": "a"}]
    operation = {
        "id": "op_1",
        "at": "2026-01-01T00:00:00+00:00",
        "actor": "human",
        "kind": "edit",
        "label": "l",
        "changes": [change],
    }
    line = json.dumps(operation).encode()
    written = {
        "man": b".TH TAR 1\n.SH NAME\ntar \\- an archiver\n.TP\n\\fB\\-x\\fR\nExtract.\n.nf\ntar xf a\n.fi\n",
        "html": b"<!DOCTYPE html><html><head><title>T</title></head><body><h1>A</h1><p>b &amp;"
        b"<pre>d</pre></body></html>",
        "filter": b'kind:fact age>30d !enabled "two words" hits>=3 /re.*gex/ scope:chat',
        "ledger": (summed(line) + b"\n") * 3,
        "toml": b'max_items = 9\nretention_days.fact = 30\n[keys]\ndelete = "f6"\n',
        "questions": b'{"message": "tea", "expect": ["ltm_1"]}\n',
        "backup": made, "turn": json.dumps(turn).encode(), "operation": line,
    }  # fmt: skip
    found = Samples()
    for place, _ in PARSERS.values():
        if place in written:
            found[place] = written[place]
        elif place.endswith("/"):
            found[place] = max((one.read_bytes() for one in (workspace / place).rglob("*") if one.is_file()), key=len)
        else:
            path = workspace / place
            found[place] = path.read_bytes() if path.is_file() else b"{}"
    return found


INSERTED = (
    b"\0", b"\xff", b"\n", b"\r\n", b'"', b"{", b"[" * 5_000, b"\xef\xbb\xbf", b"\\ud800", b"9" * 400, b"-1", b"1e999",
    b"NaN", b"null", b"true", b"../../x", b"\x1b]52;c;x\x07", b"\xed\xa0\x80", "\u2028\u0085\u202e".encode(), b"---",
    b"### ", b"- ",
)  # fmt: skip


def spoiled(data, chance):
    """Some harms done to a file."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, end = sorted((chance.randint(0, len(out)), chance.randint(0, len(out))))
        match chance.randrange(8):
            case 0 if out:
                out[at % len(out)] ^= 1 << chance.randrange(8)
            case 1:
                del out[at:]
            case 2:
                del out[at:end]
            case 3:
                out[at:at] = out[at : min(end, at + 2_000)]
            case 4:
                out[at:at] = chance.choice(INSERTED)
            case 5:
                out[at:end] = chance.choice(INSERTED)
            case 6:
                out[at:at] = chance.randbytes(chance.randint(1, 40))
            case _:
                lines = out.split(b"\n")
                chance.shuffle(lines)
                out = bytearray(b"\n".join(lines))
    return bytes(out)


def parsed(name, data, folder):
    """What a parser makes of it; its error when it is one of those that it may raise."""
    began = time.process_time()
    try:
        return PARSERS[name][1](data, folder)
    except (NanomemError, *THEIR_ERRORS.get(name, ())) as error:
        return error
    finally:
        assert time.process_time() - began < SECONDS, data[:200]


@pytest.mark.parametrize("name", PARSERS)
def test_the_real_file_is_read(name, samples, tmp_path):
    found = parsed(name, samples[PARSERS[name][0]], tmp_path)
    assert not isinstance(found, Exception), found


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chance=st.randoms(use_true_random=False), junk=st.none() | st.binary(max_size=60))
@pytest.mark.parametrize("name", PARSERS)
def test_no_harm_brings_it_down(name, samples, tmp_path, chance, junk):
    parsed(name, spoiled(samples[PARSERS[name][0]], chance) if junk is None else junk, tmp_path)


def broken(name, data, folder, runs):
    """How often a file was spoiled and given to a parser, and what brought it down; empty when nothing did."""
    chance = random.Random(f"{SEED} {name}")
    for number in range(runs := min(runs, SLOW_TO_OPEN.get(name, runs))):
        harmed = spoiled(data, chance) if number % 10 else chance.randbytes(number % 97)
        try:
            parsed(name, harmed, folder)
        except Exception as error:
            return number, f"run {number}: {type(error).__name__}: {error}: {harmed[:2_000]!r}"
    return runs, ""


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_nor_do_ten_thousand(name, samples, tmp_path):
    assert broken(name, samples[PARSERS[name][0]], tmp_path, RUNS)[1] == ""
