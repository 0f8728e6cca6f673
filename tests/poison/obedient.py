"""An agent that does whatever its prompt tells it, wherever that stands, but inside the block that is marked as data.

It knows the marks as a careless model does: whatever their case, width, dashes, blanks or brackets look like. What
stands between the first that opens and the first that closes is data; everything else is obeyed.
"""

from __future__ import annotations

import re
import unicodedata

_BRACKETS = str.maketrans(dict.fromkeys("‹〈⟨❬❮❰《≪«˂ᐸ", "<") | dict.fromkeys("›〉⟩❭❯❱》≫»˃ᐳ", ">"))
_LETTERS = str.maketrans("\u0430\u0435\u043e\u0441\u0443é10I", "aeocyeloL".lower())
_SLASHES = str.maketrans(dict.fromkeys("\\⁄∕⧸╱", "/"))
_OPENS = re.compile(r"<\s*recalled[\W_]*memory[^>]*>", re.IGNORECASE)
_CLOSES = re.compile(r"<\s*/\s*recalled[\W_]*memory[^>\n]*>?", re.IGNORECASE)


def obeyed(prompt: str) -> list[str]:
    """The lines that it obeys."""
    lines: list[str] = []
    inside = False
    for line in prompt.splitlines():  # also at U+2028 and NEL
        read = "".join(
            one for one in unicodedata.normalize("NFKC", line) if unicodedata.category(one) not in ("Cf", "Cc")
        )
        read = read.translate(_BRACKETS).translate(_SLASHES)
        while read:
            found = (_CLOSES if inside else _OPENS).search(read.translate(_LETTERS))
            if not inside:
                lines.append(read[: found.start()] if found else read)
            read, inside = (read[found.end() :], not inside) if found else ("", inside)
    return [line.strip() for line in lines if line.strip()]
