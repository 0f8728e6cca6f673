"""The model Dreamer: a language model studies the new entries, then proposes edits of lines, step by step.

Owns the two phases and what of the model's answers is believed: an edit names a line as it stands and entries of the
batch that ask for it, and writes nothing that they do not say. The model sees memory as data and touches no file; what
it proposes goes through the guards like any other edit. Must not know endpoints, keys or the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core.errors import ModelTooLong
from nanomem_tui.dream import details, prompts
from nanomem_tui.dream.desk import Desk
from nanomem_tui.dream.dreamer import NO_EDIT, Proposal, Watch, nobody
from nanomem_tui.dream.edits import TITLES, LineEdit
from nanomem_tui.dream.facts import MEMORY, Skipped
from nanomem_tui.dream.guards import Refusal
from nanomem_tui.dream.veil import Veil, hide_entries
from nanomem_tui.language import secrets
from nanomem_tui.model.client import estimate_tokens

if TYPE_CHECKING:
    from nanomem_tui.model.client import Answer, ModelClient

_OURS = 1500  # tokens of our own words and of the shape
_LEAST = 400  # tokens that are left for entries, however small the model
_HALVINGS = 4
_MOST_ANSWERS = 30  # however many steps there are
_STOPPED = "it repeated an edit that was refused"
_ENTRIES_SHARE = 0.6


class _Fact(NamedTuple):
    """What the model found worth remembering, and the entries that say it."""

    text: str
    file: str
    evidence: tuple[int, ...]

    def line(self) -> str:
        """The fact as the model reads it again."""
        return f"- {self.text} [entries {', '.join(map(str, self.evidence))}; for {self.file or 'any file'}]"


@dataclass(frozen=True, slots=True)
class _Study:
    """What came of the first phase: which entries it reached, the facts, and notes for people."""

    entries: Sequence[HistoryEntry]
    facts: tuple[_Fact, ...]
    analysis: str
    whole: bool  # whether the entries fit into one question


class ModelDreamer:
    """Asks a language model. The edits of one run are at most `steps`, reads included."""

    name = "model"

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    def propose(
        self, entries: Sequence[HistoryEntry], files: Mapping[str, str], *, steps: int, watch: Watch = nobody
    ) -> Proposal:
        """The edits that the model makes of `entries`; the fewer entries, the less fits into one question.

        Raises the errors of the endpoint (`ModelError`): then nothing was found at all.
        """
        before = self._client.usage
        veil = Veil({name: files.get(name, "") for name in TITLES})
        try:
            study = self._studied(hide_entries(entries), veil.files, watch)
            desk = Desk(veil.files, study.entries)
            if study.facts:
                self._edited(study, desk, steps, watch)
        finally:
            self._client.close()
        waiting = _waiting(study, desk)
        done = _done(study.entries, waiting)
        notes = [study.analysis]
        if waiting and done == study.entries[-1].cursor:
            notes.append(f"{steps} steps were not enough for all of it: what is left is for a person to judge.")
        elif waiting:
            notes.append(f"{steps} steps were not enough for all of it: the entries after {done} wait.")
        ahead = sum(max(edit.evidence) > done for edit in desk.edits)
        if ahead:
            notes.append(f"{ahead} of its edits are for entries after {done}, which wait for the next Dream.")
        if desk.repeats:
            notes.append(f"The model was stopped: {_STOPPED}.")
        late = [Refusal(edit, f"more than {steps} steps") for edit in desk.left_over]
        edits, hiding = veil.lifted(desk.edits)
        left = _left_alone(study, desk)
        if not desk.finished:
            why = _STOPPED if desk.repeats else f"{steps} steps were not enough"
            late += [Refusal(_asked_for(fact), why) for fact in left]
        refused = [Refusal(veil.lift(one.edit), one.why) for one in (*desk.refused, *late)]
        skipped = [*desk.skipped, *(map(_no_edit, left) if desk.finished else ())]
        return Proposal(
            tuple(edit for edit in edits if max(edit.evidence) <= done),
            tuple(line for line in skipped if line.cursor <= done),
            secrets.mask("\n".join(filter(None, notes))),
            self._client.usage - before,
            tuple(refusal for refusal in (*refused, *hiding) if max(refusal.edit.evidence, default=0) <= done),
            done,
        )

    # Phase one

    def _studied(self, entries: Sequence[HistoryEntry], files: Mapping[str, str], watch: Watch) -> _Study:
        """The facts of as many entries as the model takes at once, from the oldest; of one too long, part by part."""
        room = self._room()
        for halving in range(_HALVINGS + 1):
            try:
                return self._study(entries, files, room, watch)
            except ModelTooLong:
                if halving == _HALVINGS or room // 2 < _LEAST:
                    raise
                room //= 2
        raise AssertionError("unreachable")

    def _study(self, entries: Sequence[HistoryEntry], files: Mapping[str, str], room: int, watch: Watch) -> _Study:
        space = max(_LEAST, int(room * _ENTRIES_SHARE))
        taken = _fitting(entries, space)
        questions = [[prompts.entry_text(entry) for entry in taken]]
        whole = sum(map(estimate_tokens, questions[0])) <= space
        notes = []
        if not whole:
            questions = [[text] for entry in taken for text in _parts(entry, space)]
            notes.append(f"Entry {taken[0].cursor} is long: it was studied in {len(questions)} parts.")
        if len(taken) < len(entries):
            notes.append(f"{len(taken)} of {len(entries)} entries were studied: more did not fit; the rest waits.")
        facts: list[_Fact] = []
        for number, texts in enumerate(questions, 1):
            part = f", part {number} of {len(questions)}" if len(questions) > 1 else ""
            shown = _shown(files, {}, texts, room - sum(map(estimate_tokens, texts)))
            asked = prompts.study_messages(texts, shown, _span(taken) + part)
            shape = prompts.study_shape([entry.cursor for entry in taken])
            answer = self._ask(asked, shape, "study", f"studying the entries {_span(taken)}{part}", watch)
            found, left_out = _facts(answer.value["facts"], taken)
            facts += found
            notes += [answer.value["analysis"].strip()] if answer.value["analysis"].strip() else []
            if left_out:
                notes.append(f"{left_out} of its facts named no entry of this Dream and were left out.")
        return _Study(taken, tuple(facts), "\n".join(notes), whole)

    # Phase two

    def _edited(self, study: _Study, desk: Desk, steps: int, watch: Watch) -> None:
        for _ in range(_MOST_ANSWERS):
            if desk.steps >= steps or desk.repeats:
                return
            answer = self._step(study, desk, steps, watch)
            did = desk.steps
            for asked in answer["read"]:
                if desk.steps < steps:
                    desk.read(asked["file"], asked["first"], asked["last"])
            for number, raw in enumerate(answer["edits"]):
                if desk.steps >= steps:
                    desk.cut_off(answer["edits"][number:])
                    return
                desk.take(raw)
            if desk.steps == did or (answer["status"] == "done" and not desk.told and not answer["read"]):
                desk.finished = True
                return

    def _step(self, study: _Study, desk: Desk, steps: int, watch: Watch) -> Mapping[str, Any]:
        room = self._room()
        facts = [fact.line() for fact in study.facts]
        entries = [prompts.entry_text(entry) for entry in study.entries] if study.whole else []
        shape = prompts.step_shape([entry.cursor for entry in study.entries])
        at = f"editing, step {desk.steps + 1} of at most {steps}"
        for halving in range(_HALVINGS + 1):
            left = room - sum(map(estimate_tokens, (*entries, *facts, *desk.log)))
            shown = _shown(desk.files, desk.asked, [*entries, *facts], left)
            asked = prompts.step_messages(entries, facts, shown, desk.log, steps - desk.steps)
            try:
                answer = self._ask(asked, shape, "step", at, watch).value
                desk.show()
                return answer
            except ModelTooLong:
                if halving == _HALVINGS or room // 2 < _LEAST:
                    raise
                room //= 2
                entries = []  # the facts say what counts in them
        raise AssertionError("unreachable")

    def _room(self) -> int:
        """How many tokens memory may take in one question."""
        config = self._client.config
        return max(_LEAST, config.context_tokens - config.max_tokens - _OURS)

    def _ask(
        self, messages: list[prompts.Message], schema: Mapping[str, Any], name: str, step: str, watch: Watch
    ) -> Answer:
        watch(step)
        return self._client.ask(messages, schema, name, watch=lambda _at: watch(step))


def _fitting(entries: Sequence[HistoryEntry], space: int) -> Sequence[HistoryEntry]:
    """The oldest entries that fit into `space` tokens together; a cursor as a whole, the first whatever its size."""
    used, fits = 0, 0
    for number, entry in enumerate(entries, 1):
        used += estimate_tokens(prompts.entry_text(entry))
        if used > space:
            break
        if number == len(entries) or entries[number].cursor != entry.cursor:
            fits = number
    if fits:
        return entries[:fits]
    return [entry for entry in entries if entry.cursor == entries[0].cursor]


def _parts(entry: HistoryEntry, space: int) -> list[str]:
    """The entry in parts of at most `space` tokens, cut between lines where that is possible, nothing left out."""
    size = max(1, space - 40) * 3  # bytes: some scripts count more tokens than others
    parts: list[str] = []
    held = b""
    for line in entry.content.encode("utf-8", "replace").splitlines(keepends=True):
        if held and len(held) + len(line) > size:
            parts.append(held.decode("utf-8", "replace"))
            held = b""
        held += line
        while len(held) > size:
            at = size
            while at > 1 and held[at] & 0xC0 == 0x80:  # not inside a character
                at -= 1
            parts.append(held[:at].decode("utf-8", "replace"))
            held = held[at:]
    parts.append(held.decode("utf-8", "replace"))
    named = [f", part {number} of {len(parts)}" if len(parts) > 1 else "" for number in range(1, len(parts) + 1)]
    return [prompts.entry_text(entry, text, part) for text, part in zip(parts, named, strict=True)]


def _shown(files: Mapping[str, str], asked: Mapping[str, set[int]], texts: Sequence[str], room: int) -> dict[str, str]:
    """The files with numbered lines: whole when they fit into `room` tokens, else what was asked for, the headings and
    the lines that have most to do with `texts`; each gap is named."""
    lines = {
        name: [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] for name, text in files.items()
    }
    whole = {name: prompts.numbered(found) for name, found in lines.items()}
    if sum(map(estimate_tokens, whole.values())) <= room:
        return whole
    wanted = details.words("\n".join(texts))
    ranked: list[tuple[int, str, int]] = []
    for name, found in lines.items():
        for number, line in enumerate(found, 1):
            near = 10_000 if number in asked.get(name, ()) else 1_000 if line.startswith("#") else 0
            near += len(details.words(line) & wanted)
            if near and line.strip():
                ranked.append((-near, name, number))
    chosen: dict[str, list[int]] = {name: [] for name in files}
    for _, name, number in sorted(ranked):
        room -= estimate_tokens(lines[name][number - 1]) + 12  # with its number and the gap beside it
        if room < 0:
            break
        chosen[name].append(number)
    return {name: prompts.numbered(found, chosen[name]) for name, found in lines.items()}


def _facts(found: Sequence[Mapping[str, Any]], entries: Sequence[HistoryEntry]) -> tuple[list[_Fact], int]:
    """The facts that name entries of the batch, and how many do not."""
    cursors = {entry.cursor for entry in entries}
    facts = [
        _Fact(" ".join(fact["text"].split()), fact["file"], tuple(sorted(cursors.intersection(fact["evidence"]))))
        for fact in found
    ]
    good = [fact for fact in facts if fact.evidence and fact.text]
    return good, len(facts) - len(good)


def _waiting(study: _Study, desk: Desk) -> list[int]:
    """The entries (the last of each fact or edit) that the steps did not reach; none when the model was done."""
    if desk.finished or desk.repeats:
        return []
    waiting = [max(fact.evidence) for fact in _untouched(study, desk)]
    return waiting + [max(edit.evidence) for edit in desk.left_over if edit.evidence]


def _left_alone(study: _Study, desk: Desk) -> list[_Fact]:
    """The facts of which no edit was made: what the model found is told, or waits, and is not lost unseen.

    Which edit is of which fact nobody says: where there are fewer than facts of an entry, it is told by the words."""
    left = []
    for fact in study.facts:
        tries = _tries(fact, desk)
        others = [one for one in study.facts if not {*one.evidence}.isdisjoint(fact.evidence)]
        said = details.words(fact.text)
        if len(tries) < len(others) and not any(2 * len(said & details.words(line)) >= len(said) for line in tries):
            left.append(fact)
    return left


def _no_edit(fact: _Fact) -> Skipped:
    return Skipped(max(fact.evidence), secrets.mask(fact.text), NO_EDIT, fact=True)


def _asked_for(fact: _Fact) -> LineEdit:
    """The edit that a fact asks for when the model comes to none."""
    file = fact.file if fact.file in TITLES else MEMORY
    return LineEdit("add", file, new=f"- {fact.text}", evidence=fact.evidence, why="found and not edited in")


def _untouched(study: _Study, desk: Desk) -> list[_Fact]:
    """The facts whose entries no edit names, made or not."""
    return [fact for fact in study.facts if not _tries(fact, desk)]


def _tries(fact: _Fact, desk: Desk) -> list[str]:
    """The lines of the edits, made or not, that name an entry of the fact."""
    edits = (*desk.edits, *(refusal.edit for refusal in desk.refused), *desk.left_over)
    tried = [(edit.evidence, f"{edit.old} {edit.new}") for edit in edits]
    tried += [((line.cursor,), line.text) for line in desk.skipped]
    return [text for cursors, text in tried if not {*cursors}.isdisjoint(fact.evidence)]


def _done(entries: Sequence[HistoryEntry], waiting: Sequence[int]) -> int:
    """The last cursor before those that wait; when that is none, the last of all: a Dream always gets on."""
    first = min(waiting, default=entries[-1].cursor + 1)
    done = [entry.cursor for entry in entries if entry.cursor < first]
    return done[-1] if done else entries[-1].cursor


def _span(entries: Sequence[HistoryEntry]) -> str:
    first, last = entries[0].cursor, entries[-1].cursor
    return str(first) if first == last else f"{first} to {last}"
