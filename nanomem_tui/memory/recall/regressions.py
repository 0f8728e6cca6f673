"""Saved questions with the items that they must find, asked again by `recall --check`.

Owns the file (JSON, a question a line, secrets masked) and what a loss is: an expected item that is no longer found. A
deleted item is a loss too: the file says what a person wants to be remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.jsonl import dump_line, parse_jsonl
from nanomem_tui.core import atomic, files
from nanomem_tui.core.atomic import append_lines, open_locked, read_from
from nanomem_tui.core.errors import BadInput, NotFound, Problem, from_os_error
from nanomem_tui.language import secrets
from nanomem_tui.memory.recall.recall import Question, Recalled
from nanomem_tui.memory.scopes import Audience

FIELDS = frozenset({"message", "reply_to", "channel", "chat_id", "sender_id", "limit", "expect"})


class Regression(NamedTuple):
    """A question and the ids that its answer must hold. `line` is its place in the file."""

    question: Question
    expect: tuple[str, ...]
    line: int = 0


class Checked(NamedTuple):
    """One question asked again: the expected items that were given, and those that were not with the reason."""

    regression: Regression
    found: tuple[str, ...]
    lost: tuple[tuple[str, str], ...]


def saved_file(data: Path, workspace_id: str) -> Path:
    """Return where the questions of a workspace are saved; `data` is our own folder."""
    return data / "recall" / f"{workspace_id}.jsonl"


def load(path: Path) -> list[Regression]:
    """Return the questions of a file that can be read. Raises as `read` does."""
    return read(path)[0]


def read(path: Path) -> tuple[list[Regression], list[Problem]]:
    """Return the questions in a file, and its lines that are none, each with its place."""
    try:
        data = files.read(path)
    except FileNotFoundError:
        raise BadInput("no saved questions", str(path), "save one with `nanomem recall MESSAGE --save ID`") from None
    except OSError as error:
        raise from_os_error(error, "reading the saved questions") from error
    found: list[Regression] = []
    problems: list[Problem] = []
    for record in parse_jsonl(data, str(path)):
        where = f"{path}:{record.number}"
        try:
            if record.value is None:
                what = record.problem.what if record.problem else "not an object"
                raise BadInput(f"a question that cannot be read ({what})", where, "correct that line")
            found.append(_regression(record.value, where, record.number))
        except BadInput as error:
            problems.append(Problem(error.what, str(path), record.number, "correct or remove that line", "warning"))
    if problems and not found:
        raise BadInput(problems[0].what, f"{path}:{problems[0].line}", problems[0].fix)
    return found, problems


def problems(path: Path) -> list[Problem]:
    """Return the lines of a file that are no questions, for the doctor; none where there is no file."""
    if not path.exists():
        return []
    try:
        return read(path)[1]
    except BadInput as error:
        place, _, line = error.where.rpartition(":")
        return [Problem(error.what, place, int(line), error.fix, "warning")]


def forget(path: Path, which: str) -> list[bytes]:
    """Remove the questions on line `which` or expecting item `which`; the old file stays as `.bak`."""
    if not path.exists():
        raise NotFound("no saved questions", str(path), "save one with `nanomem recall MESSAGE --save ID`")
    number = int(which) if which.isascii() and which.isdigit() else 0
    with open_locked(path, "changing the saved questions") as handle:
        data = read_from(handle)
        gone = {r.number for r in parse_jsonl(data, str(path)) if r.number == number or _expects(r.value, which)}
        lines = data.split(b"\n")
        removed = [line for at, line in enumerate(lines, 1) if at in gone]
        if not removed:
            raise NotFound("no such saved question", which, "`nanomem recall --saved` lists them")
        kept = b"\n".join(line for at, line in enumerate(lines, 1) if at not in gone)
        atomic.write_atomic(path.with_name(f"{path.name}.bak"), data)
        atomic.write_atomic(path, kept)
    return removed


def _expects(value: Any, key: str) -> bool:
    expect = value.get("expect") if isinstance(value, dict) else None
    return isinstance(expect, list) and key in expect


def is_saved(path: Path, question: Question, expect: Sequence[str]) -> bool:
    """Return whether that question of that person stands in the file already, with what it must find."""
    try:
        saved = load(path) if path.exists() else []
    except BadInput:  # nothing in the file can be read
        return False
    same = to_saved(question, expect)
    return any(one.question == same.question and set(one.expect) == set(expect) for one in saved)


def to_saved(question: Question, expect: Sequence[str]) -> Regression:
    """A question as the file will hold it: without its secrets, and asked with the usual weights."""
    return _regression(_fields(question, expect), "the question", 0)


def save(path: Path, question: Question, expect: Sequence[str]) -> Regression:
    """Add a question to a file, which is made when missing. Raises BadInput when it expects nothing."""
    regression = to_saved(question, expect)
    append_lines(path, dump_line(_fields(question, expect)), "saving the question")
    return regression


def _fields(question: Question, expect: Sequence[str]) -> dict[str, Any]:
    """A question as its line in the file, without its secrets."""
    audience = question.audience
    fields: dict[str, Any] = {
        "message": secrets.mask(question.text),
        "reply_to": secrets.mask(question.reply_to),
        "channel": audience.channel,
        "chat_id": audience.chat_id,
        "sender_id": audience.sender_id,
        "limit": question.limit,
        "expect": list(expect),
    }
    return {name: entry for name, entry in fields.items() if entry not in (None, "")}


def check(
    regressions: Sequence[Regression], ask: Callable[[Question], Recalled], why: Callable[[Question, str], str]
) -> list[Checked]:
    """Ask every question again. `why` says in words why an item is not given."""
    checked = []
    for regression in regressions:
        given = {hit.item.id for hit in ask(regression.question).hits}
        lost = [(key, why(regression.question, key)) for key in regression.expect if key not in given]
        checked.append(Checked(regression, tuple(key for key in regression.expect if key in given), tuple(lost)))
    return checked


def _regression(value: dict[str, Any], where: str, line: int) -> Regression:
    unknown = value.keys() - FIELDS
    expect = value.get("expect")
    texts = all(isinstance(value.get(name, ""), str) for name in FIELDS - {"limit", "expect"})
    limit = value.get("limit")
    if unknown:
        raise BadInput(f"unknown field `{min(unknown)}`", where, f"one of {', '.join(sorted(FIELDS))}")
    if not texts or not str(value.get("message", "")).strip():
        raise BadInput("a question without a message", where, 'give {"message": "…", "expect": ["id"]}')
    if not isinstance(expect, list) or not expect or not all(isinstance(key, str) and key for key in expect):
        raise BadInput("a question that expects nothing", where, 'give the ids: "expect": ["id"]')
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise BadInput("the limit is no number of at least 1", where, "correct that line")
    audience = Audience(value.get("channel"), value.get("chat_id"), value.get("sender_id"))
    question = Question(value["message"], value.get("reply_to", ""), audience, limit=limit)
    return Regression(question, tuple(expect), line)
