"""docs/benchmarks.md and its pictures, from benchmarks/figures.json. Owns the page's form; measures nothing.

A program that was not run has no part, and a row whose peer was not there names it as left out.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import pictures, trust_table
from .chapters import CHAPTERS, Chapter, Drawn
from .measure import Measure, number, times, with_unit

KEPT = Path(__file__).resolve().parents[2] / "benchmarks" / "figures.json"
KEPT_LONG = KEPT.with_name("figures_long.json")
IMAGES = "images/benchmarks"
HEAD = """# Measurements

Made from `benchmarks/figures.json` by `make docs`; change nothing here. Ours, the peers and the floor of a row were
measured in one run, so that their ratio holds on other machines where milliseconds do not. `make bench` measures all of
it, `make bench-full` also with a million items; what each needs and how long it takes is in `benchmarks/README.md`.
"""
GOALS = Drawn("goals", "Goals: each dot is a row of a table, left of the line where it is passed (logarithmic)")


def files(kept: Path = KEPT, kept_long: Path = KEPT_LONG) -> dict[str, str]:
    """Every generated file by its name below docs/."""
    parts = json.loads(kept.read_bytes())
    drawn = {f"{IMAGES}/{picture.file}": svg for picture, svg in _pictures(parts)}
    long = json.loads(kept_long.read_bytes()) if kept_long.exists() else {}
    return {"benchmarks.md": _page(parts, long, drawn), **drawn}


def write(docs: Path) -> None:
    """Write all of them."""
    for name, text in files().items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, encoding="utf-8")


def measures(name: str, parts: dict[str, Any]) -> list[Measure]:
    """What one run found; nothing where it was not made, and of a program that the page does not know."""
    program = name.partition(",")[0]
    told = next((chapter.programs[program] for chapter in CHAPTERS if program in chapter.programs), None)
    return list(told(parts[name]["figures"])) if told and name in parts else []


def _pictures(parts: dict[str, Any]) -> Iterator[tuple[Drawn, str]]:
    by_program = {name: measures(name, parts) for chapter in CHAPTERS for name in chapter.programs}
    found = [one for rows in by_program.values() for one in rows]
    yield GOALS, pictures.dots(GOALS.heading, by_program)
    for chapter in CHAPTERS:
        for drawn in chapter.pictures:
            shown = [one for one in found if one.picture == drawn.name]
            if shown:
                yield drawn, pictures.bars(pictures.Picture(drawn.heading, shown, drawn.logarithmic))


def _page(parts: dict[str, Any], long: dict[str, Any], drawn: dict[str, str]) -> str:
    lines = [HEAD, _image(GOALS), ""]
    for chapter in CHAPTERS:
        lines += _chapter(chapter, parts, drawn)
    if long:
        lines += ["## With a million items", ""]
    for name in long:
        lines += _program(name, long)
    return "\n".join(lines).rstrip("\n") + "\n"


def _chapter(chapter: Chapter, parts: dict[str, Any], drawn: dict[str, str]) -> list[str]:
    run = [name for name in chapter.programs if name in parts]
    if not run:
        return []
    lines = [f"## {chapter.heading}", "", *textwrap.wrap(chapter.words, 120), ""]
    for picture in chapter.pictures:
        if f"{IMAGES}/{picture.file}" in drawn:
            lines += [_image(picture), ""]
    for name in run:
        lines += _program(name, parts)
    return lines


def _program(name: str, parts: dict[str, Any]) -> list[str]:
    """One run: how it was made, and its table."""
    about = textwrap.wrap(_about(name.partition(",")[0], parts[name]), 120, break_on_hyphens=False)
    table = trust_table.rows(parts[name]["figures"]) if name == "trust" else _table(measures(name, parts))
    return [f"### {name}", "", *about, "", *table, ""]


def _image(picture: Drawn) -> str:
    return f"![{picture.heading}]({IMAGES}/{picture.file})"


def _about(name: str, part: dict[str, Any]) -> str:
    """The command, the day, the machine, the versions, the load, the seed, the runs, and who is left out."""
    command = " ".join(["python", f"benchmarks/{name}.py", *part["options"]])
    machine, found = part["machine"], part["figures"]
    versions = ", ".join(f"{library} {version}" for library, version in part["versions"].items())
    told = [
        f"`{command}`, {part['at'][:10]}, {part['seconds']} s, at commit {part['commit']}.",
        f"{machine['cores']} cores, {machine['system']} {machine['processor']}; {versions}.",
        f"Load {part['load'][0]:g} before, {part['load'][1]:g} after; {_taken(found)}.",
    ]
    told += [f"Left out: {who} ({why})." for who, why in sorted(found.get("left out", {}).items())]
    return " ".join(told)


def _taken(found: dict[str, Any]) -> str:
    """The seed, and how many runs a figure is of."""
    runs = found.get("runs", 1)
    seed = f"seed {found['seed']}" if "seed" in found else "nothing is drawn"
    return f"{seed}; {runs} {'run' if runs == 1 else 'runs'}"


def _table(rows: Sequence[Measure]) -> list[str]:
    head = ["| What | Ours | Floor | Peers | Ratio | Goal |", "|---|---|---|---|---|---|"]
    return [*head, *(f"| {' | '.join(_cells(one))} |" for one in rows)]


def _cells(one: Measure) -> tuple[str, ...]:
    ratio = f"{times(one.ratio)} of {one.of}" if one.ratio is not None else "–"
    return one.what, with_unit(one.ours, one.unit), _others(one.floor, one), _others(one.peers, one), ratio, _goal(one)


def _others(values: Any, one: Measure) -> str:
    return "; ".join(f"{name} {with_unit(value, one.unit)}" for name, value in values.items()) or "–"


def _goal(one: Measure) -> str:
    """The goal, and whether it is reached."""
    if one.met is None:
        return "–"
    if one.most is not None and one.ratio is not None:
        words = f"≤ {number(one.most)} ×"
    else:
        words = f"{'≥' if one.at_least else '≤'} {with_unit(one.goal or 0.0, one.unit)}"
    return words if one.met else f"{words}, **missed**"
