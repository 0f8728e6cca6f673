"""Prints how large the project is: the table "The size of the thing".

    scripts/size.py            # the table
    scripts/size.py --cycles   # the import cycles too, and the files that only one other imports
    scripts/size.py --check    # exit code 1 where there is an import cycle

Lines are physical lines of .py, .tcss and .toml files of the package; what a program generated is left out. An import
counts wherever it stands: at the top of a file, in a function, or for types only. What a turn and a key press cross is
counted by running them: the files of the package in which a function ran.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import inspect
import os
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "nanomem_tui"
SUFFIXES = {".py", ".tcss", ".toml"}
GENERATED = {"memory_pb2.py", "memory_pb2.pyi", "statements.py"}
sys.path.insert(0, str(ROOT))


def lines_of(folder: Path, suffixes: set[str]) -> dict[Path, int]:
    """Return the physical lines of each file below a folder, generated ones left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.name not in GENERATED:
            found[path] = path.read_bytes().count(b"\n")
    return found


def module_of(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports() -> dict[str, set[str]]:
    """Return the modules of the package that each of its modules imports, types included."""
    modules = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_bytes())
        found[name] = {other for other in _imported(tree, name, path, modules.keys()) if other != name}
    return found


def _imported(tree: ast.Module, name: str, path: Path, known: Collection[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            start = base[: len(base) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{module}.{alias.name}"
                if full in known or module in known:
                    yield full if full in known else module


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or by others (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = [stack.pop()]
            while group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def single_importers(graph: dict[str, set[str]]) -> dict[str, str]:
    """Return the modules that only one other module imports, each with that one; packages and the entry left out."""
    importers = defaultdict(set)
    for name, others in graph.items():
        for other in others:
            importers[other].add(name)
    packages = {module_of(path) for path in PACKAGE.rglob("__init__.py")}
    return {name: next(iter(who)) for name, who in sorted(importers.items()) if len(who) == 1 and name not in packages}


@contextlib.contextmanager
def crossed() -> Iterator[set[str]]:
    """Fill a set with the files of the package in which a function runs meanwhile, in this thread and in new ones."""
    inside = str(PACKAGE) + os.sep
    files: set[str] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_NEWLOCALS and code.co_filename.startswith(inside):
            files.add(code.co_filename.removeprefix(inside))

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def turn_crosses() -> set[str]:
    """Return the files that one turn of an agent crosses, begin and end, in an open workspace."""
    from nanomem_tui import open_workspace
    from nanomem_tui.memory.turns.request import turn_end, turn_input

    def turn(text: str) -> None:
        who = {"channel": "telegram", "chat_id": "7", "sender_id": "ana"}
        begun = ws.engine.begin_turn(turn_input({**who, "text": text}))
        ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": "Green tea."}))

    with tempfile.TemporaryDirectory() as folder, open_workspace(_home(Path(folder))) as ws:
        ws.items.add("Ana likes green tea")
        turn("Which tea do I like?")
        with crossed() as files:
            turn("Which tea did I say that I like?")
    return files


def key_crosses() -> set[str]:
    """Return the files that `x` on a lesson crosses, from the key to the row as it is shown."""
    from nanomem_tui import open_workspace
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.core import config, paths
    from nanomem_tui.opening import Opening

    async def press(workspace: Path) -> set[str]:
        place = paths.find_workspace(workspace)
        app = NanomemApp(Opening(place, config.load(place)), first_screen="lessons")
        with crossed() as files:
            async with app.run_test(size=(120, 40)) as pilot:
                await app.settled()
                await asyncio.sleep(2)  # what is read behind the first list is not what a key crosses
                files.clear()  # the threads that are there by now are seen, too
                await pilot.press("x")
                await app.settled()
                return set(files)

    with tempfile.TemporaryDirectory() as folder:
        workspace = _home(Path(folder))
        with open_workspace(workspace) as ws:
            ws.lessons.add("a build fails", "read the log first")
        files = asyncio.run(press(workspace))
        with open_workspace(workspace) as ws:
            if any(lesson.enabled for lesson in ws.lessons.all()):
                raise SystemExit("x switched no lesson off: what it crosses was not measured")
    return files


def _home(folder: Path) -> Path:
    workspace = folder / "workspace"
    (workspace / "memory").mkdir(parents=True)
    return workspace


def options() -> int:
    """Return how many options there are: those that every command has, and those that kinds of record share, once."""
    import click

    from nanomem_tui.cli.main import root

    commands: dict[int, click.Command] = {}  # one that stands under several groups is one

    def look(command: click.Command) -> None:
        commands[id(command)] = command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                look(found)

    look(root)
    own = [{param.opts[0] for param in one.params if isinstance(param, click.Option)} for one in commands.values()]
    everywhere = set.intersection(*own)
    return len(everywhere) + sum(len(names - everywhere) for names in own)


def settings() -> int:
    """Return how many settings there are."""
    from nanomem_tui.core.settings import Settings

    return len(Settings._fields)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    graph = imports()
    circles = cycles(graph)
    if given.check:
        for circle in circles:
            print("import cycle: " + ", ".join(circle))
        return 1 if circles else 0
    source = lines_of(PACKAGE, SUFFIXES)
    folders = Counter(path.parent for path in source)
    fullest, many = folders.most_common(1)[0]
    alone = single_importers(graph)
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = [
        ("source lines", f"{sum(source.values()):,}", "72,000"),
        ("of these Python", f"{sum(n for path, n in source.items() if path.suffix == '.py'):,}", ""),
        ("source files (Python)", f"{sum(path.suffix == '.py' for path in source):,}", "280"),
        ("fullest folder", f"{fullest.relative_to(ROOT)} {many}", "15; screens, cli, agents 25"),
        ("folders with more than 15 files", str(sum(n > 15 for n in folders.values())), ""),
        ("files that only one other imports", str(len(alone)), "20"),
        ("import cycles, types included", f"{len(circles)} ({sum(map(len, circles))} files)", "0"),
        ("files that one turn crosses", str(len(turn_crosses())), "40"),
        ("files that x on a lesson crosses", str(len(key_crosses())), "20"),
        ("test lines", f"{sum(lines_of(ROOT / 'tests', {'.py'}).values()):,}", "65,000"),
        ("settings", str(settings()), "70"),
        ("options (of every command once, of a shared command once)", f"{options():,}", "700"),
        ("README", f"{readme.count(chr(10))} lines, {len(readme.split()):,} words", "120 lines"),
    ]
    width = max(len(name) for name, *_ in rows)
    for name, value, goal in rows:
        print(f"{name:{width}}  {value:>32}  {goal}".rstrip())
    if given.cycles:
        for circle in circles:
            print("import cycle: " + ", ".join(circle))
        for name, other in alone.items():
            print(f"only {other} imports {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
