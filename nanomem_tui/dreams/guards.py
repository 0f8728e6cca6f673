"""Guards: which edits of a Dreamer may be applied without a person looking at them, and why the others may not.

An edit is refused when it would lose a name, a number, a date or an address that nothing accounts for, when too many
lines of a file would go, when a file would outgrow its budget, when its text orders the agent about, or when it cannot
be written. What is refused is returned with its reason, never applied in part. Pure functions over texts and edits.
`Gate.admit` holds every edit, of the rules and of a model, against the entries that it cites; `reason_unsupported` also
asks of a model's words whether those entries say them (the rules write an entry's own words).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from nanomem_tui.agents.archive import HistoryEntry, marked_lines
from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.core.text import is_utf8, without_lone_surrogates
from nanomem_tui.dreams import edits
from nanomem_tui.dreams import edits as dreams_edits
from nanomem_tui.dreams.edits import LineEdit, apply_edits
from nanomem_tui.language import dates, injection, secrets, sentences
from nanomem_tui.language.statements import compare, pair_features
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
        why = _lost_details(edit, before, after, self._evidence, self._today) or _too_big(edit, before, after, limits)
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
    """Return the text of each entry by its cursor; of several that carry one cursor, all their texts."""
    evidence: dict[int, str] = {}
    for entry in entries:
        evidence[entry.cursor] = f"{evidence.get(entry.cursor, '')}\n{entry.content}"
    return evidence


def orders_the_agent(text: str) -> bool:
    """Return whether `text` reads as an instruction to a model, or an order to the agent, rather than as a memory."""
    return bool(injection.reason(text) or injection.command(text))


def _may_go(text: str, share: float) -> int:
    """Return how many lines of a text may go: its share, or two where that is not half of it, and one."""
    filled = sum(1 for line in text.split("\n") if line.strip())
    return max(1, min(2, filled // 3), int(share * filled))


def impossible_line(edit: LineEdit, max_line: int = Limits().max_line) -> str:
    """Return why the edit cannot be a line of a file, whoever asks for it; "" when it can."""
    written = f"{edit.new}{edit.section}"
    if not is_utf8(written):
        return "text that is no UTF-8"
    if edit.op in ("add", "replace") and not edit.new.strip():
        return "an empty line"
    if len(edit.new) > max_line:
        return f"a line of more than {max_line} characters"
    if edit.op in ("add", "move") and (why := dreams_edits.impossible_heading(edit.section)):
        return why
    return "control characters" if any(unicodedata.category(c) == "Cc" and c != "\t" for c in written) else ""


def _content(edit: LineEdit, files: Mapping[str, str], limits: Limits) -> str:
    if why := impossible_line(edit, limits.max_line):
        return why
    if edit.op in ("remove", "move") and dreams_edits.leads_lines(files.get(edit.file, ""), edit.old, edit.line):
        return "lines stand under it"
    title = dreams_edits.new_heading(edit, files)
    if limits.forgotten and limits.forgotten.value([edit.new, title]):
        return WHY
    brought = _secrets(edit.new) | _secrets(title)
    if kinds := {kind for kind, _ in brought - _secrets(edit.old)}:
        return secret_reason(kinds)
    return next((injection.WHY for one in (edit.new, title) if one and orders_the_agent(one)), "")


def secret_reason(kinds: Iterable[str]) -> str:
    """Return the reason against a line with secrets of these kinds."""
    return f"it holds a secret: {', '.join(sorted(kinds))}"


def without_secrets(refusal: Refusal) -> Refusal:
    """Return the refusal with a reason that repeats no part of a secret in its edit: reasons are kept and shown."""
    kinds = repeated_secrets(refusal.edit, refusal.why)
    return Refusal(refusal.edit, secret_reason(kinds) if kinds else without_lone_surrogates(refusal.why))


def repeated_secrets(edit: LineEdit, text: str) -> set[str]:
    """Return the kinds of the secrets in the lines of the edit of which `text` repeats a part."""
    said = fold(text)
    kinds = set()
    for line in (edit.old, edit.new, edit.section):
        for secret in secrets.find(line):
            value = fold(line[secret.start : secret.end])
            parts = {value, *dreams_edits.details(value), *tokens(value)}
            kinds |= {secret.kind} if any(part and dreams_edits.holds(said, part) for part in parts) else set()
    return kinds


def _secrets(text: str) -> set[tuple[str, str]]:
    return {(secret.kind, secret.fingerprint) for secret in secrets.find(text)}


def _loses(edit: LineEdit, before: Mapping[str, str]) -> bool:
    """Return whether a line goes: removed with no copy left, replaced by something else, or moved away."""
    if edit.op == "move":
        return edit.to_file not in ("", edit.file)
    if edit.op != "replace" or edit.supersedes:
        return edit.op == "remove" and not dreams_edits.has_copy(before.get(edit.file, ""), edit)
    old, new = dreams_edits.meaningful_words(edit.old), dreams_edits.meaningful_words(edit.new)
    return bool(old) and len(old & new) * 2 < len(old)


def _lost_details(
    edit: LineEdit, before: Mapping[str, str], after: Mapping[str, str], evidence: Mapping[int, str], today: str
) -> str:
    """Return the names, numbers, dates and addresses that no file and no cited entry would hold any more."""
    if edit.op not in ("replace", "remove"):
        return ""
    if edit.op == "remove" and (
        dates.is_over(edit.old, today) or dreams_edits.has_copy(before.get(edit.file, ""), edit)
    ):
        return ""
    if not edit.evidence:
        return "no history entry asks for it"
    old = edit.old
    if edit.supersedes:
        main = _REST.split(edit.supersedes, maxsplit=1)[0]
        old = old.replace(main, " ", 1) if main.strip() else old
    sources = [evidence.get(cursor, "") for cursor in edit.evidence]
    lost = dreams_edits.unaccounted_details(old, edit.new, *sources, *after.values())
    return f"nothing accounts for {', '.join(lost[:4])}" if lost else ""


def _too_big(edit: LineEdit, before: Mapping[str, str], after: Mapping[str, str], limits: Limits) -> str:
    for name in {edit.file, edit.to_file or edit.file}:
        size = len(after.get(name, "").encode("utf-8", "replace"))
        if size > limits.max_bytes and size > len(before.get(name, "").encode("utf-8", "replace")):
            return f"{name} would have more than {limits.max_bytes} bytes"
    return ""


# Secrets stay here: the texts as a model may see them, and its edits put back on the lines as they are.


class MaskedFiles:
    """The memory files with each secret masked, and the way back. `files` have the lines of the real ones."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._real: dict[str, str] = {}  # of each mask what it stands for, within one line
        self.files = {name: self._masked(text) for name, text in files.items()}

    def lifted(self, edits: Iterable[LineEdit]) -> tuple[list[LineEdit], list[Refusal]]:
        """(the edits on the real lines, those that would write a mask where no secret stood)."""
        made: list[LineEdit] = []
        refused: list[Refusal] = []
        for edit in edits:
            real = self.lift(edit)
            if kinds := masked_kinds(real.new, real.section):
                refused.append(Refusal(real, secret_reason(kinds)))
            else:
                made.append(real)
        return made, refused

    def lift(self, edit: LineEdit) -> LineEdit:
        """Return the edit on the real line: what is masked in `old` is as it stands, also where `new` keeps it."""
        held = _masks(edit.old)
        heads = set() if dreams_edits.new_heading(edit, self.files) else _masks(edit.section)  # a heading as it stands
        if not held and not heads:
            return edit
        return replace(edit, old=self._put(edit.old, held), new=self._put(edit.new, held),
                       supersedes=self._put(edit.supersedes, held), section=self._put(edit.section, heads))  # fmt: skip

    def _put(self, text: str, held: set[str]) -> str:
        real = {mask: self._real.get(mask, mask) for mask in held}
        return secrets.mask_pattern().sub(lambda mask: real.get(mask[0], mask[0]), text)

    def _masked(self, text: str) -> str:
        parts, last = [], 0
        for secret in secrets.find(text):
            parts.append(text[last : secret.start])
            name = f"[{secret.kind} #{secret.fingerprint}]"
            lines = re.split(r"(\r?\n)", text[secret.start : secret.end])
            parts += [self._mask(name, line) if line and at % 2 == 0 else line for at, line in enumerate(lines)]
            last = secret.end
        return "".join((*parts, text[last:]))

    def _mask(self, name: str, value: str) -> str:
        """A mask that stands for `value` alone: a fingerprint is short, and a key may have several lines."""
        mask, number = name, 1
        while self._real.setdefault(mask, value) != value:
            number += 1
            mask = f"{name[:-1]}.{number}]"
        return mask


@lru_cache(4096)
def hide(text: str) -> str:
    """`text` as a model may see it."""
    return secrets.mask(text)


def hide_entries(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Return the entries as a model may see them."""
    return [
        entry._replace(
            content=hide(without_lone_surrogates(entry.content)), timestamp=without_lone_surrogates(entry.timestamp)
        )
        for entry in entries
    ]


def unmasked(text: str) -> str:
    """`text` without the masks in it."""
    return secrets.mask_pattern().sub(" ", text)


def masked_kinds(*texts: str) -> tuple[str, ...]:
    """Return the kinds of secrets that are masked in `texts`."""
    return tuple(sorted({found["kind"] for text in texts for found in secrets.mask_pattern().finditer(text)}))


def on_its_line(edit: LineEdit, files: Mapping[str, str]) -> LineEdit:
    """An edit that was kept masked, naming the line as it stands, with the secret also where the new line keeps it.

    As it is when nothing in its line is masked, or when no one line of its file is what was masked.
    """
    if not secrets.is_masked(edit.old):
        return edit
    lines = {line.removesuffix("\r") for line in files.get(edit.file, "").split("\n")}
    there = [line for line in lines if secrets.mask(line) == edit.old]
    if edit.old in lines or len(there) != 1:
        return edit
    old, new = there[0], edit.new
    for secret in secrets.find(old):
        new = new.replace(f"[{secret.kind} #{secret.fingerprint}]", old[secret.start : secret.end])
    return replace(edit, old=old, new=new)


def secrets_brought(edit: LineEdit, title: str) -> set[str]:
    """Return the kinds of secrets, masked or plain, that the edit of a model would write where none stood: in its line,
    or in the heading `title` that it makes."""
    masks = {mask for text in (edit.new, title) for mask in _masks(text)} - _masks(edit.old)
    plain = {secret.kind for text in (edit.new, title) for secret in secrets.find(text)}
    return {*masked_kinds(*masks), *plain}


def _masks(text: str) -> set[str]:
    return {found[0] for found in secrets.mask_pattern().finditer(text)}


# Whether the entries that an edit of a model cites say what the edit does: what it writes, what it takes away.

SOUL = "SOUL.md"
OTHER_LANGUAGE = "it is written in another language than its entries"
_WISH = 0.25
"""How likely a line has to be one."""
UNASKED = "no entry that it cites is a wish of the user for how the agent behaves"
LEAST_RELATED = 0.6
"""How sure it has to be that a new line is another value of the line in whose place it comes, or its denial."""
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}  # what is written together


def reason_unsupported(edit: LineEdit, said: str, today: str, text: str, around: str = "") -> str:
    """Return why a person must look at the edit; "" when `said`, the entries that it cites, bear it out.

    `today` is the newest day of the history; `text` that of the file before the edit; `around` what the line stands
    under, and the name of the owner.
    """
    said = unmasked(said)
    if edit.op in ("add", "replace"):
        new = unmasked(edit.new)
        if _is_foreign(new, said) and edits.missing_words(edits.meaningful_words(new), edits.meaningful_words(said)):
            return OTHER_LANGUAGE
        return _unsaid(plain(new), said, plain(unmasked(edit.old)), around) or _lost(edit, said) or _unasked(edit, said)
    if edit.op == "move" and edit.to_file not in ("", edit.file):
        return _moved(edit, said) or _unasked(edit, said)
    if edit.op == "remove" and not _support_may_go(edit, today, text):
        language = compare.language_of_both(said, edit.old)
        why = pair_features.takes_back(said, plain(edit.old), language, around)
        return OTHER_LANGUAGE if why and _is_foreign(edit.old, said) else why
    return ""


def _unsaid(new: str, said: str, old: str, around: str) -> str:
    """Return why the entries do not say a new line, or what it adds to the old one."""
    why = compare.held(said, new, around).why
    added = new.removeprefix(old).strip(" ,;.，；。、") if old and new.startswith(old) else ""
    return compare.held(said, added, f"{around} {old}").why if why and len(added.split()) > 1 else why


def _lost(edit: LineEdit, said: str) -> str:
    """Return why a line must not be replaced: no entry speaks of it, and the new line neither updates nor denies it."""
    old, new = plain(edit.old), plain(edit.new)
    lost = edits.meaningful_words(old) - edits.meaningful_words(new)
    if not lost or not edits.missing_words(lost, edits.meaningful_words(said)) or _of_one_field(old, new):
        return ""
    shares = compare.shares_of(old, new)
    if pair_features.have_one_value(old, new) or 1 - shares["different"] - shares["unsure"] >= LEAST_RELATED:
        return ""
    return f"the entries that it cites say nothing of {', '.join(as_written(old, lost)[:4])}"


def _of_one_field(old: str, new: str) -> bool:
    """Return whether two lines are fields of one name: `City: Porto` and `City: Rome`."""
    keys = [fold(one.replace("：", ":").partition(":")[0].strip("* ")) for one in (old, new)]
    return keys[0] == keys[1] and all(":" in one.replace("：", ":") for one in (old, new))


def _is_wish(text: str) -> bool:
    """Return whether a line of an entry says how the agent has to behave, or what its user likes."""
    shares = sentences.read(text).shares
    return shares["rule"] + shares["preference"] >= _WISH and not injection.reason(text)


def _unasked(edit: LineEdit, said: str) -> str:
    """Return whether nobody asked for what is written of how the agent behaves: of that only its user decides."""
    if SOUL not in (edit.to_file or edit.file, edit.to_file):
        return ""
    wanted = edits.meaningful_words(edit.new or edit.old)
    told = [text for _, text in marked_lines(said)]
    held = [(len(wanted) - len(edits.missing_words(wanted, edits.meaningful_words(one))), one) for one in told]
    most = max((count for count, _ in held), default=0)
    asked = most and all(_is_wish(one) for count, one in held if count == most)
    return "" if asked else UNASKED


def reason_unsaid_heading(title: str, new: str, said: str) -> str:
    """Return why no edit may make the heading `title` above the line `new`; "" when it is a general one, or `said`."""
    unsaid = edits.missing_words(
        edits.heading_subjects(unmasked(title)), edits.meaningful_words(said) | edits.meaningful_words(new)
    )
    if unsaid or pair_features.denies(title):
        words = ", ".join(as_written(title, unsaid)[:4]) if unsaid else title
        return f"it would make a heading, and no entry that it cites says {words}"
    return ""


def _moved(edit: LineEdit, said: str) -> str:
    """Return whether the entries speak of the line that goes to another file: of half of what it is about."""
    about = edits.meaningful_words(edit.old)
    if 2 * len(edits.missing_words(about, edits.meaningful_words(said))) <= len(about):
        return ""
    nothing = f"the entries that it cites do not ask to move it to {edit.to_file}"
    return OTHER_LANGUAGE if _is_foreign(edit.old, said) else nothing


def _support_may_go(edit: LineEdit, today: str, text: str) -> bool:
    """Return whether a line may go without evidence: it is empty, over, or twice in its list."""
    return not edits.meaningful_words(edit.old) or dates.is_over(edit.old, today) or edits.has_copy(text, edit)


def plain(line: str) -> str:
    """Return what a line says, without bullet, mark and white space around it."""
    found = marked_lines(line)
    return found[0][1] if found else ""


def as_written(text: str, words: frozenset[str]) -> list[str]:
    """Return the words as the line has them."""
    written = [word.strip("*`_\"'()[].,;:!") for word in text.split()]
    found = [word for word in dict.fromkeys(written) if words & edits.meaningful_words(word)]
    return found or sorted(words)


def _is_foreign(text: str, said: str) -> bool:
    """Return whether no line of the entries is in the script of `text`, but for names and the like."""
    script = _script(text)
    return script != "" and script not in {_script(line) for line in said.split("\n")} - {""}


@lru_cache(1024)
def _script(text: str) -> str:
    """Return the script in which most words of a line are, as Unicode calls it; "" for a line without words."""
    found = Counter[str]()
    before = ""
    for letter in fold(text):
        name = unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""
        script = _ONE_SCRIPT.get(name, name)
        if script and (script == "CJK" or script != before):  # a character there is a word elsewhere
            found[script] += 1
        before = script
    return max(found, key=lambda script: (found[script], script == "CJK"), default="")
