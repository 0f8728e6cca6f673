"""Guards: which edits of a Dreamer may be applied without a person looking at them, and why the others may not.

An edit is refused when it would lose a name, a number, a date or an address that nothing accounts for, when too many
lines of a file would go, when a file would outgrow its budget, when its text orders the agent about, or when it cannot
be written. What is refused is returned with its reason, never applied in part. Pure functions over texts and edits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.core.text import is_utf8, whole
from nanomem_tui.dream import details, tidy, titles
from nanomem_tui.dream.edits import LineEdit, apply_edits
from nanomem_tui.language import dates, injection, secrets
from nanomem_tui.language.tokens import fold, tokens
from nanomem_tui.store.forgotten import WHY, Forgotten

_REST = re.compile(r"[,;，；]\s|\s*[(（](?!as of \d)")
"""What follows a value and is none of it: only the value itself is superseded. When it was told belongs to it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`lost_share`: of a file's lines, how many may go in one Dream (one always may, two of six).
    `max_bytes`: of a file, UTF-8. `forgotten`: what no line may say again."""

    lost_share: float = 0.25
    max_bytes: int = 120_000
    max_line: int = 2000
    forgotten: Forgotten = field(default_factory=Forgotten)


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


class Gate:
    """Lets edits through one after the other, each against the texts that the ones before it left.

    `evidence` is the text of each history entry by its cursor; `today` the newest day (`YYYY-MM-DD`) that the history
    tells, by which a line may be over.
    """

    def __init__(
        self, files: Mapping[str, str], evidence: Mapping[int, str], limits: Limits | None = None, today: str = ""
    ) -> None:
        self.files = dict(files)
        self._evidence = evidence
        self._limits = limits or Limits()
        self._today = today
        self._allowed = {name: _may_go(text, self._limits.lost_share) for name, text in files.items()}

    def admit(self, edit: LineEdit) -> str:
        """Make the edit and return "", or return why it must not be made."""
        limits, before = self._limits, self.files
        if why := _content(edit, before, limits):
            return why
        try:
            after = apply_edits(before, [edit])
        except (BadInput, Conflict) as error:
            return error.what
        loses = _loses(edit, before)
        if loses and self._allowed.get(edit.file, 0) < 1:
            return f"more than {limits.lost_share:.0%} of the file's lines would go"
        why = _unaccounted(edit, before, after, self._evidence, self._today) or _too_big(edit, before, after, limits)
        if not why:
            self.files = after
            if loses:
                self._allowed[edit.file] -= 1
        return why


def check(
    files: Mapping[str, str],
    edits: Sequence[LineEdit],
    evidence: Mapping[int, str],
    limits: Limits | None = None,
    today: str = "",
) -> Checked:
    """Let each edit through or refuse it, in order; see `Gate`."""
    gate = Gate(files, evidence, limits, today)
    accepted: list[LineEdit] = []
    refused: list[Refusal] = []
    for edit in edits:
        if why := gate.admit(edit):
            refused.append(Refusal(edit, why))
        else:
            accepted.append(edit)
    return Checked(tuple(accepted), gate.files, tuple(refused))


def evidence_of(entries: Sequence[HistoryEntry]) -> dict[int, str]:
    """The text of each entry by its cursor; of several that carry one cursor, all their texts."""
    evidence: dict[int, str] = {}
    for entry in entries:
        evidence[entry.cursor] = f"{evidence.get(entry.cursor, '')}\n{entry.content}"
    return evidence


def orders_the_agent(text: str) -> bool:
    """Whether `text` reads as an instruction to a model, or an order to the agent, rather than as a memory."""
    return bool(injection.reason(text) or injection.command(text))


def _may_go(text: str, share: float) -> int:
    """How many lines of a text may go: its share, or two where that is not half of it, and one."""
    filled = sum(1 for line in text.split("\n") if line.strip())
    return max(1, min(2, filled // 3), int(share * filled))


def impossible(edit: LineEdit, max_line: int = Limits().max_line) -> str:
    """Why the edit cannot be a line of a file, whoever asks for it; "" when it can."""
    written = f"{edit.new}{edit.section}"
    if not is_utf8(written):
        return "text that is no UTF-8"
    if edit.op in ("add", "replace") and not edit.new.strip():
        return "an empty line"
    if len(edit.new) > max_line:
        return f"a line of more than {max_line} characters"
    if edit.op in ("add", "move") and (why := titles.impossible(edit.section)):
        return why
    return "control characters" if any(unicodedata.category(c) == "Cc" and c != "\t" for c in written) else ""


def _content(edit: LineEdit, files: Mapping[str, str], limits: Limits) -> str:
    if why := impossible(edit, limits.max_line):
        return why
    if edit.op in ("remove", "move") and titles.leads(files.get(edit.file, ""), edit.old, edit.line):
        return "lines stand under it"
    title = titles.made(edit, files)
    if limits.forgotten and limits.forgotten.value([edit.new, title]):
        return WHY
    brought = _secrets(edit.new) | _secrets(title)
    if kinds := {kind for kind, _ in brought - _secrets(edit.old)}:
        return holding(kinds)
    return next((injection.WHY for one in (edit.new, title) if one and orders_the_agent(one)), "")


def holding(kinds: Iterable[str]) -> str:
    """The reason against a line with secrets of these kinds."""
    return f"it holds a secret: {', '.join(sorted(kinds))}"


def discreet(refusal: Refusal) -> Refusal:
    """The refusal with a reason that repeats no part of a secret in its edit: reasons are kept and shown."""
    kinds = repeated(refusal.edit, refusal.why)
    return Refusal(refusal.edit, holding(kinds) if kinds else whole(refusal.why))


def repeated(edit: LineEdit, text: str) -> set[str]:
    """The kinds of the secrets in the lines of the edit of which `text` repeats a part."""
    said = fold(text)
    kinds = set()
    for line in (edit.old, edit.new, edit.section):
        for secret in secrets.find(line):
            value = fold(line[secret.start : secret.end])
            parts = {value, *details.details(value), *tokens(value)}
            kinds |= {secret.kind} if any(part and details.holds(said, part) for part in parts) else set()
    return kinds


def _secrets(text: str) -> set[tuple[str, str]]:
    return {(secret.kind, secret.fingerprint) for secret in secrets.find(text)}


def _loses(edit: LineEdit, before: Mapping[str, str]) -> bool:
    """Whether a line goes: removed with no copy left, replaced by one that has little to do with it, or moved away."""
    if edit.op == "move":
        return edit.to_file not in ("", edit.file)
    if edit.op != "replace" or edit.supersedes:
        return edit.op == "remove" and not tidy.has_copy(before.get(edit.file, ""), edit)
    old, new = details.words(edit.old), details.words(edit.new)
    return bool(old) and len(old & new) * 2 < len(old)


def _unaccounted(
    edit: LineEdit, before: Mapping[str, str], after: Mapping[str, str], evidence: Mapping[int, str], today: str
) -> str:
    """The names, numbers, dates and addresses that would be nowhere: in no file, and in no entry that asks for it."""
    if edit.op not in ("replace", "remove"):
        return ""
    if edit.op == "remove" and (dates.is_over(edit.old, today) or tidy.has_copy(before.get(edit.file, ""), edit)):
        return ""
    if not edit.evidence:
        return "no history entry asks for it"
    old = edit.old
    if edit.supersedes:
        main = _REST.split(edit.supersedes, maxsplit=1)[0]
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
