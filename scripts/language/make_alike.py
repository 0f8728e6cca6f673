"""Write the groups of `alike.txt` as recall reads them: each word by its stem, with the others of its groups.

    PYTHONPATH=. python scripts/language/make_alike.py [--check]

`--check`: only say whether the pack is what the groups give.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from nanomem_tui.language.tokens import tokens

ROOT = Path(__file__).resolve().parents[2]
GROUPS = Path(__file__).with_name("alike.txt")
PACK = ROOT / "nanomem_tui" / "language" / "packs" / "alike.json"


def made() -> str:
    """The pack as it should be."""
    found: dict[str, dict[str, None]] = {}
    for line in GROUPS.read_text(encoding="utf-8").splitlines():
        words = tokens(line) if not line.startswith("#") else []
        for word in words:
            found.setdefault(word, {}).update(dict.fromkeys(other for other in words if other != word))
    body = {
        "about": "English words that a note may have where a question has another (scripts/language/make_alike.py)",
        "words": {word: " ".join(others) for word, others in sorted(found.items()) if others},
    }
    return json.dumps(body, indent=0, ensure_ascii=False) + "\n"


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        is_same = PACK.read_text(encoding="utf-8") == made()
        print("the pack is what the groups give" if is_same else f"{PACK.name} differs: run {Path(__file__).name}")
        return 0 if is_same else 1
    PACK.write_text(made(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
