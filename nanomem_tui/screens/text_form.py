"""Several texts edited as one: each part under a line with its name, in a field of many lines or in an editor. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput


class TextForm(NamedTuple):
    """The parts by the line above each, with the field that it edits; `whose` is what is edited, in words."""

    parts: Mapping[str, str]
    whose: str

    def text(self, fields: Mapping[str, Any]) -> str:
        """The form with `fields` filled in."""
        return "\n\n".join(f"{name}\n{fields[field] or ''}" for name, field in self.parts.items()) + "\n"

    def read(self, text: str) -> dict[str, str]:
        """The fields of an edited form. Raises BadInput when a part was lost."""
        found: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in text.split("\n"):
            name = line.strip().rstrip(":")
            if name in self.parts and self.parts[name] not in found:
                lines = found.setdefault(self.parts[name], [])
            else:
                lines.append(line)
        missing = [name for name, field in self.parts.items() if field not in found]
        if missing:
            raise BadInput(f"the line {missing[0]} is missing", self.whose, f"keep the lines {', '.join(self.parts)}")
        return {field: "\n".join(lines).strip() for field, lines in found.items()}

    def edited(self, shown: str, text: str) -> dict[str, str]:
        """The fields whose text is another one than it was when it was shown. Raises BadInput."""
        before = self.read(shown)
        return {field: value for field, value in self.read(text).items() if value != before[field]}
