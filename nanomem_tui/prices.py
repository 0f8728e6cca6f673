"""What a million tokens of a model cost: the prices that a person set, and which of them is a model's. Pure.

No price is known but those that were set: a model without one has none, which is not a price of nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

MILLION = 1_000_000


class Price(NamedTuple):
    """The price of a million tokens asked and of a million answered, in whatever money the person reckons."""

    asked: float
    answered: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost."""
        return (prompt_tokens * self.asked + completion_tokens * self.answered) / MILLION


def price(value: Any) -> Price:
    """A price as a person writes it: `[2.5, 10]`, or the text `2.5/10`. Raises ValueError with the reason."""
    parts = value.split("/") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        raise ValueError("two numbers are wanted, like 2.5/10")
    if any(isinstance(part, bool) or not isinstance(part, int | float | str) for part in parts):
        raise ValueError("two numbers are wanted, like 2.5/10")
    found = Price(*map(float, parts))
    if not all(math.isfinite(number) and number >= 0 for number in found):
        raise ValueError("a price is at least 0")
    return found


def price_of(model: str, prices: Mapping[str, Any]) -> Price | None:
    """The price of a model: that of the longest name that it begins with, as it is or without its provider; None
    when none was set.

    A name ends where a word of the model does: `gpt-4o` is also the price of `gpt-4o-2024-08-06`, and not of
    `gpt-4omni`; with `*` at its end it may end anywhere.
    """
    names = {model.casefold(), model.rpartition("/")[2].casefold()}
    fitting = [name for name in prices if any(_fits(name.casefold(), one) for one in names)]
    return Price(*prices[max(fitting, key=len)]) if fitting else None


def _fits(name: str, model: str) -> bool:
    begins = name.removesuffix("*")
    rest = model[len(begins) :]
    return model.startswith(begins) and (name != begins or not rest or not rest[0].isalnum())
