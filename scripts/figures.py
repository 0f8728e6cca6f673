"""The README's tables of figures and of trust, made from benchmarks/figures.json. Owns the rows, goals and words of the
first.

A row is left out when its benchmark was not run, or had no data or no peer.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from report import trust_table

PLACES = {
    "figures": ("<!-- figures: made by scripts/bench.py -->", "<!-- end of figures -->"),
    "trust": ("<!-- trust: made by scripts/bench.py -->", "<!-- end of trust -->"),
}
Figures = dict[str, Any]
Row = tuple[str, str, Callable[[Figures], str]]


def _times(value: float) -> str:
    return f"{value:.3f} ×" if value < 0.05 else f"{value:.2f} ×" if value < 1 else f"{value:.1f} ×"


def _start(name: str) -> Callable[[Figures], str]:
    return lambda found: _times(found[name]["wall_ratio"])


def _number(name: str, form: str = "{:.0f}") -> Callable[[Figures], str]:
    return lambda found: form.format(found[name])


def _pair(first: str, second: str) -> Callable[[Figures], str]:
    return lambda found: f"{found[first]:.1f} / {found[second]:.1f} ms"


def _over_ssh(column: str) -> Callable[[Figures], str]:
    """Bytes over SSH, on each size of terminal; in brackets where output is not thin."""

    def told(found: Figures) -> str:
        by_way = {way: [f"{row[column]:.0f}" for row in found["ssh"] if row["way"] == way] for way in ("thin", "plain")}
        return f"{' · '.join(by_way['thin'])} ({' · '.join(by_way['plain'])})"

    return told


def _engines(rows: list[Figures]) -> dict[str, Figures]:
    """Rows by engine; the peer without its version."""
    return {"taosmd" if row["engine"].startswith("taosmd ") else row["engine"]: row for row in rows}


def _share(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.3f}"


def _beside(rows: list[Figures], ours: str, others: dict[str, str], columns: tuple[str, ...]) -> str:
    found = _engines(rows)
    told = {name: " / ".join(_share(row[column]) for column in columns) for name, row in found.items()}
    return f"**{told[ours]}** ({'; '.join(f'{words} {told[name]}' for name, words in others.items() if name in told)})"


ENGLISH = {"FTS5 porter": "FTS5 porter", "tantivy en_stem": "tantivy", "taosmd": "taosmd with MiniLM"}
CHINESE = {**ENGLISH, "FTS5 porter, bigrams": "FTS5 on pairs of characters"}


PUSHED = ("metric", "event")


def _pushes(found: Figures) -> str:
    rows = [found["us"]["pushes"][name] for name in PUSHED]
    return " / ".join(_times(row["push"] / row["floor"]) for row in rows)


def _push_time(found: Figures) -> str:
    return " / ".join(f"{found['us']['pushes'][name]['push']:.1f}" for name in PUSHED)


def _turns(found: Figures) -> str:
    return _beside(found["locomo"]["turns"], "nanomem, ordered", ENGLISH, ("R@5", "R@10", "R@20", "MRR"))


def _turn_time(found: Figures) -> str:
    return _times(_engines(found["locomo"]["turns"])["nanomem, ordered"]["of FTS5"])


def _sessions(found: Figures) -> str:
    return " / ".join(_share(found["locomo"]["sessions"][name]) for name in ("hit@5", "hit@10"))


def _slip(found: Figures) -> str:
    lost = found["locomo"]["lost by a slip"]
    return f"{lost['nanomem, ordered']:.1%} (FTS5 {lost['FTS5 porter']:.1%})"


def _sentences(found: Figures) -> str:
    return _beside(found["cmrc"]["sentences"], "nanomem, facts", CHINESE, ("R@10",))


def _characters(found: Figures) -> str:
    rows = found["cmrc"]["two characters"]
    return _beside(rows, "nanomem, facts", CHINESE, ("hit@10",))


def _hybrid(found: Figures) -> str:
    others = {"nanomem, ordered": "words alone", "Chroma, MiniLM": "Chroma", "MiniLM alone": "MiniLM alone"}
    return _beside(found["locomo"]["turns"], "nanomem, hybrid", others, ("R@5", "R@10", "R@20", "MRR"))


def _hybrid_facts(found: Figures) -> str:
    others = {"nanomem, facts": "words alone"}
    return _beside(found["locomo"]["turns"], "nanomem, facts, hybrid", others, ("R@5", "R@10", "R@20", "MRR"))


def _hybrid_sessions(found: Figures) -> str:
    return " / ".join(_share(found["locomo"]["sessions"][name]) for name in ("hit@5", "hit@10"))


def _nearest(found: Figures) -> str:
    search = found["search"]
    chroma = f" (Chroma {_times(search['Chroma'] / search['numpy'])})" if "Chroma" in search else ""
    return _times(search["ours"] / search["numpy"]) + chroma


def _added(found: Figures) -> str:
    return _times(found["add"]["add"] / found["add"]["embedding"])


def _speed(name: str) -> Callable[[Figures], str]:
    """A figure of `recall_speed.py` at each number of items; of asking, the ratio to FTS5."""

    def told(found: Figures) -> str:
        sizes = found["items"].values()
        if name == "ask":
            return " · ".join(_times(row["nanomem"]["ask ms"] / row["FTS5 porter"]["ask ms"]) for row in sizes)
        return " · ".join(f"{row['nanomem']['add ms']:.3f} ms" for row in sizes)

    return told


def _floors(name: str) -> Callable[[Figures], str]:
    def told(found: Figures) -> str:
        measured = found["milliseconds (ours, floor)"]
        return " · ".join(_times(row[name][0] / row[name][1]) for row in measured.values())

    return told


def _of(ours: str, floor: str) -> Callable[[Figures], str]:
    return lambda found: " · ".join(_times(row[ours] / row[floor]) for row in found["ms"].values())


def _growth(found: Figures) -> str:
    return " / ".join(_times(found["growth"][what]) for what in ("used", "edited"))


def _waited(*names: str) -> Callable[[Figures], str]:
    """Median and 95th percentile of each of these, in milliseconds."""

    def told(found: Figures) -> str:
        rows = [found["ms"][name] for name in names]
        return " · ".join(f"{row['p50']:.2f} / {row['p95']:.2f} ms" for row in rows)

    return told


def _right(name: str) -> Callable[[Figures], str]:
    return lambda found: f"**{found[f'{name} R@3 of 50']}** (FTS5 porter {found[f'{name} FTS5 porter R@3']})"


def _called(*names: str) -> Callable[[Figures], str]:
    """What calls add to their work and to an empty one, at the 95th percentile."""
    return lambda found: " / ".join(f"{found['ms'][name]['added p95']:.2f}" for name in names) + " ms"


def _rates(*names: str) -> Callable[[Figures], str]:
    rate = "per second"
    return lambda found: " / ".join(_times(found[rate][name] / found[rate]["bare echo"]) for name in names)


def _by_size(name: str) -> Callable[[Figures], str]:
    """Seconds at each number of items, and of one pass over the rows."""

    def told(found: Figures) -> str:
        rows = found["ms"].values()
        return " · ".join(f"{row[name] / 1000:.2f} s ({_times(row[name] / row['floor'])})" for row in rows)

    return told


def _all_and_again(found: Figures) -> str:
    return f"{found['ours']['all_s']:.1f} / {found['ours']['again_s']:.3f} s"


def _held_out(found: Figures) -> str:
    row = found["quality"]["held_out"]
    return f"{row['precision']:.3f} / {row['recall']:.3f}"


def _git(name: str) -> Callable[[Figures], str]:
    """On a repository of loose objects, as an agent leaves one, beside nanobot's own store."""
    return lambda found: _times(found["loose"][name]["ours"] / found["loose"][name]["nanobot"])


SIZES = "1k · 10k · 100k"
ROWS: dict[str, list[Row]] = {
    "cli_start": [
        ("`nanomem --version`, of `python -c 'import sqlite3'`", "2 ×", _start("--version")),
        ("`memory status`, 10,000 items, of the same", "6 ×", _start("memory status")),
        ("`memory search`, 10,000 items, of the same", "7 ×", _start("memory search")),
    ],
    "console": [
        ("start to the first rows, 100,000 items, of an empty Textual app", "1.5 ×",
         lambda found: _times(found["start_ratio"])),
        ("start until the app itself answers, of the same", "1.5 ×", lambda found: _times(found["app_ratio"])),
        ("first frame", "60 ms", _number("first_frame_ms", "{:.0f} ms")),
        ("cursor down, key to frame, p50 / p95", "5 / 10 ms", _pair("down_p50_ms", "down_p95_ms")),
        ("bytes for one cursor down, 80x24", "300", _number("down_bytes")),
        ("the same over SSH, thin, 80x24 · 200x60 (written whole)", "300", _over_ssh("own")),
        ("the same compressed, as `ssh -C` does", "30", _over_ssh("zlib")),
        ("the same on the wire with `ssh -C`; {least} are SSH's own", "–", _over_ssh("wire -C")),
        ("bytes in 5 idle seconds", "0", _number("idle_bytes")),
        ("a typed letter of the filter, p50 / p95", "20 / 50 ms", _pair("typed_p50_ms", "typed_p95_ms")),
        ("the first rows found for it, p50 / p95", "20 / 50 ms", _pair("first_rows_p50_ms", "first_rows_p95_ms")),
        ("answer to Esc", "30 ms", _number("esc_ms", "{:.0f} ms")),
        ("quit", "120 ms", _number("quit_ms", "{:.0f} ms")),
        ("memory at 100,000 items", "250 MB", _number("peak_mb", "{:.0f} MB")),
        ("the same with the inbox looked through", "250 MB", _number("inbox_mb", "{:.0f} MB")),
    ],
    "git_speed": [
        ("commit, 2,000 commits, of nanobot's own store", "0.3 ×", _git("commit")),
        ("diff, of the same", "0.05 ×", _git("diff")),
        ("log, of the same", "1 ×", _git("log")),
    ],
    "moments": [
        ("100,000 items as they were 10,000 edits ago / what differs from then", "–",
         lambda found: f"{found['ours']['rows_s']:.2f} / {found['ours']['differ_s']:.2f} s"),
        ("what differs, of the same operations read and decoded", "–",
         lambda found: _times(found["ours"]["differ_of_floor"])),
    ],
    "operational": [
        ("push of a metric / an event into operational memory, of JSON and one write", "–", _pushes),
        ("the same in µs", "1,000", _push_time),
        ("newest value of a metric, in µs", "1,000",
         lambda found: f"{found['us']['asked']['newest value of a metric']:.0f}"),
    ],
    "tiers": [
        ("of 10,000 entries of now the newest 50; {n} records in each tier, p50 / p95", "1 ms",
         _waited("operational, the newest 50")),
        ("working memory: a record by its id · words in tasks · words in every kind", "5 ms",
         _waited("working, a record by its id", "working, words in tasks", "working, words in every kind")),
        ("long-term memory: words in decisions · words in every kind", "50 ms",
         _waited("longterm, words in decisions", "longterm, words in every kind")),
    ],
    "records_meaning": [
        ("{n} records by words and meaning, {index}, p50 / p95", "50 ms",
         _waited("words and meaning, every collection")),
    ],
    "knowledge": [
        ("man pages of 200 commands, right section in the first three of 50, keywords", "–", _right("keywords")),
        ("the same asked as sentences", "–", _right("questions")),
    ],
    "service_speed": [
        ("gRPC `GetMetric` / `StoreTask` / `GetTasksForGoal`, beyond their work and an empty rpc, p95", "0.3 ms",
         _called("GetMetric", "StoreTask", "GetTasksForGoal")),
        ("calls a second, 64 at a time, of a bare grpc.aio echo: `GetMetric` / `StoreTask`", "–",
         _rates("GetMetric", "StoreTask")),
    ],
    "recall": [
        ("LoCoMo turns, R@5 / R@10 / R@20 / MRR", ".68 / .76 / .81 / .60", _turns),
        ("the time of that, of FTS5", "0.3 ×", _turn_time),
        ("LoCoMo sessions with any evidence, hit@5 / hit@10", ".94 / .97", _sessions),
        ("one slip in each question, loss of R@10", "3 %", _slip),
        ("CMRC, Chinese sentences, R@10", ".89", _sentences),
        ("two Chinese characters, hit@10", "1", _characters),
    ],
    "recall_speed": [
        (f"recall, {SIZES} items, of FTS5 porter", "– · 0.08 · 0.09 ×", _speed("ask")),
        (f"add to the live index, {SIZES}", "0.03 ms", _speed("add")),
    ],
    "vectors": [
        ("LoCoMo turns with `[vector]`, R@5 / R@10 / R@20 / MRR", ".71 / .79 / .84 / .62", _hybrid),
        ("the same as facts that stand alone", "–", _hybrid_facts),
        ("LoCoMo sessions with `[vector]`, hit@5 / hit@10", ".94 / .97", _hybrid_sessions),
        ("the ten nearest of 20,000 facts, of bare numpy", "1.2 ×", _nearest),
        ("a fact added and found by its meaning, of its embedding", "1.2 ×", _added),
    ],
    "triage": [
        (f"first look of the queue's own finders, {SIZES} items (of one pass over the rows)", "5 s at 100k",
         _by_size("first look")),
        (f"the same again after 200 changes, {SIZES}", "1.5 s at 100k", _by_size("second look")),
    ],
    "duplicates": [
        ("all duplicates of 100,000 items, from nothing / after a change", "20 / 0.5 s", _all_and_again),
        ("labelled pairs that were not seen before: precision of what is offered, recall", ".98 / –", _held_out),
    ],
    "conflicts": [
        ("all contradictions of 100,000 items, from nothing / after a change", "–", _all_and_again),
        ("labelled pairs that were not seen before: precision, recall", "–", _held_out),
    ],
    "scopes": [
        (f"the matrix of scopes, {SIZES} items (of one pass over the rows)", "0.5 s at 100k", _by_size("matrix")),
        (f"what leaks, {SIZES}, from nothing", "2 s at 100k", _by_size("leaks")),
        (f"the same after 200 changes, {SIZES}", "0.5 s at 100k", _by_size("leaks again")),
    ],
    "turn_speed": [
        (f"a use of an item, counted in RAM, {SIZES}, of JSON and one write", "3 ×", _floors("update in RAM")),
        (f"a durable change, {SIZES}, of a bare SQLite FULL upsert", "2 ×", _floors("explicit durable write")),
    ],
    "keeping_speed": [
        (f"checkpoint of 100 used of {SIZES}, of the JSON rewrite", "0.01 × at 100k",
         _of("checkpoint, used", "JSON rewrite")),
        (f"checkpoint of 100 edited of {SIZES}, of the same", "0.01 × at 100k",
         _of("checkpoint, edited", "JSON rewrite")),
        ("checkpoint of 100 of 100k, of that of 1k, used / edited", "2 ×", _growth),
        (f"open to the first answer, {SIZES}, of a full read with sqlite3", "2 ×",
         _of("open until a first answer", "full read")),
        (f"the same with the index in RAM built from nothing, {SIZES}", "15 ×",
         _of("open, index built in RAM", "full read")),
    ],
}  # fmt: skip


def table(kept: dict[str, Any]) -> str:
    """The table and the line that says what it was measured on; Markdown, ends with a newline."""
    lines = ["| What | Ours | Goal | Command |", "|---|---|---|---|"]
    for program, rows in ROWS.items():
        command = f"`benchmarks/{program}.py`"
        for label, goal, show in rows if program in kept else ():
            try:
                named = _named(label, kept[program]["figures"])
                lines.append(f"| {named} | {show(kept[program]['figures'])} | {goal} | {command} |")
                command = ""
            except (KeyError, StopIteration):  # no data for it, or no peer
                continue
    return "\n".join([*_about(kept), "", *lines]) + "\n"


def _named(label: str, found: Figures) -> str:
    """A row's words, with how many there were."""
    if SIZES in label:
        return label.replace(SIZES, _sizes(found))
    count = found.get("n") or found.get("vectors") or 0
    least = f"{found['ssh'][0]['least']:.0f}" if "{least}" in label else ""
    return label.replace("{n}", f"{count:,}").replace("{index}", str(found.get("index"))).replace("{least}", least)


def _sizes(found: Figures) -> str:
    """How many items there were, as the rows name them."""
    given = found.get("ms") or found.get("milliseconds (ours, floor)") or found["items"]
    counts = [int(count) for count in given]
    return " · ".join(f"{count // 1000}k" for count in counts) or SIZES


def _about(kept: dict[str, Any]) -> list[str]:
    parts = [part for name, part in kept.items() if name in ROWS]
    if not parts:
        return []
    versions, machine = parts[-1]["versions"], parts[-1]["machine"]
    days = sorted({part["at"][:10] for part in parts})
    loads = [load for part in parts for load in part["load"]]
    about = (
        f"{machine['cores']} cores, {machine['system']} {machine['processor']}, Python {versions['python']}, SQLite "
        f"{versions['sqlite']}, Textual {versions['textual']}; {' to '.join(dict.fromkeys((days[0], days[-1])))}; load "
        f"{min(loads):g} to {max(loads):g}, for other programs ran on the machine."
    )
    return textwrap.wrap(about, 120)


def bring_up_to_date(readme: Path, kept: Path, *, check: bool) -> int:
    """Write the README's tables anew, or with `check` only say whether one is stale (1)."""
    text = made = readme.read_text(encoding="utf-8")
    parts = json.loads(kept.read_bytes())
    for name, body in (("figures", table(parts)), ("trust", trust_table.told(parts.get("trust")))):
        begin, end = PLACES[name]
        head, _, rest = made.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            print(f"{readme.name} has no place for the {name}: {begin} … {end}", file=sys.stderr)
            return 1
        made = f"{head}{begin}\n{body}{end}{tail}"
    if made == text:
        return 0
    if check:
        print(f"{readme.name}'s tables are stale: run `scripts/bench.py --readme`", file=sys.stderr)
        return 1
    readme.write_text(made, encoding="utf-8")
    print(f"wrote the tables of {readme.name}")
    return 0
