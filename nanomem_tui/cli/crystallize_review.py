"""`nanomem crystallize` at a terminal: the facts one by one, each with the words that say it, and the answer.

The talk goes to stderr. Owns the questions only; Ctrl-C ends it with nothing changed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nanomem_tui.cli import output
from nanomem_tui.cli.crystallize import proposal_lines
from nanomem_tui.memory.facts.crystallize import Answer, Decision
from nanomem_tui.memory.facts.proposals import refusal

if TYPE_CHECKING:
    from nanomem_tui.memory.facts.crystallize import Plan
    from nanomem_tui.memory.facts.proposals import Judged

QUESTION = "y keep, n reject, e edit, a all, q later, ? help: "
WRONG = "The answers are y, n, e, a, q and ?."
HELP = (
    "  y  keep this fact    n  let it go: it is not proposed again",
    "  e  keep it with another value",
    "  a  keep all that follow; what a person has to judge goes to the inbox",
    "  q  decide on the rest later, in the inbox; what you kept is kept",
    "  ctrl+c ends it with nothing changed",
)


def decided(plan: Plan) -> list[Decision]:
    """What the person at the terminal makes of each fact. Raises KeyboardInterrupt with nothing changed."""
    found: list[Decision] = []
    rest = ""
    for one in plan.open:
        if rest:
            later: Answer = "inbox" if rest == "q" or one.why else "keep"
            found.append(Decision(one, later))
            continue
        output.notes(["", *proposal_lines(one, f"{one.number} of {len(plan.open)}")])
        answer, value = _ask(one)
        if answer in ("a", "q"):
            rest = answer
            # it was read, with its reason
            found.append(Decision(one, "inbox" if answer == "q" else "keep"))
        else:
            found.append(Decision(one, "reject" if answer == "n" else "keep", value))
    return found


def _ask(one: Judged) -> tuple[str, str | None]:
    """The answer to one fact, asked for until it is one, and the value that stands instead."""
    while True:
        answer = _line(QUESTION)
        if answer is None:
            return "q", None
        if answer in ("y", "yes", "+"):
            return "y", None
        if answer in ("n", "no", "-"):
            return "n", None
        if answer in ("a", "q"):
            return answer, None
        if answer == "e":
            value = _line("The value instead: ")
            why = refusal(one.proposal._replace(value=value or ""))
            if not why:
                return "y", value
            output.notes([f"That cannot be: {why}."])
        else:
            output.notes(HELP if answer in ("?", "h", "help") else [WRONG])


def _line(question: str) -> str | None:
    """What is typed, without space around it; None when nothing more comes."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None
