"""The lines of a history entry as the agent wrote them: mark, text, and what a line stands under.

Owns which lines belong together: what was said on the line after `Name said:`, and the entries of a list under the line
that they are of. Must not judge what a line is worth.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nanomem_tui.formats.history import marks

_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
SPEECH = re.compile(r"(?P<who>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}) (?:said|says|wrote|asked|replied): ?(?P<what>.*)")
"""Who said what: `Gina said: …`."""


class EntryLine(NamedTuple):
    """One line without its mark and bullet. `under`: the lines that it is an entry of, as `Trip to Porto:`."""

    mark: str | None
    text: str
    is_bullet: bool
    under: str = ""


def lines_of(content: str) -> list[EntryLine]:
    """The lines of an entry, in order."""
    lines: list[EntryLine] = []
    above: list[tuple[int, str]] = []
    for raw in content.split("\n"):
        is_bullet = _BULLET.match(raw) is not None
        indent = len(raw) - len(raw.lstrip()) if is_bullet else -1
        for mark, text in marks(raw):
            plain = " ".join(text.split())
            opened = SPEECH.fullmatch(lines[-1].text) if lines and mark is None and not is_bullet else None
            if opened and lines[-1].mark and not opened["what"]:
                lines[-1] = lines[-1]._replace(text=f"{lines[-1].text} {plain}")
                continue
            above = [one for one in above if one[0] < indent]
            lines.append(EntryLine(mark, plain, is_bullet, " ".join(told for _, told in above)))
            if is_bullet or plain.endswith((":", "：")):
                above.append((indent, plain))
    return lines
