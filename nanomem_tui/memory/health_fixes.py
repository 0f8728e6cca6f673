"""What a person can do about each problem. Owns the words of the doctor's advice; reads nothing, changes nothing."""

from __future__ import annotations

from nanomem_tui.core.errors import Problem

IN_AN_EDITOR = "correct or remove that line in an editor while no agent runs; every other line is read"
_ADVICE = (
    ("the database cannot be read", "with nanomem and the agent stopped, try `.recover` of sqlite3 on a copy"),
    ("permission", "check its owner and mode: `ls -l` shows them, `chmod u+rw` gives them back"),
    ("cannot be read", "check its owner, its mode and what it is: `ls -l` shows them"),
    ("lines end in CRLF", "nothing has to be done; an editor that saves LF line ends takes this away"),
    ("byte order mark", "nothing has to be done; an editor that saves UTF-8 without a mark takes this away"),
    ("no newline at the end", "add a newline at the end in an editor while no agent runs"),
    ("comes twice", "nothing is lost: both are read; remove one in an editor while no agent runs"),
    ("NUL bytes", "remove the NUL bytes in an editor while no agent runs; what stood there is lost"),
    ("not UTF-8", "replace those bytes in an editor while no agent runs"),
    ("no metadata line", "let the agent write to this session once: it then begins with one; or read it here"),
    ("not a number", "write the number of the last history entry into it"),
    ("message without a role", "nothing has to be done: the message is shown, and the agent leaves it out"),
    ("answer without its question", "nothing has to be done; the question was lost when the agent stopped"),
    ("belongs to no turn", "nothing has to be done, or remove that line in an editor while no agent runs"),
)
_CIRCULAR, _MENDS = "nanomem doctor", "nanomem doctor --fix"


def with_fix(problem: Problem) -> Problem:
    """The problem with something to do about it: its own advice, unless that is none or sends the reader round."""
    own = "; ".join(part for part in problem.fix.split("; ") if _CIRCULAR not in part or _MENDS in part)
    if own and own == problem.fix:
        return problem
    advice = next((fix for sign, fix in _ADVICE if sign in problem.what), "")
    if not advice:
        advice = IN_AN_EDITOR if problem.line is not None else "look at it in an editor while no agent runs"
    return problem._replace(fix="; ".join(filter(None, (own, advice))))
