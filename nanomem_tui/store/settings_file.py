"""Writing a settings file of ours: one value set, one taken out. As it was, it stays beside it as `.bak`.

Comments in the file are lost. Must not decide which file: callers name it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui import config, regular, setting_values, settings
from nanomem_tui.errors import BadInput, NothingToDo
from nanomem_tui.store import atomic


class Saved(NamedTuple):
    """What was set, and what stood there before (None: nothing)."""

    value: Any
    was: Any = None


def save(file: Path, name: str, text: str, *, workspace: Path | None = None, dry_run: bool = False) -> Saved:
    """Set `name` to the value that `text` means; `workspace`: the one it is for. Nothing else is judged.

    Raises BadInput or InvalidConfig, and has written nothing then.
    """
    value = setting_values.to_keep(name, text, workspace)
    table = config.read_toml(file)
    if not dry_run:
        _write(file, {**table, name: value})
    return Saved(value, table.get(name))


def drop(file: Path, name: str, *, dry_run: bool = False) -> Any:
    """Take `name` out of the file, so that its default holds again; returns the value that stood there.

    Also a name that is no setting (any more). Raises NothingToDo where it is not set, BadInput or InvalidConfig.
    """
    table = config.read_toml(file)
    if name not in table:
        if name not in settings.ABOUT:
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
        atomic.write_atomic(file.with_name(f"{file.name}.bak"), regular.read(file))
    atomic.write_atomic(file, tomli_w.dumps(table).encode())
