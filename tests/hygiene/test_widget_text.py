"""Memory text reaches a widget as `Content` or `Text`, never as a `str`, which would be read as markup and sent on raw.

A lint of the source: where a widget takes what it shows, the argument must be our own words (a constant) or a value
that is not put together as a string.
"""

import ast

import pytest

from tests.hygiene.repository import PACKAGE, modules, name

# Widgets of Textual that show their first argument, and calls that replace what is shown.
SHOWN = {"Static", "Label", "Button", "Option", "Checkbox", "RadioButton", "Tab", "TabPane", "Collapsible", "Markdown"}
REPLACED = {"update", "add_option"}
# The one door for messages: it cuts, cleans and switches markup off.
NOTIFIES = "nanomem_tui/widgets/bars.py"
ASSIGNED = {"border_title", "border_subtitle", "tooltip", "placeholder", "label"}
MARKUP = {"from_markup", "render_markup"}


def is_built_string(node):
    """Whether the expression is certainly a `str` made from something else."""
    match node:
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.FormattedValue) for value in values)
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            return any(_is_text(side) or is_built_string(side) for side in (left, right))
        case ast.Call(func=ast.Name(id="str" | "repr" | "format")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format" | "join")):
            return True
        case ast.IfExp(body=body, orelse=other):
            return is_built_string(body) or is_built_string(other)
        case ast.BoolOp(values=values):
            return any(is_built_string(value) for value in values)
    return False


def may_be_shown(node):
    """Whether the expression is our own words, or comes from a function that makes a `Content`, as mypy then checks."""
    match node:
        case ast.Constant():
            return True
        case ast.Call():
            return not is_built_string(node)
        case ast.IfExp(body=body, orelse=other):
            return may_be_shown(body) and may_be_shown(other)
    return False


def _is_super(node):
    """Whether a method is the base class's own, called by the method that overrides it."""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return True
    return False


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def offences(source):
    """(line, what) of each string that is handed to a widget, or of markup that is made from a value."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in SHOWN and not all(may_be_shown(argument) for argument in node.args[:1]):
                yield node.lineno, f"{called}() gets something that may be a string"
            if called in REPLACED and any(is_built_string(argument) for argument in node.args[:1]):
                yield node.lineno, f"{called}() gets a string"
            if called == "notify" and not _is_super(node.func):
                yield node.lineno, "notify() outside of the toast"
            if called in MARKUP and not all(_is_text(argument) for argument in node.args):
                yield node.lineno, f"{called}() gets a value"
        elif isinstance(node, ast.Assign):
            targets = {target.attr for target in node.targets if isinstance(target, ast.Attribute)}
            if targets & ASSIGNED and not may_be_shown(node.value):
                yield node.lineno, f"{', '.join(targets)} may be a string"


def console_modules():
    top = (path for path in PACKAGE.glob("*.py") if "textual" in path.read_text(encoding="utf-8"))
    return [*modules("nanomem_tui/screens", "nanomem_tui/widgets"), *top]


@pytest.mark.slow
def test_no_widget_gets_a_string_that_was_put_together():
    looked_at = [path for path in console_modules() if name(path) != NOTIFIES]
    assert len(looked_at) > 10
    found = [f"{name(path)}:{line}: {what}" for path in looked_at for line, what in offences(path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'Static(f"{item.text}")',
        "Static(item.text)",
        "self.border_title = title",
        'self.query_one(Static).update("About " + item.text)',
        'self.notify("%s" % error)',
        'Label(", ".join(names))',
        "Label(str(error))",
        'OptionList().add_option("{}".format(x))',
        'self.border_title = f"{title}"',
        "Content.from_markup(item.text)",
        'self.notify(text if text else f"{error}")',
    ],
)
def test_the_lint_sees(line):
    assert list(offences(line))


@pytest.mark.parametrize(
    "line", ['Static("Nothing here")', "Static(Content(safe_text(x)))", "counts.update(more)", "self.border_title = ''"]
)
def test_the_lint_lets_pass(line):
    assert list(offences(line)) == []
