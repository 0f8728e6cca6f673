"""The session state of the scoped system, `memory/session-state/<session>.md`: a log of turns. Writes no file.

A turn has a PRE block, written before the model is called, and a POST block, written after. A PRE without its POST is
the trace of a turn that never ended.

Blocks of ours carry one field more, `turn`: several turns may be open in one chat, and the answer belongs to the
question of the same id. Blocks without it (the scoped system's) pair by their places, as they always did. Four more
fields are ours alone: `line_breaks` tells where the one line of `user` had ended lines, `declined` that a turn was
given up without an answer, `done_actions` (one line of JSON) which pending actions are done, and `more_actions` (the
same) which are pending beside the ten that `pending_actions` holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from nanomem_tui.agents.jsonl import NOTHING
from nanomem_tui.agents.session_names import key_to_lossy_name, lossy_name_to_key
from nanomem_tui.core.errors import Problem

TEXT_LIMIT = 400
MAX_ACTIONS = 10
MAX_DONE = 100
PRE_FIELDS = ("speaker", "sender_id", "message_id", "media", "user", "reply_to_message_id", "reply_to_participant")
EMPTY = "(empty)"

TITLE = "# Session WAL State"
_HEAD_FIELDS = ("session_key", "channel", "chat_id")
_BLOCK = re.compile(r"### (\S+) (PRE|POST)\s*")
_FIELD = re.compile(r"- ([a-z_]+):(?: (.*))?", re.DOTALL)
_TURN, _BREAKS, _DECLINED, _DONE, _MORE = "turn", "line_breaks", "declined", "done_actions", "more_actions"


class Turn(NamedTuple):
    """One turn. `pre` holds the fields of its PRE block, known ones and others, as text; times are UTC ISO.

    `open` turns began and never ended. `line` is where the PRE block starts (the POST block when there is no PRE).
    `id` is what its blocks are paired by, empty in what others wrote. A `declined` turn ended without an answer, and
    nothing of it was kept. `done_actions` are what is not pending any more; `line_post` is where the POST block starts,
    0 where there is none: turns end in another order than they begin.
    """

    number: int
    at_pre: str
    pre: Mapping[str, str] = NOTHING
    at_post: str | None = None
    assistant: str | None = None
    pending_actions: tuple[str, ...] = ()
    open: bool = True
    line: int = 0
    id: str = ""
    declined: bool = False
    done_actions: tuple[str, ...] = ()
    line_post: int = 0


class WalState(NamedTuple):
    """One file: whose it is, its turns from the oldest, and what could not be read."""

    session_key: str
    channel: str
    chat_id: str
    turns: tuple[Turn, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def open_turns(self) -> tuple[Turn, ...]:
        """The turns that never ended."""
        return tuple(turn for turn in self.turns if turn.open)


class _Block:
    """One block while it is read: the lines of each of its fields."""

    def __init__(self, kind: str, at: str, line: int) -> None:
        self.kind, self.at, self.line = kind, at, line
        self.fields: dict[str, list[str]] = {}
        self.actions: list[str] = []
        self.last: list[str] | None = None

    def text(self, name: str) -> str:
        return "\n".join(self.fields.get(name, ())).rstrip("\n")


def parse_wal(data: bytes, where: str) -> WalState:
    """The state in `data`; without a header the session key comes from the name in `where`. Never raises."""
    problems: list[Problem] = []
    head = _Block("HEAD", "", 1)
    blocks: list[_Block] = []
    current = head
    lines = _lines(data, where, problems)
    for number, line in enumerate(lines, 1):
        if line.startswith("#") and (match := _BLOCK.fullmatch(line)):
            current = _Block(match[2], match[1], number)
            blocks.append(current)
        elif current is head and (not line or line in {TITLE, "## Turns"}):
            continue
        elif number == len(lines) and line.startswith("#"):
            continue  # the beginning of a block: no text of the one before
        elif not _take(current, line) and line.strip():
            problems.append(Problem("a line that belongs to no turn", where, number, severity="warning"))
    if data and lines[-1]:
        what = "no newline at the end: an interrupted write"
        fix = "nothing has to be done: the next turn ends the line"
        problems.append(Problem(what, where, len(lines), fix, severity="note"))
    key = head.text("session_key")
    if not key:
        problems.append(Problem("no session key in the header", where, 1, severity="warning"))
        key = lossy_name_to_key(where.rsplit("/", 1)[-1].removesuffix(".md"))
    turns = _turns(blocks, where, problems)
    problems.sort(key=lambda problem: problem.line or 0)
    return WalState(key, head.text("channel"), head.text("chat_id"), turns, tuple(problems))


def dump_header(session_key: str, channel: str, chat_id: str) -> bytes:
    """The beginning of a new file."""
    fields = zip(_HEAD_FIELDS, (session_key, channel, chat_id), strict=True)
    lines = [TITLE, "", *(f"- {name}: {_one_line(value)}" for name, value in fields), "", "## Turns", ""]
    return _bytes(lines)


def dump_pre(at: str, pre: Mapping[str, str], turn: str = "") -> bytes:
    """The PRE block of a turn at `at` (UTC ISO): the fields of `pre` in the system's order, then any others, then ours:
    the turn's id, and where `user` had ended lines."""
    order = [name for name in PRE_FIELDS if name in pre] + [name for name in pre if name not in PRE_FIELDS]
    values = [f"- {name}: {_cut(pre[name]) if name == 'user' else _one_line(pre[name])}" for name in order]
    breaks = _line_breaks(pre.get("user", ""))
    values += [f"- {_BREAKS}: {breaks}"] if breaks else []
    return _bytes([f"### {at} PRE", *values, *_id_line(turn), ""])


def dump_post(
    at: str,
    assistant: str | None,
    pending_actions: Sequence[str] = (),
    turn: str = "",
    *,
    declined: bool = False,
    done_actions: Sequence[str] = (),
) -> bytes:
    """The POST block of a turn at `at` (UTC ISO): the answer, cut like the question (None: no line), the turn's id, at
    most a hundred actions that are done, each cut too, and the pending ones."""
    lines = [f"### {at} POST", *([] if assistant is None else [f"- assistant: {_cut(assistant) or EMPTY}"])]
    lines += [*_id_line(turn), *([f"- {_DECLINED}: true"] if declined else [])]
    lines += _json_line(_DONE, [" ".join(action.split())[:TEXT_LIMIT] for action in done_actions[:MAX_DONE]])
    lines += _json_line(_MORE, [_cut(action) for action in pending_actions[MAX_ACTIONS:]])
    if pending_actions:  # last: whoever does not know our fields never takes them for actions
        lines += ["- pending_actions:", *(f"  - {_one_line(action)}" for action in pending_actions[:MAX_ACTIONS])]
    return _bytes([*lines, ""])


def _id_line(turn: str) -> list[str]:
    return [f"- {_TURN}: {_one_line(turn)}"] if turn else []


def _json_line(name: str, actions: Sequence[str]) -> list[str]:
    """On one line, so that nobody takes what is done for what is pending; no line of a text ends it."""
    return [f"- {name}: {json.dumps(actions, ensure_ascii=False)}"] if actions else []


def _of_line(text: str) -> tuple[str, ...]:
    """The actions of such a line; none of one that is damaged."""
    try:
        found = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return ()
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def wal_name(session_key: str) -> str:
    """The name of the file of a session. Keys collide as they do in old session names."""
    return key_to_lossy_name(session_key).removesuffix(".jsonl") + ".md"


def _lines(data: bytes, where: str, problems: list[Problem]) -> list[str]:
    """The lines without their ends: at once when all of it is text, else one by one with a problem for each bad one."""
    body = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or "\r" in text:
        return [_decoded(raw, where, number, problems) for number, raw in enumerate(body.split(b"\n"), 1)]
    return text.split("\n")


def _decoded(raw: bytes, where: str, number: int, problems: list[Problem]) -> str:
    if b"\0" in raw:
        problems.append(Problem(f"{raw.count(0)} NUL bytes, as a power cut leaves them", where, number))
        raw = raw.replace(b"\0", b"")
    try:
        return raw.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        problems.append(Problem(f"byte 0x{raw[error.start]:02X} is not UTF-8, shown as \ufffd", where, number))
        return raw.decode("utf-8", "replace").removesuffix("\r")


def _take(block: _Block, line: str) -> bool:
    """Put `line` where it belongs in `block`; False when it belongs nowhere."""
    if line.startswith("- ") and (match := _FIELD.fullmatch(line)):
        block.last = block.fields[match[1]] = [match[2] or ""]
        return True
    if line.startswith("  - ") and "pending_actions" in block.fields:
        block.actions.append(line[4:])
        return True
    if block.last is not None and block.kind != "HEAD":
        block.last.append(line)
        return True
    return False


def _turns(blocks: Sequence[_Block], where: str, problems: list[Problem]) -> tuple[Turn, ...]:
    """The turns in the order in which they began."""
    pairs: list[list[_Block | None]] = []
    named: dict[str, list[_Block | None]] = {}
    unnamed: list[_Block | None] | None = None  # the last question without an id, while it has no answer
    last: list[_Block | None] | None = None
    for block in blocks:
        turn = block.text(_TURN)
        if block.kind == "PRE":
            last = [block, None]
            pairs.append(last)
            if turn:
                named[turn] = last
            else:
                unnamed = last
            continue
        # An answer without an id is of the question without one that was asked last. Where only one of the two has an
        # id, the release changed between them: then the place tells, if nothing was asked in between.
        pair = named.pop(turn, None) if turn else unnamed
        if pair is None and last is not None and last[1] is None and (not turn or last is unnamed):
            pair = last
        if pair is None:
            problems.append(Problem("an answer without its question", where, block.line, severity="warning"))
            pairs.append([None, block])
            continue
        pair[1] = block
        if pair is unnamed:
            unnamed = None
        if not turn and pair[0] is not None:
            named.pop(pair[0].text(_TURN), None)
    return tuple(_turn(number, pre, post) for number, (pre, post) in enumerate(pairs, 1))


def _turn(number: int, pre: _Block | None, post: _Block | None) -> Turn:
    assistant = post.text("assistant") if post else None
    declined = post is not None and post.text(_DECLINED) == "true"
    turn = next((found for block in (pre, post) if block is not None and (found := block.text(_TURN))), "")
    return Turn(
        number=number,
        at_pre=pre.at if pre else "",
        pre=_pre(pre) if pre else {},
        at_post=post.at if post else None,
        assistant=None if declined else "" if assistant == EMPTY else assistant,
        pending_actions=(*post.actions, *_of_line(post.text(_MORE))) if post else (),
        open=post is None,
        line=pre.line if pre else post.line if post else 0,
        id=turn,
        declined=declined,
        done_actions=_of_line(post.text(_DONE)) if post else (),
        line_post=post.line if post else 0,
    )


def _pre(block: _Block) -> dict[str, str]:
    """The fields of a PRE block, `user` with its lines; without those that only say how to read the others."""
    fields = {name: block.text(name) for name in block.fields if name not in (_TURN, _BREAKS)}
    if _BREAKS in block.fields and "user" in fields:
        text = list(fields["user"])
        places = (int(word) for word in block.text(_BREAKS).split()[:TEXT_LIMIT] if word.isdecimal() and len(word) < 5)
        for place in places:
            if place < len(text) and text[place] == " ":
                text[place] = "\n"
        fields["user"] = "".join(text)
    return fields


def _line_breaks(text: str) -> str:
    """The places in the one line of a text, as far as it is written, where a line of the text ended."""
    if "\n" not in text and "\r" not in text:
        return ""
    joined = " ".join(text.splitlines())
    before = len(joined) - len(joined.lstrip())
    ends = accumulate(len(line) + 1 for line in text.splitlines()[:-1])
    kept = min(TEXT_LIMIT, len(joined.strip()))
    return " ".join(str(end - 1 - before) for end in ends if 0 <= end - 1 - before < kept)


def _one_line(text: str) -> str:
    return " ".join(text.splitlines()).strip() if "\n" in text or "\r" in text else text


def _cut(text: str) -> str:
    line = _one_line(text)
    return line[:TEXT_LIMIT] + "..." if len(line) > TEXT_LIMIT else line


def _bytes(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
