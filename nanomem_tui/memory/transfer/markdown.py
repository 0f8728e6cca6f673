"""Markdown as memories: bullets, paragraphs and lines of mirrors become items; items become a page that is read back.

Pure. Code blocks, template texts and headings without words under them are no memories.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import Problem
from nanomem_tui.formats import markdown as parts
from nanomem_tui.formats.markdown import Section, dump_mirror_line
from nanomem_tui.memory.transfer import rows
from nanomem_tui.memory.transfer.values import Found, Reading
from nanomem_tui.operations import new_key
from nanomem_tui.store.values import Item
from nanomem_tui.text import one_line

LOST = (
    "lessons, what is disabled, ids, importance, confidence, source, hits, pin, expiry, free fields, earlier values of "
    "facts, line ends"
)
LONGEST = 1_000
"""Characters beyond which a paragraph becomes several items, at the ends of sentences."""
CONTEXT = 80
"""Characters of a bullet that is put before those under it."""
_TITLES = {"preference": "Preferences", "fact": "Facts", "decision": "Decisions", "episodic": "Episodes"}
_KINDS = (
    ("preference", r"\bprefer|\blikes?\b|偏好|喜好|习惯|習慣"),
    ("decision", r"\bdecisions?\b|\bdecided\b|决定|決定|决策"),
    ("episodic", r"^episodes?$|^episodic$|^\d{4}-\d{2}-\d{2}$"),
    ("fact", r"\bfacts?\b|事实|事實"),
)
_SCOPE = re.compile(r"channel:([^:\s]+):(chat|user):(.+)")
_BULLET = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}|[|:\- \t]*\|[|:\- \t]*")
_STAMP = re.compile(r"\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) UTC\] (.*)")
_DATED = re.compile(rf"- {_STAMP.pattern}")
_COMMENT = re.compile(rf"^{_DATED.pattern}$|<!--(?s:.*?)(?:-->|\Z)", re.MULTILINE)
"""A comment, or a line of the mirrors' form: what stands in such a line is the memory's own, also `<!--`."""
_TEMPLATE = re.compile(r"\(.*\)|([*_])(?!\1).*\1|This file stores important information that should persist.*")
_UNFILLED = re.compile(
    r"\*\*[^*]+\*\*: \((?:your|preferred|what you're|IDEs)\b.*\)"
    r"|Information about the user to help personalize interactions\."
)
_UNTICKED = re.compile(
    r"\[ \] (?:Casual|Professional|Technical|Brief and concise|Detailed explanations|Adaptive based on question"
    r"|Beginner|Intermediate|Expert)"
)
"""What nanobot's template of USER.md asks for, as long as nobody answered it."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


_HERMES = re.compile(r"^§$", re.MULTILINE)
"""What Hermes puts between two entries."""


class Piece(NamedTuple):
    """A memory in a Markdown text: its line from 1, the heading over it, when it was stored (mirrors say so)."""

    text: str
    line: int
    section: str
    kind: str
    at: datetime | None = None
    scope: str = ""


class _Block(NamedTuple):
    line: int
    indent: int | None
    text: str


def pieces(text: str, where: str, kind: str = "fact") -> tuple[list[Piece], list[Problem]]:
    """The memories of a text, and what was left out. `kind`: where no heading says another."""
    found: list[Piece] = []
    problems: list[Problem] = []
    scope = ""
    named: list[tuple[int, str]] = []  # level and kind of the headings over a section that name a kind
    text = _HERMES.sub("", text)
    blanked = _COMMENT.sub(lambda match: match[0] if match[1] else re.sub(r"[^\n]", " ", match[0]), text)
    for section in parts.sections(blanked):
        title = _SCOPE.fullmatch(section.title)
        scope = section.title if title else ""
        named = [(level, word) for level, word in named if level < section.level]
        word = _kind_of(section.title) if not title else ""
        named += [(section.level, word)] if word else []
        over = named[-1][1] if named else kind
        for block in _with_context(_blocks(section, where, problems)):
            found += _pieces_of(block, section.title, over, scope)
    return found, problems


def _pieces_of(block: _Block, section: str, kind: str, scope: str) -> Iterator[Piece]:
    stamp = _STAMP.fullmatch(block.text)
    at = clock.parse(f"{stamp[1]}+00:00") if stamp else None
    if stamp and at is not None:
        yield Piece(stamp[2].strip(), block.line, section, kind, at, scope)
        return
    if (_TEMPLATE.fullmatch(block.text) and block.indent is None) or _UNFILLED.fullmatch(block.text):
        return
    for part in _sentences(block.text):
        if sum(map(str.isalnum, part)) >= 2:
            yield Piece(part, block.line, section, kind, None, scope)


def _kind_of(title: str) -> str:
    return next((kind for kind, pattern in _KINDS if re.search(pattern, title, re.IGNORECASE)), "")


def _blocks(section: Section, where: str, problems: list[Problem]) -> list[_Block]:
    """The bullets (with their indent) and paragraphs of a section, joined to one line each."""
    found: list[_Block] = []
    fence, joins = "", False
    first = section.start_line + (1 if section.level else 0)
    for number, line in enumerate(section.lines, first):
        mark = _FENCE.match(line)
        if fence or mark:
            if mark and not fence:
                fence = mark[1]
                problems.append(Problem("a code block is left out", where, number, severity="warning"))
            elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            joins = False
            continue
        bullet = _BULLET.fullmatch(line)
        words = (bullet[2] if bullet else line.lstrip().lstrip(">")).strip()
        words = re.sub(r"^\[[ xX]\] ", "", words)
        if not words or _RULE.fullmatch(line) or (bullet and _UNTICKED.fullmatch(bullet[2].strip())):
            joins = False
        elif bullet:
            found.append(_Block(number, len(bullet[1].expandtabs(4)), words))
            joins = True
        elif joins and not words.startswith("|"):
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {words}")
        else:
            found.append(_Block(number, None, words.strip("| ")))
            joins = not words.startswith("|")
    return found


def _with_context(blocks: Sequence[_Block]) -> Iterator[_Block]:
    """The blocks, each bullet under another with that one's words before its own; a bullet or a line that only
    announces what is under it is no memory of its own."""
    above: list[_Block] = []
    for place, block in enumerate(blocks):
        indent = -1 if block.indent is None else block.indent
        while above and (above[-1].indent or 0) >= indent:
            above.pop()
        context = [over.text.rstrip(":： ") for over in above if len(over.text) <= CONTEXT]
        following = blocks[place + 1] if place + 1 < len(blocks) else None
        under = following is not None and following.indent is not None and following.indent > indent
        if block.indent is not None:
            above.append(block)
        if not (under and block.text.endswith((":", "："))):
            yield block._replace(text=": ".join([*context, block.text]))


def _sentences(text: str) -> Iterator[str]:
    """The text in parts of at most `LONGEST` characters, cut between sentences where there are any."""
    if len(text) <= LONGEST:
        yield text
        return
    part = ""
    for sentence in _SENTENCE.split(text):
        if part and len(part) + len(sentence) + 1 > LONGEST:
            yield part
            part = ""
        part = f"{part} {sentence}".strip()
        while len(part) > LONGEST:
            yield part[:LONGEST]
            part = part[LONGEST:]
    if part:
        yield part


def read(data: bytes, where: str, workspace_id: str, kind: str = "fact") -> Reading:
    """The memories of a Markdown file as items; global, but for those under the heading of a scope."""
    text, problems = parts.decode(data, where)
    found: list[Found] = []
    taken, left = pieces(text, where, kind)
    bad = [*problems, *left]
    for piece in taken:
        try:
            row, note = rows.item(fields(piece, where), workspace_id)
        except rows.BadRow as error:
            bad.append(Problem(str(error), where, piece.line))
        else:
            found.append(Found(row, f"line {piece.line}", note))
    return Reading("markdown", found, bad, fields=frozenset({"text"}))


def is_page(data: bytes) -> bool:
    """Whether bytes of any name are a page of `dump`, or a mirror: a heading or such a line first, and such lines."""
    start = data[:65_536].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = [line.rstrip("\r") for line in start.split("\n") if line.strip()]
    if not lines or "\0" in start:
        return False
    first = lines[0].startswith("# ") or _DATED.fullmatch(lines[0]) is not None
    return first and any(map(_DATED.fullmatch, lines))


def fields(piece: Piece, where: str, **more: Any) -> dict[str, Any]:
    """The fields of the item that a piece of the file `where` becomes."""
    source = {"file": where, "line": piece.line, **({"section": piece.section} if piece.section else {})}
    found: dict[str, Any] = {
        "id": new_key("ltm"),
        "text": piece.text,
        "kind": piece.kind,
        "source": "import",
        "meta": {"from": source},
        **more,
    }
    if piece.at is not None:
        found |= {"created_at": clock.iso(piece.at), "updated_at": clock.iso(piece.at)}
    scope = _SCOPE.fullmatch(piece.scope)
    if scope:
        who = "chat_id" if scope[2] == "chat" else "sender_id"
        found |= {"scope_type": scope[2], "scope_key": piece.scope, "channel": scope[1], who: scope[3]}
    return found


def dump(items: Iterable[Item]) -> bytes:
    """The items as a page: a heading a kind, one a scope that is not global, and a line of the mirrors' form each."""
    by_kind: dict[str, dict[str, list[Item]]] = {}
    for item in items:
        scope = "" if item.scope_type == "global" else item.scope_key
        by_kind.setdefault(item.kind, {}).setdefault(scope, []).append(item)
    out: list[str] = []
    for kind, title in _TITLES.items():
        scopes = by_kind.get(kind, {})
        if scopes:
            out.append(f"# {title}\n")
        for scope in sorted(scopes):
            out += [f"## {scope}\n"] if scope else []
            rows_ = sorted(scopes[scope], key=lambda row: (row.created_at, row.id))
            lines = [
                dump_mirror_line(clock.parse(row.created_at) or clock.now(), one_line(row.text)).decode()
                for row in rows_
            ]
            out.append("".join(lines))
    return "\n".join(out).encode()
