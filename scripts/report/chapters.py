"""Which program stands in which chapter of docs/benchmarks.md, under which words and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import qualities, servers, speeds
from .measure import Measure

Figures = dict[str, Any]
Told = Callable[[Figures], Iterator[Measure]]


class Drawn(NamedTuple):
    """A picture: the name of its file, and that of the measures in it; its heading."""

    name: str
    heading: str
    logarithmic: bool = False

    @property
    def file(self) -> str:
        return f"{self.name.replace(' ', '-')}.svg"


class Chapter(NamedTuple):
    """Some programs, what each measures, and the pictures above their tables."""

    heading: str
    words: str
    programs: dict[str, Told]
    pictures: tuple[Drawn, ...]


CHAPTERS = (
    Chapter(
        "What recall finds",
        "Shares of the evidence that is among the first answers; more is better. LoCoMo and CMRC 2018 are not shipped: "
        "the figures are of the halves of their public development data on which the ideas were chosen.",
        {
            "recall": qualities.recall,
            "transcripts": qualities.transcripts,
            "vectors": qualities.vectors,
            "knowledge": qualities.knowledge,
        },
        (
            Drawn("recall", "Evidence found by words alone, as a share"),
            Drawn("meaning", "Evidence found by words and meaning, as a share"),
            Drawn("nearest", "The nearest vectors, in ms"),
        ),
    ),
    Chapter(
        "What it writes by itself",
        "Messages that were written and labelled without sight of the program. The sealed half is only measured, never "
        "looked at.",
        {"writing": qualities.writing, "desk": qualities.desk},
        (),
    ),
    Chapter(
        "Recall as a store grows",
        "The median of a question beside SQLite's full-text index on a file and tantivy in RAM.",
        {"recall_speed": speeds.recall_speed},
        (Drawn("recall speed", "A question, in ms", logarithmic=True),),
    ),
    Chapter(
        "Turns, checkpoints, opening",
        "What an agent waits for: changes, what keeps them, and the first answer of a store that was closed.",
        {
            "turn_speed": speeds.turn_speed,
            "language_speed": speeds.language_speed,
            "keeping_speed": speeds.keeping_speed,
            "store_speed": speeds.store_speed,
        },
        (
            Drawn("turn", "Changes, in µs", logarithmic=True),
            Drawn("keeping", "Checkpoints, in ms", logarithmic=True),
            Drawn("opening", "Open to the first answer, in ms", logarithmic=True),
        ),
    ),
    Chapter(
        "Versions of the memory files",
        "Commit, diff, log and blame beside git and beside nanobot-ai's own store.",
        {"git_speed": speeds.git_speed},
        (Drawn("git", "Versions, objects as an agent leaves them, in ms", logarithmic=True),),
    ),
    Chapter(
        "The console",
        "In a pseudo-terminal of 80x24, in turns with an empty Textual app.",
        {"console": speeds.console},
        (Drawn("console", "The console, in ms"),),
    ),
    Chapter(
        "The start of a command",
        "Beside a Python that imports sqlite3 and ends.",
        {"cli_start": speeds.cli_start},
        (Drawn("start", "Start to end of a command, in ms"),),
    ),
    Chapter(
        "Curation",
        "The queue, duplicates, contradictions, scopes, the past, and Dreams.",
        {
            "triage": speeds.triage,
            "duplicates": qualities.pairs,
            "conflicts": qualities.pairs,
            "scopes": speeds.scopes,
            "moments": speeds.moments,
            "dream": speeds.dream,
        },
        (Drawn("curation", "Looks through every item, processor time in ms", logarithmic=True),),
    ),
    Chapter(
        "What the agent did",
        "Operational, working and long-term memory, and the service in front of them.",
        {
            "operational": speeds.operational,
            "tiers": speeds.tiers,
            "records_meaning": speeds.records_meaning,
            "service_speed": speeds.service_speed,
        },
        (Drawn("work", "A push into operational memory, in µs"),),
    ),
    Chapter(
        "Past one machine",
        "A memory in PostgreSQL beside the bare SQL of the same work, and what agents and consoles on several machines "
        "do to it at once while the server is killed.",
        {"server_speed": servers.server_speed, "fleet": servers.fleet, "shared_store": servers.shared_store},
        (Drawn("server", "A search and a durable change on a server, in ms", logarithmic=True),),
    ),
    Chapter(
        "What is too long to be held",
        "A conversation of a gigabyte and an archive of ten million entries, command by command.",
        {"long_session": speeds.long_session, "long_archive": speeds.long_archive},
        (),
    ),
    Chapter(
        "Trust",
        "What is lost of acknowledged writes, and what gets through, under the same harm.",
        {"trust": qualities.trust, "soak": qualities.soak},
        (Drawn("trust", "Acknowledged and lost, in percent"),),
    ),
)
