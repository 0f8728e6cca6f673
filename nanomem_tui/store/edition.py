"""Which store a workspace runs on. Goes with the first one (docs/decisions/0094)."""

from __future__ import annotations


def is_second(store: object) -> bool:
    """Whether it is the store of `nanomem_tui.database`, which only tests ask for."""
    return type(store).__module__.startswith("nanomem_tui.database")
