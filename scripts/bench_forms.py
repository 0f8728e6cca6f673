"""How large each benchmark is in each form: the usual one, of docs/benchmarks.md, a quick look, and the large one.

Owns sizes and environments; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
AGENT = ".peers/nanobot-0.3.5/bin/python"
VECTORS = ".peers/vectors/bin/python"
SERVER = (VECTORS, "make .peers/vectors/.done")


class Run(NamedTuple):
    """One benchmark with its options; `name` is that of its part in the file that keeps the figures."""

    name: str
    program: str
    words: list[str]
    python: str = ""
    """The interpreter, where it is not the one that runs the benchmarks; relative to the repository."""
    made_by: str = ""


QUICK = {
    "block": ["--half", "open"],
    "cli_start": ["--runs", "7"],
    "conflicts": ["--n", "5000"],
    "console": ["--items", "1000", "--runs", "2"],
    "desk": ["--half", "open"],
    "dream": ["--entries", "100", "--runs", "2"],
    "duplicates": ["--n", "5000", "--floor", "1000"],
    "git_speed": ["--commits", "200"],
    "keeping_speed": ["--n", "1000", "10000", "--rounds", "3"],
    "knowledge": [],
    "long_archive": ["--entries", "20000"],
    "long_session": ["--megabytes", "4"],
    "moments": ["--n", "5000", "--edits", "500"],
    "operational": ["--n", "2000", "--rounds", "3"],
    "recall": ["--quick"],
    "recall_speed": ["--n", "1000", "10000"],
    "records_meaning": ["--n", "2000", "--rounds", "30"],
    "scopes": ["--n", "5000"],
    "service_speed": ["--n", "2000", "--rounds", "60"],
    "store_speed": ["--n", "5000", "--rounds", "2"],
    "tiers": ["--n", "5000", "--rounds", "50"],
    "transcripts": ["--quick"],
    "triage": ["--n", "5000"],
    "turn_speed": ["--items", "1000", "--rounds", "10"],
    "vectors": ["--quick"],
    "writing": ["--half", "open"],
}
"""What is not here takes minutes however small: `trust` and `soak`."""
LARGE = (
    Run("keeping_speed", "keeping_speed", ["--n", "1000", "1000000", "--rounds", "3"]),
    Run("recall_speed", "recall_speed", ["--n", "1000000"]),
    Run("long_archive", "long_archive", ["--entries", "10000000"]),
    Run("long_session", "long_session", ["--megabytes", "1024"]),
    Run("records_meaning", "records_meaning", ["--n", "1000000"]),
    Run("records_meaning, pgvector", "records_meaning", ["--n", "1000000", "--index", "pgvector"], *SERVER),
    Run("server_speed", "server_speed", ["--n", "1000000"], *SERVER),
    Run("shared_store", "shared_store", ["--minutes", "20"], *SERVER),
    Run("soak", "soak", ["--minutes", "30"]),
    Run("store_speed", "store_speed", ["--n", "1000000"]),
    Run("tiers", "tiers", ["--n", "1000000"]),
    Run("turn_speed", "turn_speed", ["--items", "1000000", "--rounds", "5"]),
)
USUAL = {
    "git_speed": ["--nanobot", AGENT] if (ROOT / AGENT).exists() else [],
    "tiers": ["--n", "200000"],
    "trust": ["--trials", "12"],
    "turn_speed": ["--items", "1000,10000,100000"],
}
ONLY_LARGE = {"long_archive", "long_session", "shared_store", "soak"}
ON_A_SERVER = {"fleet", "server_speed"}
"""Those that need a driver and a PostgreSQL out of a package."""


def everyday(names: Iterable[str]) -> list[str]:
    """Those that a run of all has, where no million is asked for."""
    return [name for name in names if name not in ONLY_LARGE]


def usual(names: Iterable[str]) -> list[Run]:
    """As docs/benchmarks.md quotes them."""
    return [Run(name, name, USUAL.get(name, []), *(SERVER if name in ON_A_SERVER else ())) for name in names]


def quick(names: Iterable[str]) -> list[Run]:
    """Small."""
    return [Run(name, name, QUICK[name]) for name in names if name in QUICK]


def large(names: Iterable[str]) -> list[Run]:
    """A million items, and half an hour."""
    wanted = set(names)
    return [one for one in LARGE if one.program in wanted]
