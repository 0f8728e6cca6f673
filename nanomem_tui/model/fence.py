"""Lines that set data off from our words in a question to a model. Pure; must not know what is asked."""

from __future__ import annotations

import secrets


class Fence:
    """Lines that set data off from our words; nobody who wrote the data can know them."""

    def __init__(self, *texts: str) -> None:
        self.mark = f"=={secrets.token_hex(8)}=="
        while any(self.mark in text for text in texts):
            self.mark = f"=={secrets.token_hex(8)}=="

    def around(self, name: str, text: str) -> str:
        """`text` between two fences, the first with `name`."""
        return f"{self.mark} {name}\n{text}\n{self.mark} end of {name}"
