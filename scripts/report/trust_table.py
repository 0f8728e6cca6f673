"""The table of trust, from the counts that benchmarks/trust.py kept: lost, of acknowledged."""

from __future__ import annotations

from typing import Any

Counts = dict[str, Any]
FRONT_PAGE = ("kill", "two", "beside", "orders", "secrets")
"""The rows that the README shows; docs/benchmarks.md has all of them."""
BEGIN, END = "<!-- trust: made by scripts/docs.py -->\n", "<!-- end of trust -->"


def rows(found: Counts, harms: tuple[str, ...] = ()) -> list[str]:
    """The table in Markdown, of these harms or of all; a system that was not asked has a dash."""
    systems = list(dict.fromkeys(name for counts in found["lost"].values() for name in counts))
    head = [f"| What happens | {' | '.join(systems)} |", "|---" * (len(systems) + 1) + "|"]
    return head + [
        f"| {found['named'][harm]} | {' | '.join(_cell(found['lost'][harm].get(name)) for name in systems)} |"
        for harm in harms or found["lost"]
    ]


def front_page(readme: str, part: Counts) -> str:
    """The README with its rows of trust, under their command and their day."""
    command = " ".join(["python benchmarks/trust.py", *part["options"]])
    head = f"`{command}`, {part['at'][:10]}: lost of acknowledged."
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join([f"{before}{BEGIN}{head}", "", *rows(part["figures"], FRONT_PAGE), f"{END}{after}"])


def _cell(count: list[int] | None) -> str:
    return "–" if count is None else f"{count[1]:,} of {count[0]:,}"
