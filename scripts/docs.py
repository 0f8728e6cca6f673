"""Writes the pages of docs/ that are made from something, and the README's table of trust; with --check only says
which are stale (exit code 1).

Owns which page comes from where: the words come from the program itself, the measurements from benchmarks/figures.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from report import page, trust_table

from nanomem_tui import actions
from nanomem_tui.cli.commands.config import manual
from nanomem_tui.cli.main import root

DOCS = Path(__file__).resolve().parent.parent / "docs"
README = "../README.md"


def made() -> dict[str, str]:
    """Every generated file by its name, as seen from docs/."""
    readme = trust_table.front_page(_text(DOCS / README), json.loads(page.KEPT.read_bytes())["trust"])
    return {"keys.md": actions.keys_markdown(), "nanomem.1": manual(root), README: readme, **page.files()}


def main(arguments: list[str]) -> int:
    """Bring every generated file up to date, or check that it is; a picture that is made no more goes."""
    check = arguments == ["--check"]
    pages = made()
    stale = {name: text for name, text in pages.items() if _text(DOCS / name) != text}
    lost = [path for path in (DOCS / page.IMAGES).glob("*.svg") if f"{page.IMAGES}/{path.name}" not in pages]
    if check:
        for name in (*stale, *(f"{page.IMAGES}/{path.name}" for path in lost)):
            print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
        return 1 if stale or lost else 0
    for name, text in stale.items():
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/{name}")
    for path in lost:
        path.unlink()
        print(f"removed docs/{page.IMAGES}/{path.name}")
    return 0


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
