"""Guards: which edits of a Dreamer may be applied without a person looking at them, and why the others may not.

An edit is refused when it would lose a name, a number, a date or an address that nothing accounts for, when too many
lines of a file would go, when a file would outgrow its budget, when its text orders the agent about, or when it cannot
be written. What is refused is returned with its reason, never applied in part. Pure functions over texts and edits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nanomem_tui.dream import dates, details, tidy
from nanomem_tui.dream.edits import LineEdit, apply_edits
from nanomem_tui.errors import BadInput, Conflict
from nanomem_tui.memory import injection, secrets


@dataclass(frozen=True, slots=True)
class Limits:
    """`lost_share`: of a file's lines, how many may go in one Dream (two always may). `max_bytes`: of a file, UTF-8."""

    lost_share: float = 0.25
    max_bytes: int = 120_000
    max_line: int = 2000


@dataclass(frozen=True, slots=True)
class Refusal:
    """An edit that was not applied, and why."""

    edit: LineEdit
    why: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What may be applied, the texts that come of it, and what was refused."""

    edits: tuple[LineEdit, ...]
    files: Mapping[str, str]
    refused: tuple[Refusal, ...]


def check(
    files: Mapping[str, str],
    edits: Sequence[LineEdit],
    evidence: Mapping[int, str],
    limits: Limits | None = None,
    today: str = "",
) -> Checked:
    """Let each edit through or refuse it, in order.

    `evidence` is the text of each history entry by its cursor; `today` the day (`YYYY-MM-DD`) that the newest of them
    tells, by which a line may be over.
    """
    limits = limits or Limits()
    texts = dict(files)
    allowed = {name: max(2, int(limits.lost_share * _filled(text))) for name, text in files.items()}
    accepted: list[LineEdit] = []
    refused: list[Refusal] = []
    for edit in edits:
        why = _content(edit, limits)
        after = texts
        if not why:
            try:
                after = apply_edits(texts, [edit])
            except (BadInput, Conflict) as error:
                why = error.what
        loses = _loses(edit, after)
        if not why and loses and allowed.get(edit.file, 0) < 1:
            why = f"more than {limits.lost_share:.0%} of the file's lines would go"
        why = why or _unaccounted(edit, after, evidence, today) or _too_big(edit, texts, after, limits)
        if why:
            refused.append(Refusal(edit, why))
            continue
        texts = after
        accepted.append(edit)
        if loses:
            allowed[edit.file] -= 1
    return Checked(tuple(accepted), texts, tuple(refused))


def orders_the_agent(text: str) -> bool:
    """Whether `text` reads as an instruction to a model rather than as a memory."""
    return bool(injection.reason(text))


def _filled(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip())


def impossible(edit: LineEdit, max_line: int = Limits().max_line) -> str:
    """Why the edit cannot be a line of a file, whoever asks for it; "" when it can."""
    text = edit.new or edit.section
    try:
        f"{edit.new}{edit.section}".encode()
    except UnicodeEncodeError:
        return "text that is no UTF-8"
    if edit.op in ("add", "replace") and not edit.new.strip():
        return "an empty line"
    if len(edit.new) > max_line:
        return f"a line of more than {max_line} characters"
    return "control characters" if any(unicodedata.category(c) == "Cc" and c != "\t" for c in text) else ""


def _content(edit: LineEdit, limits: Limits) -> str:
    text = edit.new or edit.section
    if why := impossible(edit, limits.max_line):
        return why
    if kinds := {secret.kind for secret in secrets.find(text)} - {secret.kind for secret in secrets.find(edit.old)}:
        return f"it holds a secret: {', '.join(sorted(kinds))}"
    return "it reads as an instruction to the agent" if orders_the_agent(text) else ""


def _loses(edit: LineEdit, after: Mapping[str, str]) -> bool:
    """Whether a line goes: removed with no copy left, or replaced by one that has little to do with it."""
    if edit.op != "replace" or edit.supersedes:
        return edit.op == "remove" and not tidy.has_copy(after.get(edit.file, ""), edit.old)
    old, new = details.words(edit.old), details.words(edit.new)
    return bool(old) and len(old & new) * 2 < len(old)


def _unaccounted(edit: LineEdit, after: Mapping[str, str], evidence: Mapping[int, str], today: str) -> str:
    """The names, numbers, dates and addresses that would be nowhere: in no file, and in no entry that asks for it."""
    if edit.op not in ("replace", "remove"):
        return ""
    if edit.op == "remove" and (dates.is_over(edit.old, today) or tidy.has_copy(after.get(edit.file, ""), edit.old)):
        return ""
    if not edit.evidence:
        return "no history entry asks for it"
    old = details.without_notes(edit.old)
    if edit.supersedes:
        main = re.split(r"[,;，；]\s", details.without_notes(edit.supersedes), maxsplit=1)[0]
        old = old.replace(main, " ", 1) if main.strip() else old
    sources = [evidence.get(cursor, "") for cursor in edit.evidence]
    lost = details.unaccounted(old, edit.new, *sources, *after.values())
    return f"nothing accounts for {', '.join(lost[:4])}" if lost else ""


def _too_big(edit: LineEdit, before: Mapping[str, str], after: Mapping[str, str], limits: Limits) -> str:
    for name in {edit.file, edit.to_file or edit.file}:
        size = len(after.get(name, "").encode("utf-8", "replace"))
        if size > limits.max_bytes and size > len(before.get(name, "").encode("utf-8", "replace")):
            return f"{name} would have more than {limits.max_bytes} bytes"
    return ""
