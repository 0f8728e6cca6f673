"""The rows of a list as a file: JSON, CSV or a Markdown table; pure values, no widget.

Every column is written, also those that the screen had no room for. What a spreadsheet would take for a formula, or a
reader of Markdown for a mark, is written so that it is text.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from nanomem_tui.core.text import one_line, safe_text
from nanomem_tui.widgets.table import Column

Row = TypeVar("Row")

FORMATS = ("json", "csv", "md")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKS = str.maketrans({char: f"\\{char}" for char in "\\`*[]<>|"})


def exported(columns: Sequence[Column[Row]], rows: Iterable[Row], row_id: Callable[[Row], str], suffix: str) -> str:
    """The rows in the format of `FORMATS` that `suffix` names: an object, a line or a table row each, `id` first.

    JSON keeps each text as it is; CSV and Markdown show control characters as pictures, as the screen does.
    """
    named = [("id", "Id", row_id), *((column.key, column.title, column.written or column.render) for column in columns)]
    if suffix == "json":
        objects = [{key: render(row) for key, _, render in named} for row in rows]
        return json.dumps(objects, ensure_ascii=False, indent=1) + "\n"
    if suffix == "csv":
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([key for key, _, _ in named])
        writer.writerows([_no_formula(safe_text(render(row))) for _, _, render in named] for row in rows)
        return file.getvalue()
    lines = [_table_line(title for _, title, _ in named), _table_line("---" for _ in named)]
    lines += [_table_line(_plain(render(row)) for _, _, render in named) for row in rows]
    return "\n".join(lines) + "\n"


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    return one_line(text).translate(_MARKS)


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
