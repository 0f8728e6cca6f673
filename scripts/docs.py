"""Writes the pages of docs/ that are made from the program; with --check only says which are stale (exit code 1).

Owns which page comes from where; the words come from the program itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nanomem_tui import keymap
from nanomem_tui.cli.manual import manual

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = {"keys.md": keymap.keys_markdown, "nanomem.1": manual}


def main(arguments: list[str]) -> int:
    """Bring every generated page up to date, or check that it is."""
    check = arguments == ["--check"]
    stale = [name for name, made in PAGES.items() if _text(DOCS / name) != made()]
    for name in stale:
        if check:
            print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
        else:
            (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
            print(f"wrote docs/{name}")
    return 1 if check and stale else 0


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
