"""Writing a settings file of ours: one value set, one taken out. As it was, it stays beside it as `.bak`.

Comments in the file are lost. Must not decide which file: callers name it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nanomem_tui import config
from nanomem_tui.errors import BadInput, NothingToDo
from nanomem_tui.store import atomic


def save(file: Path, name: str, text: str) -> Any:
    """Set `name` to the value that `text` means; returns the value. Raises BadInput or InvalidConfig."""
    value = config.from_text(name, text, "")
    _write(file, {**config.read_toml(file), name: value})
    return value


def drop(file: Path, name: str, *, dry_run: bool = False) -> Any:
    """Take `name` out of the file, so that its default holds again; returns the value that stood there.

    Also a name that is no setting (any more). Raises NothingToDo where it is not set, BadInput or InvalidConfig.
    """
    table = config.read_toml(file)
    if name not in table:
        if name not in config.ABOUT:
            raise BadInput(f"no setting `{name}`", str(file), "`nanomem config show` lists them")
        raise NothingToDo(f"{name} is not set", str(file), "`nanomem config show` says where a value comes from")
    value = table.pop(name)
    if not dry_run:
        _write(file, table)
    return value


def _write(file: Path, table: dict[str, Any]) -> None:
    import tomli_w

    atomic.make_folder(file.parent)
    if file.exists():
        atomic.write_atomic(file.with_name(f"{file.name}.bak"), file.read_bytes())
    atomic.write_atomic(file, tomli_w.dumps(table).encode())
