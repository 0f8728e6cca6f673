"""Something that a text says: of what, which value, and of what form the value is. A value only."""

from __future__ import annotations

from typing import NamedTuple


class Said(NamedTuple):
    """`key`: of whom and what (`user|home`): of two texts only those with one key can contradict each other.

    `form` says how values are compared: `place`, `name`, `number`, `date`, `zone`, `word` or `way` (of which one is
    so), or `so` (`yes` and `no`)."""

    key: str
    value: str
    form: str
