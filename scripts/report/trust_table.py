"""The table of trust, from the counts that benchmarks/trust.py kept: lost, of acknowledged."""

from __future__ import annotations

from typing import Any

Counts = dict[str, Any]


def rows(found: Counts) -> list[str]:
    """The table in Markdown; a system that was not asked has a dash."""
    systems = list(dict.fromkeys(name for counts in found["lost"].values() for name in counts))
    head = [f"| What happens | {' | '.join(systems)} |", "|---" * (len(systems) + 1) + "|"]
    return head + [
        f"| {found['named'][harm]} | {' | '.join(_cell(counts.get(name)) for name in systems)} |"
        for harm, counts in found["lost"].items()
    ]


def told(part: Counts | None) -> str:
    """The table under its command and its day; empty where nothing was counted."""
    if part is None:
        return ""
    command = " ".join(["python benchmarks/trust.py", *part["options"]])
    head = f"`{command}`, {part['at'][:10]}: lost of acknowledged."
    return "\n".join([head, "", *rows(part["figures"])]) + "\n"


def _cell(count: list[int] | None) -> str:
    return "–" if count is None else f"{count[1]:,} of {count[0]:,}"
