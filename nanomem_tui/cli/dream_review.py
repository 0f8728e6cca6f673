"""`--review` at a terminal: the edits of a Dream one by one, each with its words and what asks for it, and the answer.

The talk goes to stderr. Owns the questions only: what an answer comes to is done by the Dream, as one operation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nanomem_tui.cli import output
from nanomem_tui.cli.state import State
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError
from nanomem_tui.core.text import counted

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.dreams.edits import LineEdit
    from nanomem_tui.dreams.guards import Refusal
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.workspace import Workspace

QUESTION = "+ accept, - reject, e edit, a all, q later, ? help: "
WRONG = "The answers are + (or y), -, e, a, q and ?."
HELP = (
    "  +  make this edit    -  let it go for good    e  make it in other words",
    "  a  make all that follow; those that were refused go to the inbox",
    "  q  decide on the rest later, in the inbox; what you accepted is made",
    "  ctrl+c ends it with nothing changed: the next Dream reads it all again",
)


def can_decide(state: State) -> bool:
    """Whether a person is there to be asked, edit by edit."""
    return not state.json and output.can_ask() and sys.stderr is not None and sys.stderr.isatty()


@dataclass
class Answers:
    """What was decided so far: the edits to make, those that go to the inbox, and the files as they would be."""

    texts: dict[str, str]
    made: list[LineEdit] = field(default_factory=list)
    left: list[Refusal] = field(default_factory=list)
    rejected: list[Refusal] = field(default_factory=list)

    def make(self, edit: LineEdit) -> None:
        """Make it on top of those before it. Raises BadInput or Conflict when that cannot be."""
        from nanomem_tui.dreams.edits import apply_edits, rebased
        from nanomem_tui.dreams.review import possible

        possible(edit)
        there = rebased(edit, self.texts, [one.edit for one in (*self.left, *self.rejected)])
        self.texts = apply_edits(self.texts, [there])
        self.made.append(there)


def decided(ws: Workspace, proposed: DreamResult) -> DreamResult:
    """The Dream that was `proposed`, with what the person at the terminal makes of each edit.

    An accepted edit whose line somebody changed meanwhile goes to the inbox with the reason.
    Raises what `DreamRunner.apply` does, and KeyboardInterrupt with nothing changed.
    """
    from nanomem_tui.dreams.edits import TITLES
    from nanomem_tui.dreams.guards import Refusal
    from nanomem_tui.dreams.review import WAITS, apply_standing

    questions = [*(Refusal(edit, "") for edit in proposed.edits), *proposed.refused]
    answers = Answers({name: ws.documents.read(name) or "" for name in TITLES})
    entries = ws.history.of({cursor for asked in questions for cursor in asked.edit.evidence}) if questions else {}
    all_the_rest = ""
    for number, asked in enumerate(questions, 1):
        waits = Refusal(asked.edit, asked.why or WAITS)
        answer = all_the_rest or _ask(asked, f"{number} of {len(questions)}", entries, answers)
        if answer in ("a", "q"):
            all_the_rest = answer
            if answer == "q" or asked.why or not _made(answers, asked.edit):
                answers.left.append(waits)
        elif answer == "-":
            answers.rejected.append(asked)
    result, stale = apply_standing(
        ws.dream.runner, ws.documents.read, proposed, answers.made, answers.left, answers.rejected
    )
    if questions:
        made, rejected, left = len(answers.made) - len(stale), len(answers.rejected), len(answers.left) + len(stale)
        output.notes([f"{made} accepted, {rejected} rejected, {left} to the inbox"])
        output.notes(f"Could not be made any more, and waits: {_words(one.edit)} ({one.why})" for one in stale)
    return result


def _words(edit: LineEdit) -> str:
    from nanomem_tui.core.text import one_line
    from nanomem_tui.dreams.review import masked

    shown = masked(edit)
    return f"{shown.op} in {shown.to_file or shown.file}: {one_line((shown.new or shown.old).strip(), 200)}"


def _made(answers: Answers, edit: LineEdit) -> bool:
    try:
        answers.make(edit)
    except (BadInput, Conflict):
        return False
    return True


def _ask(asked: Refusal, place: str, entries: Mapping[int, HistoryEntry], answers: Answers) -> str:
    """Show an edit and ask until there is an answer that can be: `+` (it is made then), `-`, `a` or `q`."""
    output.toned(_shown(asked, place, entries))
    while True:
        answer = _line(QUESTION)
        if answer is None or answer in ("q", "a", "-"):
            return answer or "q"
        if answer not in ("+", "y", "e"):
            output.notes(HELP if answer in ("?", "h", "help") else [WRONG])
            continue
        try:
            answers.make(_reworded(asked.edit) if answer == "e" else asked.edit)
        except NanomemError as error:
            output.notes([f"That cannot be: {error.line()}"])
        else:
            return "+"


def _shown(asked: Refusal, place: str, entries: Mapping[int, HistoryEntry]) -> Iterator[Sequence[tuple[str, str]]]:
    """The lines of an edit: where, the words that go and come, why it was refused, and the entries that ask for it."""
    from nanomem_tui.cli.inbox import evidence_lines
    from nanomem_tui.dreams.blame import recorded
    from nanomem_tui.dreams.review import Hunk, masked
    from nanomem_tui.language import secrets
    from nanomem_tui.review.waiting import WaitingEdit
    from nanomem_tui.widgets.diff import DiffLine, spans_of
    from nanomem_tui.widgets.diff import Hunk as Lines

    edit = masked(asked.edit)
    one = WaitingEdit(Hunk("", edit, asked.why, "", ""))
    yield ()
    yield [(f"({place}) {edit.op} in {one.place}", "heading")]
    lines = [DiffLine("-", one.old)] if one.old else []
    lines += [DiffLine("+", one.new)] if one.new else []
    for line, spans in spans_of(Lines(tuple(lines))):
        yield [(f"{line.sign} ", "added" if line.sign == "+" else "removed"), *spans]
    if edit.why:
        yield [(f"  {edit.why}", "dim")]
    for text in evidence_lines(recorded(one.new or one.old, edit.evidence, entries)):
        yield [(f"  from {secrets.mask(text.strip())}", "dim")]
    if asked.why:
        yield [(f"  refused: {asked.why}", "warn")]


def _reworded(edit: LineEdit) -> LineEdit:
    """The edit in the person's words, from their editor where one is set. Raises BadInput, Refused."""
    from nanomem_tui.dreams.review import reworded

    if edit.op == "remove":
        return reworded(edit, "")
    now = edit.new or edit.old
    if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
        from nanomem_tui.cli.editor import edit_text

        return reworded(edit, edit_text(now))
    return reworded(edit, _line("The line instead: ") or "")


def _line(question: str) -> str | None:
    """What is typed, without space around it; None when nothing more comes."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None


def waiting_line(number: int) -> str:
    """How many edits wait, and where they are decided on."""
    verb = "waits" if number == 1 else "wait"
    return f"{counted(number, 'edit')} of Dreams {verb} in the inbox: nanomem inbox list"
