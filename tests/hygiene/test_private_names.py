"""No test imports, reads or replaces a name of nanomem that begins with an underscore: tests speak through public ones.

A name that Textual or a named tuple has too (`App._display`, `_replace`) is theirs, and one that a test's own class
defines is that test's.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from nanomem_tui.agents.archive import HistoryEntry
from tests.hygiene.repository import modules
from tests.hygiene.repository import name as path_name

PRIVATE = re.compile(r"_[^_]")
PLACE = re.compile(r"nanomem_tui[\w.]*\.(_[^_\W]\w*)")
BY_NAME = frozenset({"setattr", "delattr", "getattr", "hasattr", "object", "attrgetter", "methodcaller"})
OF_LIBRARIES = frozenset(name for one in (App(), Screen, Widget, HistoryEntry) for name in dir(one))
OF_SELF = frozenset({"self", "cls", "super()"})
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""What is left, by file and name, each with its reason."""


def defined(tree: ast.AST) -> Iterator[str]:
    """The names beginning with an underscore of functions, classes, variables and attributes that a module makes."""
    for node in ast.walk(tree):
        made: list[str | None] = []
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                made = [name]
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                made = [name]
            case ast.AnnAssign(target=ast.Name(id=name)):
                made = [name]
        yield from (name for name in made if name and PRIVATE.match(name))


@cache
def our_names() -> frozenset[str]:
    """Every such name of the package that is no library's."""
    made = (defined(ast.parse(path.read_text("utf-8"))) for path in modules("nanomem_tui"))
    return frozenset(chain.from_iterable(made)) - OF_LIBRARIES


def imported(tree: ast.AST) -> frozenset[str]:
    """The names that a module has from the package."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nanomem_tui")
        for alias in node.names
    )


def of_itself(tree: ast.AST) -> frozenset[int]:
    """The attributes that a class has of itself, by their nodes: its own, or any where it is made of none of ours."""
    ours, found = imported(tree), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            below = {ast.unparse(base).split(".")[0].split("[")[0] for base in node.bases}
            own = frozenset(defined(node))
            for part in ast.walk(node):
                if isinstance(part, ast.Attribute):
                    of = ast.unparse(part.value)
                    if (of in {"self", "cls"} and part.attr in own) or (of in OF_SELF and not below & ours):
                        found.add(id(part))
    return frozenset(found)


def private(text: str, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines of a test, and in them the names of `names`, that it should not know."""
    tree, known = ast.parse(text), frozenset(names)
    own = of_itself(tree)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=aliases) if module.startswith("nanomem_tui"):
                yield from ((node.lineno, one.name) for one in aliases if PRIVATE.match(one.name))
            case ast.Attribute(attr=name) if name in known and id(node) not in own:
                yield node.lineno, name
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=given) if called in BY_NAME:
                said = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                yield from ((node.lineno, name) for name in said if name in known)
            case ast.Constant(value=str(said)) if "nanomem_tui" in said:
                yield from ((node.lineno, name) for name in PLACE.findall(said))
                if "import" in said:  # a program that a test runs
                    try:
                        yield from ((node.lineno, name) for _, name in private(textwrap.dedent(said), known))
                    except SyntaxError:
                        continue


def test_no_test_knows_a_private_name():
    names = our_names()
    found = [
        (path_name(path), line, met)
        for path in sorted(modules("tests"))
        if path != Path(__file__)
        for line, met in private(path.read_text("utf-8"), names)
    ]
    assert [one for one in found if (one[0], one[2]) not in EXCEPTIONS] == []
    assert EXCEPTIONS.keys() <= {(path, met) for path, _, met in found}, "an exception that nobody needs"


@pytest.mark.parametrize(
    "text",
    [
        "from nanomem_tui.memory.doctor import _version",
        "from nanomem_tui import open_workspace\nwith open_workspace(home) as ws:\n    ws.store._layer_of('x')",
        "monkeypatch.setattr(ws.triage, '_made', ())",
        "monkeypatch.setattr('nanomem_tui.store.database.reading.SqliteReading._connected', None)",
        "getattr(habits, '_read')()",
        "from nanomem_tui.store.files.user import Habits\nclass Own(Habits):\n    kept = lambda self: self._read()",
        "CODE = '''\n    from nanomem_tui import open_workspace\n    open_workspace('.').store._layer_of\n    '''",
    ],
)
def test_each_way_to_a_private_name_is_seen(text):
    assert len(list(private(text, our_names()))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "class Own:\n    def __init__(self):\n        self._read = 1\n        assert self._read",
        "row._replace(text='')",
        "from textual.app import App\nApp._display",
    ],
)
def test_what_is_a_tests_own_or_of_a_library_is_none(text):
    assert list(private(text, our_names())) == []
