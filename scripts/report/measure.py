"""One measured thing beside its floor and its peers. Owns ratios, goals and how numbers are written, no program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NONE: Mapping[str, float] = {}


@dataclass(frozen=True)
class Measure:
    """Ours and what was measured in the same run; all in `unit`. Less is better, but for `at_least`."""

    what: str
    ours: float
    unit: str = "ms"
    floor: Mapping[str, float] = field(default_factory=dict)
    peers: Mapping[str, float] = field(default_factory=dict)
    of: str = ""
    """The floor or the peer that the ratio is to."""
    by_turn: float | None = None
    """The ratio as the program took it, turn by turn; else that of the two figures."""
    most: float | None = None
    """The goal of the ratio."""
    goal: float | None = None
    """The goal of ours itself."""
    at_least: bool = False
    picture: str = ""
    """The picture that it stands in."""
    label: str = ""
    """Its name there, where the heading of the picture says the rest."""

    @property
    def ratio(self) -> float | None:
        """Ours, of what it is compared with."""
        if self.by_turn is not None:
            return self.by_turn
        other = {**self.floor, **self.peers}.get(self.of)
        return self.ours / other if other else None

    @property
    def of_goal(self) -> float | None:
        """1 where the goal is just met, less where it is passed; None without a goal, or with one of nothing at all."""
        if self.most is not None and self.ratio is not None:
            return self.ratio / self.most
        if not self.goal or (self.at_least and not self.ours):
            return None
        return self.goal / self.ours if self.at_least else self.ours / self.goal

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.most is not None and self.ratio is not None:
            return self.ratio <= self.most
        if self.goal is None:
            return None
        return self.ours >= self.goal if self.at_least else self.ours <= self.goal


def some(values: Mapping[str, float], *names: str) -> dict[str, float]:
    """Those of the values that were measured."""
    return {name: values[name] for name in names if name in values}


def number(value: float) -> str:
    """Three digits that count."""
    size = abs(value)
    if size == round(size) and size < 1000:
        return f"{value:.0f}"
    for least, form in ((100, ",.0f"), (10, ".1f"), (1, ".2f"), (0.1, ".3f"), (0.01, ".4f"), (0.001, ".5f")):
        if size >= least:
            return format(value, form)
    return format(value, ".2g")


def with_unit(value: float, unit: str) -> str:
    """A number and what it counts; a share stands for itself."""
    return number(value) if unit == "share" else f"{number(value)} {unit}".strip()


def times(value: float) -> str:
    """A ratio."""
    return f"{number(value)} ×"
