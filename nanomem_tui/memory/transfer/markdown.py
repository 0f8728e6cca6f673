"""Markdown as memories: bullets, paragraphs and lines of mirrors become items; items become a page that is read back.

Pure. Code blocks, front matter, comments, what is struck out, headings (of tables too), template texts and placeholders
are no memories, nor is what was said in a conversation that a note holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import Problem
from nanomem_tui.formats import encoding
from nanomem_tui.formats import markdown as parts
from nanomem_tui.formats.markdown import Section, dump_mirror_line
from nanomem_tui.language import chat_logs, dates
from nanomem_tui.language.secrets import mask_columns
from nanomem_tui.memory import said_on
from nanomem_tui.memory.transfer import rows
from nanomem_tui.memory.transfer.values import Found, Reading
from nanomem_tui.operations import new_key
from nanomem_tui.store.values import Item
from nanomem_tui.text import one_line

LOST = (
    "lessons, what is disabled, ids, importance, confidence, source, hits, pin, expiry, free fields, earlier values of "
    "facts, line ends"
)
TALK = "a conversation is left out"
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
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}|[|:\- \t]*\|[|:\- \t]*|\+(?:[-=:]+\+)+")
_STAMP = re.compile(r"\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) UTC\] (.*)")
_DATED = re.compile(rf"- {_STAMP.pattern}")
_COMMENT = re.compile(
    rf"^{_DATED.pattern}$|(?:<!--(?s:.*?)(?:-->|\Z)|^%%[^%]*%%[ \t]*$"
    r"|^ {0,3}\[[^\]\n]*\]: *(?:<[^<>\n]*>|#|[^\s@]*[./][^\s@]*)(?: +[(\"'].*)?$"
    r"|^ {0,3}!\[[^\]\n]*\]\([^()\n]*\)[ \t]*$"
    r"|^ {0,3}(?:>[ \t]*)+\[![\w-]+\][-+]?.*$"
    r"|(?<!~)(~~?)(?=[^\s~])[^~\n]*(?<=[^\s~])\3(?!~)|(?i:<(del|s|strike)>.*?</\4>))[ \t]*",
    re.MULTILINE,
)
"""A comment, the target of a link, a picture, the title of a callout, what is struck out, or a line of the mirrors'
form: what stands in such a line is the memory's own, also `<!--`."""
_FRONT_MATTER = re.compile(
    r"\s*(?:---[ \t]*\n(.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(.*?)^\+\+\+)[ \t]*$", re.DOTALL | re.MULTILINE
)
_FIELD = re.compile(
    r"[ \t]*|[ \t]*#.*|[ \t]*-(?:[ \t].*)?|[ \t]+\S.*|[\w\"'][\w .\"'/-]*[ \t]*[:=].*|[\]}],?[ \t]*|\[[\w.-]+\]"
)
"""What a line of front matter may be."""
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_TAGS = re.compile(r"(?:\s*</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>)+\s*")
_BOLD = re.compile(r"(\*\*|__)(?!\1).+\1[:：]?")
_NOTHING = (
    r"t\.?b\.?[adc]\.?|to ?do|to be (?:determined|decided|defined|added|announced|confirmed|filled(?: in)?)"
    r"|fill (?:me |this )?in|not (?:yet )?(?:set|filled(?: in)?)|coming soon|placeholder|xxx+|\?+|…+|\.{2,}|_{2,}|—|–"
    r"|待定|未定|待填写"
)
"""What stands where something is still to be written, also behind a name and a colon."""
_EMPTY = (
    rf"{_NOTHING}|n/?a|none(?: yet)?|nothing(?: yet| here(?: yet)?)?|empty|unknown|null|nil|no entries(?: yet)?"
    r"|暂无|无|空|なし"
)
_OPEN, _CLOSE = r"[\s*_`(\[<{（【]*", r"[\s*_`)\]>}）】.!:：]*"
_PLACEHOLDER = re.compile(
    rf"{_OPEN}(?:{_EMPTY}){_CLOSE}|\{{\{{[^{{}}]*\}}\}}|<[a-z][\w -]*>|lorem ipsum\b.*"
    r"|[(\[<](?:your|insert|add|write|fill|enter|describe|e\.g\.)\b[^()\[\]<>]*[)\]>]",
    re.IGNORECASE,
)
_UNNAMED = re.compile(
    rf"[^:：]{{1,60}}[:：][*_]*\s*(?:{_OPEN}(?:{_NOTHING}){_CLOSE}"
    r"|[(\[<](?:empty|optional|none(?: yet)?|unknown|your|insert|add|e\.g\.)\b[^()\[\]<>]*[)\]>]"
    r"|([*_])\(.*\)\1|\{\{[^{}]*\}\}|<[a-z][\w -]*>)",
    re.IGNORECASE,
)
"""A name with a placeholder for its value."""
_SESSION_NOTE = re.compile(r"^[ \t]*[-*+][ \t]+\*\*Session (?:Key|ID)\*\*:", re.MULTILINE)
"""A line at the head of the notes that OpenClaw makes of conversations."""
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


def pieces(text: str, where: str, kind: str = "fact", *, by_line: bool = False) -> tuple[list[Piece], list[Problem]]:
    """The memories of a text, and what was left out. `kind`: where no heading says another. `by_line`: no line goes on
    in the next one, as in plain text."""
    found: list[Piece] = []
    problems: list[Problem] = []
    scope = ""
    named: list[tuple[int, str]] = []  # level and kind of the headings over a section that name a kind
    readable = mask_columns(_readable(_HERMES.sub("", text)))
    for section in parts.sections(_without_talk(readable, where, problems)):
        title = _SCOPE.fullmatch(section.title)
        scope = section.title if title else ""
        named = [(level, word) for level, word in named if level < section.level]
        word = _kind_of(section.title) if not title else ""
        named += [(section.level, word)] if word else []
        over = named[-1][1] if named else kind
        for block in _with_context(_blocks(section, where, problems, by_line=by_line)):
            found += _pieces_of(block, section.title, over, scope)
    return found, problems


def _readable(text: str) -> str:
    """The text with its lines where they are, without marks of encodings, front matter, comments and what is struck
    out."""
    text = text.replace("\0", "").replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    if front and all(map(_FIELD.fullmatch, (front[1] or front[2] or "").split("\n"))):
        text = "\n" * front[0].count("\n") + text[front.end() :]
    return _COMMENT.sub(lambda match: match[0] if match[1] else re.sub(r"[^\n]+", "", match[0]), text)


def _without_talk(text: str, where: str, problems: list[Problem]) -> str:
    """The text without the conversation that it holds: to the end of the section in which that begins, or where it goes
    on in later ones, in which it ends."""
    lines = text.split("\n")
    if _SESSION_NOTE.search(text):
        problems.append(Problem(TALK, where, 1, severity="warning"))
        return ""
    within = parts.blocks(text)
    spoken = chat_logs.spoken([(at, line) for at, line in enumerate(lines) if at not in within])
    if not spoken:
        return text
    first, last = spoken[0], spoken[-1]
    sections = [section for section in parts.sections(text) if section.level]
    level = next((one.level for one in reversed(sections) if one.start_line <= first + 1), 0)
    ends = (one.start_line - 1 for one in sections if one.start_line > last + 1 and one.level <= level)
    end = next(ends, len(lines))
    problems.append(Problem(TALK, where, first + 1, severity="warning"))
    return "\n".join(["" if first <= at < end else line for at, line in enumerate(lines)])


def _pieces_of(block: _Block, section: str, kind: str, scope: str) -> Iterator[Piece]:
    stamp = _STAMP.fullmatch(block.text)
    at = clock.parse(f"{stamp[1]}+00:00") if stamp else None
    if stamp and at is not None:
        yield Piece(stamp[2].strip(), block.line, section, kind, at, scope)
        return
    if (_TEMPLATE.fullmatch(block.text) and block.indent is None) or _UNFILLED.fullmatch(block.text):
        return
    if any(pattern.fullmatch(block.text) for pattern in (_PLACEHOLDER, _UNNAMED, _TAGS)):
        return
    for part in _sentences(block.text):
        if sum(map(str.isalnum, part)) >= 2:
            yield Piece(part, block.line, section, kind, None, scope)


def _kind_of(title: str) -> str:
    return next((kind for kind, pattern in _KINDS if re.search(pattern, title, re.IGNORECASE)), "")


def _blocks(section: Section, where: str, problems: list[Problem], *, by_line: bool) -> list[_Block]:
    """The bullets (with their indent) and paragraphs of a section, joined to one line each unless `by_line`."""
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
        under = section.lines[number - first + 1] if number - first + 1 < len(section.lines) else ""
        heading = _is_heading(line, under) and not bullet and not joins
        unticked = bullet and _UNTICKED.fullmatch(bullet[2].strip())
        no_words = any(pattern.fullmatch(line) for pattern in (_RULE, _UNDERLINE, _TAGS))
        if not words or heading or unticked or no_words:
            joins = False
        elif bullet:
            found.append(_Block(number, len(bullet[1].expandtabs(4)), words))
            joins = True
        elif joins and not by_line and not words.startswith("|"):
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {words}")
        else:
            found.append(_Block(number, None, words.strip("| ")))
            joins = not words.startswith("|")
    return found


def _is_heading(line: str, under: str) -> bool:
    """Whether a line is underlined: as the head of a table, or as a title, which ends in no full stop."""
    if "|" in line and ("|" in under or under.startswith("+=")):
        return _RULE.fullmatch(under) is not None
    return _UNDERLINE.fullmatch(under) is not None and ("=" in under or line.rstrip()[-1:] not in ".!?。！？")


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
        bare = block.text.rstrip("*_ ")
        heading = block.indent is None and following is not None and _BOLD.fullmatch(block.text) and under
        if not bare.endswith((":", "：")) and not heading:
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


def read(data: bytes, where: str, workspace_id: str, *, by_line: bool = False) -> Reading:
    """The memories of a Markdown file as items, dated by its name where that begins with a day; global, but for those
    under the heading of a scope."""
    text, problems = parts.decode(data, where)
    found: list[Found] = []
    day = parts.daily_note_name(PurePosixPath(where).name)
    taken, left = pieces(text, where, "episodic" if day else "fact", by_line=by_line)
    bad = [*problems, *left]
    for piece in taken:
        try:
            day_of_file = day.isoformat() if day else ""
            row, note = rows.item({**dated(day), **fields(piece, where, day_of_file)}, workspace_id)
        except rows.BadRow as error:
            bad.append(Problem(str(error), where, piece.line))
        else:
            found.append(Found(row, f"line {piece.line}", note))
    return Reading("markdown", found, bad, fields=frozenset({"text"}))


def dated(day: date | None) -> dict[str, str]:
    """The fields that date an item of a daily note: the noon of its day, and never a time to come."""
    if day is None:
        return {}
    at = clock.iso(min(clock.now(), datetime.combine(day, time(12), UTC)))
    return {"created_at": at, "updated_at": at}


def is_page(data: bytes) -> bool:
    """Whether bytes of any name are a page of `dump`, or a mirror: a heading or such a line first, and such lines."""
    start = encoding.decode(data[:65_536], "replace")
    lines = [line.rstrip("\r") for line in start.split("\n") if line.strip()]
    if not lines or "\0" in start:
        return False
    first = lines[0].startswith("# ") or _DATED.fullmatch(lines[0]) is not None
    return first and any(map(_DATED.fullmatch, lines))


def fields(piece: Piece, where: str, day: str = "", **more: Any) -> dict[str, Any]:
    """The fields of the item that a piece of the file `where` becomes.

    `day`: that of the file; where neither it nor the piece has one, nobody knows what a relative date in it means.
    """
    source = {"file": where, "line": piece.line, **({"section": piece.section} if piece.section else {})}
    found: dict[str, Any] = {
        "id": new_key("ltm"),
        "text": piece.text,
        "kind": piece.kind,
        "source": "import",
        "meta": {"from": source},
        **more,
    }
    if piece.at is None and dates.has_relative(piece.text):
        found["meta"][said_on.FIELD] = day
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
