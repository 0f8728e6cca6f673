"""Writes the pages of docs/ that are made from something, and the README's table of trust; with --check only says
which are stale (exit code 1).

Owns which page comes from where: the words come from the program itself, the measurements from benchmarks/figures.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from report import page, trust_table

from nanomem_tui import actions
from nanomem_tui.actions import Action
from nanomem_tui.cli.commands.config import manual
from nanomem_tui.cli.main import root

DOCS = Path(__file__).resolve().parent.parent / "docs"
README = "../README.md"


def made() -> dict[str, str]:
    """Every generated file by its name, as seen from docs/."""
    readme = trust_table.front_page(_text(DOCS / README), json.loads(page.KEPT.read_bytes())["trust"])
    return {"keys.md": keys_page(), "nanomem.1": manual(root), README: readme, **page.files()}


def keys_page() -> str:
    """The text of ``docs/keys.md``."""
    lines = [
        "# Keys",
        "",
        _MOVING,
        "",
        "Made from the registry of actions (`nanomem_tui/actions.py`); change it there.",
        "",
    ]
    for screen, title in actions.SCREENS.items():
        own = actions.actions_on(screen, "screen")
        if own:
            lines += [f"## {title}", "", *_table(own, screen)]
    for group in ("global", "select", "move", "go"):
        listed = [action for action in actions.ACTIONS if action.group == group]
        lines += [f"## {actions.GROUP_TITLES[group]}", "", *_table(listed, "")]
    return "\n".join(lines).rstrip() + "\n"


_MOVING = """Any action can have other keys: name it as in the column Name, in the settings file that
`nanomem config path` prints (with `--here`: the one for this workspace only):

```toml
[keys]
delete = "f6"            # d does nothing then
toggle = "ctrl+t, f7"    # several keys: separated by commas
```

`nanomem config set keys '{delete = "f6"}'` writes the same after a look at it. What names no action or no key, or takes
the key of another action on the same screen, is left out, and said at the start, on the screen Status, by
`nanomem doctor` and by `nanomem config show`."""


def _table(listed: Iterable[Action], screen: str) -> list[str]:
    asks = {"none": "", "preview": " Shows first what will change.", "typed": " Asks for a typed word."}
    rows = ["| Key | Action | Name | What it does | Command |", "|---|---|---|---|---|"]
    for action in listed:
        keys = " ".join(f"`{actions.key_text(key)}`" for key in action.keys).replace("|", "\\|") or "`:`"
        commands = " · ".join(f"`nanomem {part}`" for part in action.command_on(screen).split(" · ") if part)
        told = f"{action.help_on(screen)}{asks[action.danger]}"
        rows.append(f"| {keys} | {action.label_on(screen)} | `{action.name}` | {told} | {commands} |")
    return [*rows, ""]


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
