"""The message of the commit that a Dream makes: how many entries were read, and of each file how many lines changed. No
word of a memory. Pure."""

from __future__ import annotations

from collections.abc import Collection

from nanomem_tui.dream.result import DreamResult


def commit_message(dreamer: str, result: DreamResult, elsewhere: Collection[str]) -> str:
    """The commit message: a prefix that the agent's own log looks for, then lines by file as the agent writes them.

    Files `elsewhere` are not in the commit."""
    lines = [f"dream: nanomem {dreamer}, {_count(result.read, 'entry', 'entries')}"]
    files = {name: counts for name, counts in result.files.items() if name not in elsewhere}
    if files:
        added = sum(counts[0] for counts in files.values())
        removed = sum(counts[1] for counts in files.values())
        lines += ["", *(f"{name}: +{counts[0]} -{counts[1]}" for name, counts in files.items())]
        changed = _count(len(files), "memory file", "memory files")
        lines.append(
            f"{changed} changed, {_count(added, 'insertion', 'insertions')}(+), "
            f"{_count(removed, 'deletion', 'deletions')}(-)"
        )
    lines += ["", f"Entries {result.span}."]
    if result.unreadable:
        lines.append(f"Passed over {_count(len(result.unreadable), 'line', 'lines')} that cannot be read.")
    return "\n".join(lines)


def _count(number: int, one: str, many: str) -> str:
    """As git and the agent write it, without a mark between thousands."""
    return f"{number} {one if number == 1 else many}"
