"""What the memory writes by itself, beside labels that say what a careful person would want (`tests/data/language`).

    python benchmarks/writing.py [messages] [archive] [notes] [pairs] [evidence] [edits] [facts]
                                 [--half open|sealed|dev|others|both] [--show] [--json FILE]

`messages`: each is a turn of one person on a private channel, after those before it. A memory counts as wanted where it
holds the words that a label asks for and none that it bars. `ends no other`: of all that people say in a language each
statement is new in a memory of those of the others, which have nothing to do with it, and should end none of them.

`archive`: rules Dreams run on each workspace until no entry waits; `both` halves and those of `others`. An edit is
accepted where it has the right words in the right file and section, or changes the right line; `beside the old line`:
in the right section, where the line that it changes stays. What repeats or changes a line of the archive that was not
written is a new line.

`notes`: a backfill of each folder of notes. A memory is accepted where it has the words that the label of its line asks
for and none that it bars; a line worth nothing is left where no memory holds it.

`pairs`: how two statements stand to each other (`language.compare`): the share that is read right, and of each relation
how many of those told are right and how many are found. `evidence`: how many lines that an entry says are known to be
said (`language.compare.holds`), and how many that it does not say. `edits`: what a Dream's model may make of an entry:
how many honest edits are written without a look, and how many that reverse their entry or are of another (open half).

`facts`: what `crystallize` proposes by rules of one message: how many of the facts that it plainly says are found, and
how many of those found nobody said.

`--show` prints what differs; never of the sealed half.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.agents.markdown import sections
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.dreams.edits import LineEdit, Op
from nanomem_tui.dreams.guards import reason_unsupported
from nanomem_tui.language import dates, read
from nanomem_tui.language.statements import compare
from nanomem_tui.language.tokens import tokens
from nanomem_tui.memory.facts import crystallize
from nanomem_tui.memory.facts.dialogue import SpokenMessage
from nanomem_tui.memory.retention import forget_target
from nanomem_tui.memory.transfer import backfill
from nanomem_tui.memory.turns import capture
from nanomem_tui.memory.turns.request import turn_end, turn_input
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "language"
HALVES = ("open", "sealed")
SAID_AT = "2026-05-04 10:00"
Label = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--half", choices=[*HALVES, "dev", "others", "both"], default="both")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    halves = HALVES if options.half == "both" else (options.half,)
    found: dict[str, Any] = {}
    for part in options.parts:
        for half in (*halves, *(("others",) if part == "archive" and options.half == "both" else ())):
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
    "ends no other": "statements",
    "forgotten": "to forget",
    "taught": "to teach",
    "lessons wanted": "lessons",
    "quiet": "worth nothing",
    "accepted": "edits",
    "beside the old line": "edits",
    "right fact, wrong place": "edits",
    "not wanted": "edits",
    "wanted lines written": "wanted lines",
    "wanted lines to review": "wanted lines",
    "left": "lines worth nothing",
    "asked about": "lines to ask about",
    "memories accepted": "memories",
    "wanted notes kept": "wanted notes",
    "kind right": "memories accepted",
    "notes left": "notes worth nothing",
    "right": "pairs",
    "likeliest right": "pairs",
    **{f"{relation} right": f"told {relation}" for relation in compare.RELATIONS},
    **{f"{relation} found": f"are {relation}" for relation in compare.RELATIONS},
    "known as said": "said lines",
    "falsely taken": "other lines",
    "likelier right": "lines",
    "facts found": "facts said",
    "invented": "facts proposed",
    "nothing found": "messages without a fact",
    "honest ones written": "honest edits",
    "reversed ones written": "reversed edits",
}
"""What each count is a share of."""


def in_order(counts: Counter[str]) -> Counter[str]:
    """The counts in the order of `OF`, each behind what it is a share of."""
    return Counter({name: counts[name] for pair in OF.items() for name in reversed(pair)})


def with_all(found: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    """The counts, and those of all together."""
    whole = Counter[str]()
    for counts in found.values():
        whole.update(counts)
    return {name: in_order(counts) for name, counts in {**found, "all": whole}.items()}


def messages(half: str, show: bool) -> dict[str, Counter[str]]:
    """What turns keep, by language."""
    found: dict[str, Counter[str]] = {}
    for label in labels(half, "messages"):
        counts = found.setdefault(label["lang"], Counter())
        with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
            difference = one_message(label, Path(folder), counts)
        if show and difference:
            print(f"{label['id']} {label['before'] or ''} {label['text']!r}\n" + "\n".join(difference))
    for language, counts in found.items():
        counts.update(unrelated(half, language, show))
    several = Counter[str]()
    for language, counts in found.items():
        if language not in ("en", "zh"):
            several.update(counts)
    every: dict[str, Counter[str]] = {**{name: found[name] for name in ("en", "zh") if name in found}}
    every |= {"others": several, "all": Counter()}
    for name, counts in every.items():
        if name != "all":
            every["all"].update(counts)
    return {name: in_order(counts) for name, counts in every.items()} | (
        {f"({name})": in_order(counts) for name, counts in found.items() if show}
    )


def unrelated(half: str, language: str, show: bool) -> Counter[str]:
    """How many statements of a language end none of those that others made."""
    said: list[tuple[str, str]] = []
    for label in labels(half, "messages"):
        if label["lang"] == language:
            said += [(label["id"], one.text) for one in read(label["text"]).statements if label["keep"]]
            said += [(label["id"], text) for text in label["before"]]
    counts = Counter[str]()
    for who, text in said:
        rows = [Item(f"ltm_{number}", other) for number, (whose, other) in enumerate(said) if whose != who]
        ended = capture.find_given_up(text, rows)
        counts.update({"statements": 1, "ends no other": not ended})
        if show and ended:
            print(f"   {text!r} ends {[row.text for row in ended]}")
    return counts


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
    proposed = {forget_target(one.row) for one in ws.inbox.list()}
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


MEMORY_FILES = {"SOUL": "SOUL.md", "USER": "USER.md", "MEMORY": "memory/MEMORY.md"}


def archive(half: str, show: bool) -> dict[str, Counter[str]]:
    """What rules Dreams make of the lines of archives, by workspace."""
    found: dict[str, Counter[str]] = {}
    for source in sorted((DATA / half / "archive").iterdir()):
        rows = [json.loads(line) for line in (source / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
        with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
            workspace = Path(folder) / "workspace"
            shutil.copytree(source, workspace, ignore=shutil.ignore_patterns("expected.jsonl"))
            titles = {one.title for name in MEMORY_FILES.values() for one in sections((workspace / name).read_text())}
            edits, waiting = dream(workspace)
        counts, differs = judge(rows, edits, waiting, titles)
        found[source.name if half == "open" else f"no. {len(found) + 1}"] = counts
        if show:
            print(f"{source.name}\n" + "\n".join(differs))
    every = with_all(found)
    return every if show else {"all": every["all"]}


def dream(workspace: Path) -> tuple[list[LineEdit], list[LineEdit]]:
    """Run rules Dreams until no entry waits; return the edits made, and those that wait for a person."""
    edits: list[LineEdit] = []
    waiting: list[LineEdit] = []
    with open_workspace(workspace) as ws, contextlib.suppress(NothingToDo):
        while True:
            result = ws.dream.run(dreamer="rules")
            edits += result.edits
            waiting += [refused.edit for refused in result.refused]
    return edits, waiting


def judge(
    rows: list[Label], edits: list[LineEdit], waiting: list[LineEdit], titles: set[str]
) -> tuple[Counter[str], list[str]]:
    """Count what became of the lines of one archive; what differs, in words."""
    counts, differs = Counter[str](), []
    written: set[str] = set()
    asked = {said["id"] for edit in waiting if (said := source_of(edit, rows)) is not None}
    for edit in edits:
        row = source_of(edit, rows)
        verdict = "not wanted" if row is None else fits(edit, as_it_is(row, rows, written), titles)
        counts["edits"] += 1
        counts[verdict] += 1
        if row is not None and verdict != "not wanted":
            written.add(row["id"])
        if verdict != "accepted":
            place = f"{edit.file} {edit.section}"
            told = (row["becomes"], row["action"], row["section"], row["line"]) if row else ""
            differs.append(f"  {verdict}: {edit.op} {place}: {edit.old!r} -> {edit.new!r}\n      {told}")
    for row in rows:
        wanted = row["becomes"] in MEMORY_FILES and row["action"] != "there"
        if wanted:
            counts["wanted lines"] += 1
            counts["wanted lines written"] += row["id"] in written
            counts["wanted lines to review"] += row["id"] not in written and row["id"] in asked
            if row["id"] not in written:
                differs.append(f"  - {'asked' if row['id'] in asked else 'left'}: {row['becomes']} {row['line']}")
        touched = row["id"] in asked or any(source_of(edit, rows) is row for edit in edits)
        if row["becomes"] == "nothing":
            counts["lines worth nothing"] += 1
            counts["left"] += not touched
            if row["id"] in asked:
                differs.append(f"  ? asked about: {row['line']}")
        if row["becomes"] == "review":
            counts["lines to ask about"] += 1
            counts["asked about"] += row["id"] in asked
    return counts, differs


def as_it_is(row: Label, rows: list[Label], written: set[str]) -> Label:
    """A label as it is where the line of the archive that it repeats or changes was not written: the line is new."""
    before = next((one for one in rows if one["line"] == row["old"] and one is not row), None)
    if before is None or before["id"] in written:
        return row
    return {**row, "action": "add", **{name: row[name] or before[name] for name in ("must", "section")}}


def source_of(edit: LineEdit, rows: list[Label]) -> Label | None:
    """The line of the archive that an edit comes from: of one of its entries, with most words in common."""
    said = set(tokens(edit.new or edit.old))
    near = [row for row in rows if row["cursor"] in edit.evidence]
    shares = [(len(said & set(tokens(row["line"]))) / (len(said | set(tokens(row["line"]))) or 1), row) for row in near]
    share, best = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if edit.op == "replace":  # a value that changed may have few words of the line that brought it
        olds = [row for row in near if row["old"] and row["old"].strip() == edit.old.strip()]
        fitting = [pair for pair in shares if pair[1] in olds and holds(edit.new, pair[1])]
        best = max(fitting, key=lambda pair: pair[0])[1] if fitting else best
    return best if share > 0.1 or edit.op == "replace" else None


def fits(edit: LineEdit, row: Label, titles: set[str]) -> str:
    """Whether a careful person would accept an edit, or has to put it elsewhere, or does not want it."""
    file = MEMORY_FILES.get(row["becomes"])
    if file is None or row["action"] == "there":
        return "not wanted"
    if row["action"] == "remove":
        return "accepted" if edit.op == "remove" and edit.old.strip() == row["old"].strip() else "not wanted"
    if not holds(edit.new, row):
        return "not wanted"
    there = edit.section if edit.section in titles else "new"
    name = next(name for name, path in MEMORY_FILES.items() if path == edit.file)
    is_there = f"{name}:{there}" in row["section"] or (edit.file == file and there in row["section"])
    if row["action"] == "change":
        if edit.op == "add" and is_there:
            return "beside the old line"
        right = edit.op == "replace" and alike(edit.old, row["old"])
    elif edit.op == "replace":
        right = edit.file == file and set(tokens(edit.old)) <= set(tokens(edit.new))
    else:
        right = edit.op == "add" and is_there
    return "accepted" if right else "right fact, wrong place"


def alike(line: str, other: str) -> bool:
    """Whether a line is another one, or was made of it."""
    one, two = set(tokens(line)), set(tokens(other))
    return len(one & two) >= 0.5 * min(len(one), len(two))


def notes(half: str, show: bool) -> dict[str, Counter[str]]:
    """What backfills make of folders of notes, by folder."""
    found: dict[str, Counter[str]] = {}
    for source in sorted((DATA / half / "notes").iterdir()):
        rows = [json.loads(line) for line in (source / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
        with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
            names = gather(source, Path(folder) / "workspace" / "memory")
            with open_workspace(Path(folder) / "workspace") as ws:
                items = backfill.preview(ws.store, ws.paths, ws.settings).items
        counts, differs = judge_notes(rows, [(names[Path(row.meta["from"]["file"]).name], row) for row in items])
        found[source.name if half == "open" else f"no. {len(found) + 1}"] = counts
        if show:
            print(f"{source.name}\n" + "\n".join(differs))
    every = with_all(found)
    return every if show else {"all": every["all"]}


def gather(source: Path, memory: Path) -> dict[str, str]:
    """Copy the notes of a folder to where a backfill reads; return which file of the folder each copy is."""
    memory.mkdir(parents=True)
    names: dict[str, str] = {}
    for path in sorted(source.rglob("*.md")):
        copy = path.name if path.name not in names else f"{path.parent.name}-{path.name}"
        shutil.copy(path, memory / copy)
        names[copy] = path.relative_to(source).as_posix()
    return names


def judge_notes(rows: list[Label], items: list[tuple[str, Item]]) -> tuple[Counter[str], list[str]]:
    """Count what became of the lines of one folder of notes; what differs, in words."""
    counts, differs = Counter[str](), []
    labels = {(row["file"], row["number"]): row for row in rows}
    for file, item in items:
        row = labels[file, item.meta["from"]["line"]]
        accepted = row["becomes"] == "memory" and holds(item.text, row)
        counts["memories"] += 1
        counts["memories accepted"] += accepted
        counts["kind right"] += accepted and item.kind == row["kind"]
        if not accepted:
            differs.append(f"  + {file}:{row['number']} {item.kind}: {item.text!r} ({row['why']}; {row['must']})")
        elif item.kind != row["kind"]:
            differs.append(f"  ~ {file}:{row['number']} {item.kind}, not {row['kind']}: {item.text!r}")
    written = {(file, item.meta["from"]["line"]) for file, item in items}
    for row in rows:
        texts = [item.text for file, item in items if file == row["file"]]
        if row["becomes"] == "nothing":
            words = set(tokens(row["line"]))
            held = len(words) > 3 and any(words <= set(tokens(text)) for text in texts)  # fewer may stand over others
            counts["notes worth nothing"] += 1
            counts["notes left"] += not held and (row["file"], row["number"]) not in written
            continue
        counts["wanted notes"] += 1
        counts["wanted notes kept"] += any(holds(text, row) for text in texts)
        if not any(holds(text, row) for text in texts):
            differs.append(f"  - {row['file']}:{row['number']} {row['line']!r} {row['must']}")
    return counts, differs


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


def facts(half: str, show: bool) -> dict[str, Counter[str]]:
    """What is proposed as facts of single messages, by language."""

    def read(label: Label, counts: Counter[str]) -> str:
        told = SpokenMessage("telegram:7", 0, "2026-03-01T09:00:00+00:00", label["text"], label["before"], "7")
        proposed = [f"{one.category} {one.text}" for one in crystallize.propose_by_rules([told])]
        fits = [[text for text in proposed if has(text, (one["key"], one["value"]))] for one in label["facts"]]
        true = [(one["key"], one["value"]) for one in (*label["facts"], *label.get("may", ()))]
        invented = [text for text in proposed if not any(has(text, one) for one in true)]
        counts["facts said"] += len(fits)
        counts["facts found"] += sum(map(bool, fits))
        counts["facts proposed"] += len(proposed)
        counts["invented"] += len(invented)
        counts["messages without a fact"] += not true
        counts["nothing found"] += not (true or proposed)
        missed = [one["value"] for one, found in zip(label["facts"], fits, strict=True) if not found]
        return f"{label['text']!r}: missed {missed}, invented {invented}" if missed or invented else ""

    return by_language(half, "facts", show, read)


def edits(half: str, show: bool) -> dict[str, Counter[str]]:
    """What of the edits of a model is written without a look."""
    counts = Counter[str]({"honest ones written": 0, "reversed ones written": 0})
    lines = (DATA / half / "edits.tsv").read_text(encoding="utf-8").splitlines() if half == "open" else []
    for line in lines:
        if line.startswith("#"):
            continue
        verdict, owner, entry, old, new = line.replace("\\n", "\n").split("\t")
        kind = "honest" if verdict == "write" else "reversed"
        op: Op = "replace" if old and new else "remove" if old else "add"
        said = f"{SAID_AT}\n{entry}\n{dates.absolute(entry, SAID_AT)}"
        why = reason_unsupported(
            LineEdit(op, "USER.md", old=old, new=new, evidence=(1,)), said, SAID_AT[:10], "", owner
        )
        counts[f"{kind} edits"] += 1
        counts[f"{kind} ones written"] += not why
        if show and bool(why) == (kind == "honest"):
            print(f"{kind}: {entry!r} {old!r} {new!r} {why}")
    return {"all": in_order(counts)} if lines else {}


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
    return with_all(found)


PARTS = {
    "messages": messages, "archive": archive, "notes": notes, "pairs": pairs, "evidence": evidence, "edits": edits,
    "facts": facts,
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
