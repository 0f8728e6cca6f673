"""What the memory writes by itself, beside labels that say what a careful person would want (`tests/data/language`).

    python benchmarks/writing.py [messages] [pairs] [evidence] [--half open|sealed|both] [--show] [--json FILE]

`pairs`: how two statements stand to each other (`language.compare`): the share that is read right, and of each relation
how many of those told are right and how many are found. `evidence`: how many lines that an entry says are known to be
said (`language.compare.holds`), and how many that it does not say.

`messages`: each is a turn of one person on a private channel, after those before it. A memory counts as wanted where it
holds the words that a label asks for and none that it bars. `--show` prints what differs; never of the sealed half.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import clock, open_workspace
from nanomem_tui.language import compare
from nanomem_tui.memory.forgetting import target_of
from nanomem_tui.memory.turn_values import turn_end, turn_input
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "language"
HALVES = ("open", "sealed")
Label = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["messages"])
    parser.add_argument("--half", choices=[*HALVES, "both"], default="both")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    halves = HALVES if options.half == "both" else (options.half,)
    found: dict[str, Any] = {}
    for part in options.parts:
        for half in halves:
            shown = options.show and half == "open"
            for language, counts in PARTS[part](half, shown).items():
                found.setdefault(part, {}).setdefault(half, {})[language] = counts
                print(f"{part:9} {half:7} {language:6} " + "  ".join(format_shares(counts)))
    if options.json:
        body = {"benchmark": "writing", "seed": 0, "runs": 1, "found": found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def labels(half: str, kind: str) -> Iterator[Label]:
    """The labels of one kind, in order."""
    for path in sorted((DATA / half).glob(f"{kind}-*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def format_shares(counts: Counter[str]) -> Iterator[str]:
    """Format each count as a share of what it is counted among."""
    for name in counts:
        if (of := OF.get(name)) is not None and counts[of]:
            yield f"{name} {counts[name] / counts[of]:.2f} ({counts[name]}/{counts[of]})"


OF = {
    "wanted ones kept": "wanted",
    "kept ones wanted": "kept",
    "right kind": "wanted ones kept",
    "older given up": "replaced",
    "stays": "to stay",
    "forgotten": "to forget",
    "taught": "to teach",
    "lessons wanted": "lessons",
    "quiet": "worth nothing",
    "right": "pairs",
    "likeliest right": "pairs",
    **{f"{relation} right": f"told {relation}" for relation in compare.RELATIONS},
    **{f"{relation} found": f"are {relation}" for relation in compare.RELATIONS},
    "known as said": "said lines",
    "falsely taken": "other lines",
    "likelier right": "lines",
}
"""What each count is a share of."""


def messages(half: str, show: bool) -> dict[str, Counter[str]]:
    """What turns keep, by language."""
    found: dict[str, Counter[str]] = {}
    for label in labels(half, "messages"):
        counts = found.setdefault(label["lang"], Counter())
        with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
            difference = one_message(label, Path(folder), counts)
        if show and difference:
            print(f"{label['id']} {label['before'] or ''} {label['text']!r}\n" + "\n".join(difference))
    several = Counter[str]()
    for language, counts in found.items():
        if language not in ("en", "zh"):
            several.update(counts)
    order = [name for pair in OF.items() for name in reversed(pair)]
    every: dict[str, Counter[str]] = {**{name: found[name] for name in ("en", "zh") if name in found}}
    every |= {"others": several, "all": Counter()}
    for name, counts in every.items():
        if name != "all":
            every["all"].update(counts)
    return {name: Counter({one: counts[one] for one in order}) for name, counts in every.items()} | (
        {f"({name})": Counter({one: counts[one] for one in order}) for name, counts in found.items() if show}
    )


def one_message(label: Label, folder: Path, counts: Counter[str]) -> list[str]:
    """Tell a new memory the messages of a label, and count what came of the last; what differs, in words."""
    (folder / "workspace" / "memory").mkdir(parents=True)
    differs: list[str] = []
    with clock.at(datetime.fromisoformat(f"{label['said_at']}:00+00:00")), open_workspace(folder / "workspace") as ws:
        for text in label["before"]:
            say(ws, text, label["said_at"])
        before = {row.id: row for row in ws.items.all()}
        lessons_before = {row.id for row in ws.lessons.all()}
        say(ws, label["text"], label["said_at"])
        active = [row for row in ws.items.all() if row.enabled]
        kept = [row for row in active if row.id not in before or row.text != before[row.id].text]
        taught = [row for row in ws.lessons.all() if row.id not in lessons_before]
        gone = lost(ws, before.values(), active)
        rest = [row.text for row in before.values()]
    wanted = label["keep"]
    counts["wanted"] += len(wanted)
    counts["kept"] += len(kept)
    counts["worth nothing"] += not wanted
    counts["quiet"] += not wanted and not kept
    for row in kept:
        fits = [one for one in wanted if holds(row.text, one)]
        counts["kept ones wanted"] += bool(fits)
        if not fits:
            differs.append(f"   + {row.kind}: {row.text}")
    for one in wanted:
        rows = [row for row in kept if holds(row.text, one)]
        counts["wanted ones kept"] += bool(rows)
        counts["right kind"] += any(row.kind == one["kind"] for row in rows)
        if not rows:
            differs.append(f"   - {one['kind']}: {one['must']}")
        elif all(row.kind != one["kind"] for row in rows):
            differs.append(f"   ~ {rows[0].kind}, not {one['kind']}: {rows[0].text}")
        if one["replaces"]:
            counts["replaced"] += 1
            counts["older given up"] += one["replaces"] in gone
            if one["replaces"] not in gone:
                differs.append(f"   still: {one['replaces']}")
    stays = [text for text in rest if text not in {*label["forgets"], *(one["replaces"] for one in wanted)}]
    counts["to stay"] += len(stays)
    counts["stays"] += sum(text not in gone for text in stays)
    differs += [f"   gone: {text}" for text in stays if text in gone]
    for text in label["forgets"]:
        counts["to forget"] += 1
        counts["forgotten"] += text in gone
        if text not in gone:
            differs.append(f"   not forgotten: {text}")
    wants_lesson = label["lesson"] or []
    fits = [row for row in taught if wants_lesson and has(f"{row.trigger} {row.better_action}", wants_lesson)]
    counts["to teach"] += bool(wants_lesson)
    counts["taught"] += bool(fits)
    counts["lessons"] += len(taught)
    counts["lessons wanted"] += len(fits)
    differs += [f"   lesson: {row.better_action}" for row in taught if row not in fits]
    differs += [f"   no lesson: {wants_lesson}"] if wants_lesson and not fits else []
    return differs


def lost(ws: Workspace, before: Iterable[Item], active: Iterable[Item]) -> set[str]:
    """The messages whose memories do not hold any more: gone, switched off, replaced, or proposed to go."""
    here = {row.id: row for row in active}
    proposed = {target_of(one.row) for one in ws.inbox.list()}
    found = set()
    for row in before:
        now = here.get(row.id)
        if now is None or now.text != row.text or row.id in proposed:
            found.add(row.text)
    return found


def say(ws: Workspace, text: str, at: str) -> None:
    """One turn of one person on a private channel."""
    turn = {"session_key": "telegram:7", "channel": "telegram", "chat_id": "7", "sender_id": "7", "text": text}
    begun = ws.engine.begin_turn(turn_input({**turn, "at": f"{at}:00+00:00"}))
    ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": "Here it is."}))


def holds(text: str, wanted: Label) -> bool:
    """Whether a memory holds what a label asks for, and nothing that it bars."""
    return has(text, wanted["must"]) and not any(one.lower() in text.lower() for one in wanted["must_not"])


def has(text: str, words: Iterable[str]) -> bool:
    """Whether a text has one of the alternatives of each of these."""
    lower = text.lower()
    return all(any(one.lower() in lower for one in word.split("|")) for word in words)


def pairs(half: str, show: bool) -> dict[str, Counter[str]]:
    """How pairs of statements are read, by language."""

    def read(label: Label, counts: Counter[str]) -> str:
        wanted, found = label["relation"], compare.compared(label["a"], label["b"])
        shares = compare.shares_of(label["a"], label["b"])
        counts["pairs"] += 1
        counts["right"] += found.relation == wanted
        counts["likeliest right"] += max(shares, key=shares.__getitem__) == wanted
        counts[f"are {wanted}"] += 1
        counts[f"told {found.relation}"] += 1
        counts[f"{wanted} found"] += found.relation == wanted
        counts[f"{wanted} right"] += found.relation == wanted
        if found.relation == wanted:
            return ""
        told = " ".join(f"{name} {share:.2f}" for name, share in shares.items())
        return f"{found.relation}, not {wanted}: {label['a']!r} {label['b']!r} ({told})"

    return by_language(half, "pairs", show, read)


def evidence(half: str, show: bool) -> dict[str, Counter[str]]:
    """How lines are held against entries, by language."""

    def read(label: Label, counts: Counter[str]) -> str:
        share = compare.holds(label["entry"], label["line"])
        told = share >= compare.least_holding()
        kind = "said lines" if label["holds"] else "other lines"
        counts[kind] += 1
        counts["known as said" if label["holds"] else "falsely taken"] += told
        counts["lines"] += 1
        counts["likelier right"] += (share >= 0.5) == label["holds"]
        return "" if told == label["holds"] else f"{share:.2f} {label['holds']}: {label['entry']!r} {label['line']!r}"

    return by_language(half, "evidence", show, read)


def by_language(
    half: str, kind: str, show: bool, read: Callable[[Label, Counter[str]], str]
) -> dict[str, Counter[str]]:
    """Count what is read of each label, by language; print what differs where it is asked for."""
    found: dict[str, Counter[str]] = {}
    for label in labels(half, kind):
        language = label["lang"] if label["lang"] in ("en", "zh") else "others"
        differs = read(label, found.setdefault(language, Counter()))
        if show and differs:
            print(f"{label['id']} {differs}")
    whole = Counter[str]()
    for counts in found.values():
        whole.update(counts)
    order = [name for pair in OF.items() for name in reversed(pair)]
    return {name: Counter({one: counts[one] for one in order}) for name, counts in {**found, "all": whole}.items()}


PARTS = {"messages": messages, "pairs": pairs, "evidence": evidence}


if __name__ == "__main__":
    sys.exit(main())
