"""Edits of lines: the only thing that a Dreamer may return. Pure: texts in, texts out.

Owns where a new line goes, how a line is found again, headings that come and go with their lines, and the words and
details that an edit must account for. An edit changes the lines it names and no other byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from nanomem_tui.agents import markdown
from nanomem_tui.agents.archive import HistoryEntry, marked_lines
from nanomem_tui.agents.markdown import Section
from nanomem_tui.core import merge
from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.core.operations import Change
from nanomem_tui.core.text import indent
from nanomem_tui.language import classify, dates
from nanomem_tui.language.statements.pair_features import is_said
from nanomem_tui.language.tokens import fold, tokens
from nanomem_tui.store.files import layer

Op = Literal["add", "replace", "remove", "move"]
TITLES: Mapping[str, str] = {"SOUL.md": "Soul", "USER.md": "User Profile", "memory/MEMORY.md": "Long-term Memory"}
"""The heading of each file that a Dream may change, for the case that it has to make it."""

_LIST = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_BOLD = re.compile(r"\*\*[^*]+\*\*")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*")


@dataclass(frozen=True, slots=True)
class LineEdit:
    """One change of one line.

    `old` is the whole line that is replaced, removed or moved, `new` the whole line that comes, both without line end;
    `line` is where `old` stood (from 1). `section` is the title under which a line is added or to which it is moved (in
    `to_file`, else its own file); "" is the end of the part before the first section. `evidence` are the cursors of the
    history entries that ask for it; `supersedes` is the value in `old` that they contradict; `why` is for people.
    """

    op: Op
    file: str
    section: str = ""
    line: int | None = None
    old: str = ""
    new: str = ""
    evidence: tuple[int, ...] = ()
    to_file: str = ""
    supersedes: str = ""
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are not empty, as a JSON object."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None, ())}


def apply_edits(files: Mapping[str, str], edits: Iterable[LineEdit]) -> dict[str, str]:
    """`files` (text by name) with the edits made in order.

    Raises Conflict when a line that an edit names is not there, BadInput for a line with a line end or another file.
    """
    result = dict(files)
    for edit in edits:
        if "\n" in edit.section or "\r" in edit.section:
            raise BadInput("a heading is one line", edit.file)
        for name in (edit.file, edit.to_file or edit.file):
            if name not in TITLES:
                raise BadInput("a Dream may not change that file", name)
        if "\n" in edit.new or "\r" in edit.new:
            raise BadInput("an edit is one line", edit.file)
        text = result.get(edit.file, "")
        if edit.op == "add":
            result[edit.file] = _added(edit.file, text, edit.section, edit.new)
            continue
        at = _find(text, edit)
        if edit.op == "replace":
            result[edit.file] = _with_line(text, at, edit.new)
            continue
        result[edit.file] = _with_line(text, at, None)
        if edit.op == "move":
            target = edit.to_file or edit.file
            result[target] = _added(target, result.get(target, ""), edit.section, edit.new or edit.old)
    return result


def rebase(edit: LineEdit, files: Mapping[str, str], passed: Iterable[LineEdit]) -> LineEdit:
    """Return the edit on the line that is there, where its own is one that another edit, of those `passed` over, would
    have written: the last of three changes of a line can be made without the two before it. Else as it is."""
    left, found = list(passed), edit
    while found.op != "add" and not _stands(found, files):
        before = next((one for one in left if _writes(one, found)), None)
        if before is None:
            return edit
        left.remove(before)
        if before.op == "add" and found.op == "replace":
            evidence = tuple(sorted({*before.evidence, *found.evidence}))
            found = replace(before, new=found.new, evidence=evidence, why=found.why)
        elif before.op == "add":
            return edit
        else:
            found = replace(found, old=before.old, line=before.line, supersedes="")
    return found


def _stands(edit: LineEdit, files: Mapping[str, str]) -> bool:
    return any(line.removesuffix("\r") == edit.old for line in files.get(edit.file, "").split("\n"))


def _writes(edit: LineEdit, other: LineEdit) -> bool:
    """Return whether an edit writes the line that the other one changes."""
    return edit.op in ("add", "replace") and edit.file == other.file and edit.new == other.old and edit != other


def _find(text: str, edit: LineEdit) -> int:
    """Return the index of the line `edit.old`, the one nearest to `edit.line`."""
    places = [i for i, line in enumerate(text.split("\n")) if line.removesuffix("\r") == edit.old]
    if not places or not edit.old.strip():
        raise Conflict("the line to change is not there any more", edit.file, edit.old[:80])
    if len(places) > 1 and (within := markdown.blocks(text)):  # not the one in code, wherever the other went
        places = [place for place in places if place not in within] or places
    return min(places, key=lambda place: abs(place + 1 - (edit.line or 1)))


def _with_line(text: str, at: int, new: str | None) -> str:
    lines = text.split("\n")
    if new is not None:
        lines[at] = new + ("\r" if lines[at].endswith("\r") else "")
        return "\n".join(lines)
    del lines[at]
    if at == len(lines) and lines:  # the last line of a text that does not end in a line feed
        lines[-1] = lines[-1].removesuffix("\r")
    return "\n".join(lines)


def _added(name: str, text: str, title: str, new: str) -> str:
    """`text` with the line `new` at the end of the section `title`, which is made when there is none."""
    if not text.strip():
        return f"# {TITLES[name]}\n\n" + (f"## {title}\n" if title else "") + new + "\n"
    end = "\r" if 2 * text.count("\r\n") > text.count("\n") else ""
    closed = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n")
    section = find_section(text, title)
    if section is None and not title:
        at, block = 0, [new, ""]
    elif section is None:
        spaced = re.search(r"(?m)^## .*\n\r?\n", text) is not None
        lead = [""] if lines[-1].strip() else []
        at, block = len(lines), [*lead, f"## {title}", *([""] if spaced else []), new]
    else:
        at, block = _insertion_point(
            [line.removesuffix("\r") for line in lines] if "\r" in text else lines, section, new
        )
    block = [line + end for line in block]
    if at == len(lines) and not closed:
        lines[-1] += end
        block[-1] = block[-1].removesuffix("\r")
    return "\n".join([*lines[:at], *block, *lines[at:]]) + ("\n" if closed else "")


def find_section(text: str, title: str) -> Section | None:
    """Return the first section with that title ("": the part under the file's own heading, or before any)."""
    found = markdown.sections(text)
    if title:
        return next((s for s in found if s.level and s.title.casefold() == title.casefold()), None)
    return next((s for s in found if s.level <= 1), None)


def _insertion_point(lines: list[str], section: Section, new: str) -> tuple[int, list[str]]:
    """(index, lines to put there): after the last list line of the section, else after its text, set off by a blank."""
    start = section.start_line if section.level else 0
    body = lines[start : start + len(section.lines)]
    within = markdown.blocks("\n".join(body))
    named = _named_lists(body, within)
    listed = (i for i in range(len(body) - 1, -1, -1) if i not in within and _LIST.match(body[i]))
    last = next((i for i in listed if i not in named), None)
    if last is None and named:
        at = min(named.values())
        return start + at, [*([""] if at and body[at - 1].strip() else []), new, ""]
    if last is not None:
        while last + 1 < len(body) and _goes_on(body[last + 1], {last, last + 1} <= within):
            last += 1
        return start + last + 1, [new]
    stop = next((i for i, line in enumerate(body) if i not in within and _RULE.fullmatch(line)), len(body))
    filled = [i for i in range(stop) if body[i].strip()]
    at = start + (filled[-1] + 1 if filled else min(1, stop))
    before = [""] if filled else []
    after = [""] if at < len(lines) and lines[at].strip() else []
    return at, [*before, new, *after]


def opens_list(line: str) -> bool:
    """Return whether a line of text says what the list under it is of: `Bob:`, or a name in bold."""
    text = line.strip()
    return text.endswith((":", "：", ":**", "：**")) or _BOLD.fullmatch(text) is not None


def _named_lists(body: Sequence[str], within: Collection[int]) -> dict[int, int]:
    """Return the list lines that stand under a line that says what they are of, and where that stands: another line of
    the section does not come there."""
    found: dict[int, int] = {}
    opened: int | None = None
    for at, line in enumerate(body):
        if at in within or not line.strip():
            continue
        if _LIST.match(line):
            if opened is not None:
                found[at] = opened
        elif not line[:1].isspace():
            opened = at if opens_list(line) else None
    return found


def _goes_on(line: str, within: bool) -> bool:
    """Return whether a list item goes on in its next line: an indented one, or any in the code that it holds."""
    return within or bool(line.startswith((" ", "\t")) and line.strip())


# What a line must not lose and must not be confused over: names, numbers, dates, addresses, code, colours.

_WORDS = (
    "red orange yellow green blue purple violet pink brown black white grey gray monday tuesday wednesday thursday "
    "friday saturday sunday january february march april may june july august september october november december"
).split()
_DETAIL = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|(?P<url>[a-z][a-z0-9+.-]*://[^\s<>\"'）)，。；]+)"
    r"|[「『“《\"](?P<quoted>[^「」『』“”《》\"\n]{1,60})[」』”》\"]"
    r"|(?P<address>[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[\w-]+(?:[./:][\w-]+)*[./][\w-]+(?:[./:][\w-]+)*|/[\w./-]+)"
    r"|(?P<number>[+-]?\d[\d.,:/–-]*)"
    r"|(?P<name>(?<![\w'])[A-Z][\w'’+#-]*|[^\W\d_]+\d[\w-]*)"
    r"|(?P<day>(?:周|星期|礼拜)[一二三四五六日天])"
    rf"|\b(?P<word>(?i:{'|'.join(_WORDS)}))\b"
)
_SUBJECT = re.compile(r"\s+(?:is|was|are|were|has|had|said|says|likes?|works?|lives?|and|'s)\b|['’]s\b|\s+[A-Z]")
_PRONOUNS = frozenset("I I'm I've I'll I'd The A An He She It We They This That There User My".split())


@lru_cache(maxsize=16384)
def details(text: str) -> tuple[str, ...]:
    """Return the details of `text` in order, folded: code, addresses, numbers, quotes, names, days and colours."""
    found = []
    for match in _DETAIL.finditer(text):
        kind, value = match.lastgroup, match[match.lastgroup or 0]
        if kind == "name" and not _is_name(text, match.start(), match.end(), value):
            continue
        value = fold(value).strip(".,:;/–-'’" if kind in ("number", "name") else ".,;")
        if value:
            found.append(value)
    return tuple(found)


def _is_name(text: str, start: int, end: int, value: str) -> bool:
    """A capital alone makes no name at the start of a sentence, unless what follows treats it as one."""
    if value in _PRONOUNS:
        return False
    if any(c.isupper() or c.isdigit() for c in value[1:]):
        return True
    before = text[:start].rstrip(' *_"“「(（')
    opens = not before or before[-1] in ".!?:：。！？-•;；\n"
    return not opens or _SUBJECT.match(text, end) is not None


def holds(text: str, detail: str) -> bool:
    """Return whether folded `detail` stands in folded `text` as a whole word."""
    left = r"(?<![0-9a-z])" if detail[:1].isascii() and detail[:1].isalnum() else ""
    right = r"(?![0-9a-z])" if detail[-1:].isascii() and detail[-1:].isalnum() else ""
    return detail in text and re.search(left + re.escape(detail) + right, text) is not None


def unaccounted_details(text: str, *sources: str) -> tuple[str, ...]:
    """Return the details of `text` that stand in none of `sources`."""
    folded = [fold(source) for source in sources]
    return tuple(dict.fromkeys(d for d in details(text) if not any(holds(source, d) for source in folded)))


@lru_cache(maxsize=16384)
def meaningful_words(text: str) -> frozenset[str]:
    """Return the tokens of `text` that carry meaning."""
    return frozenset(tokens(text))


def says_all(new: str, old: str) -> bool:
    """Return whether `old` contains all that `new` says, in its words and with its details."""
    wanted = meaningful_words(new)
    if not wanted <= meaningful_words(old) or not wanted:  # the quick answer for almost every pair of lines
        return not wanted and fold(new) == fold(old)
    return fold(new) == fold(old) or (is_said(new, old) and not unaccounted_details(new, old))


_NEARLY = 4  # letters that two forms of a word have in common at least


def missing_words(wanted: Iterable[str], there: frozenset[str]) -> frozenset[str]:
    """Return the wanted words that are missing in any form."""
    near: dict[str, list[str]] = {}
    for word in there:
        near.setdefault(word[:_NEARLY], []).append(word)
    return frozenset(
        word
        for word in wanted
        if word not in there and not any(_alike(word, other) for other in near.get(word[:_NEARLY], ()))
    )


def _alike(word: str, other: str) -> bool:
    """Return whether two words are forms of one: much the same beginning, no number."""
    shortest = min(len(word), len(other))
    common = max(_NEARLY, shortest - 2)
    return shortest > _NEARLY and word[:common] == other[:common] and word.isalpha() and other.isalpha()


# Headings that edits make: a line of the file that nobody asked for by itself, so it is held against as much.

MAX_TITLE = 80
_SHORT = 3  # words of a title that may be nothing but the names of subjects
_TITLES_WORDS = """
about activities address allergies animals appointments basic birthdays books budget calendar career car communication
conditions contacts context cooking core current daily dates decisions devices diet drinks education environment events
facts family films finance fitness food friends games general goals habits hardware health history hobbies home house
identity important information infrastructure interests job languages life location long long-term medical medication
memory miscellaneous misc money movies music notes ongoing other people personal pets places plans preferences
principles profile project projects recent recipes relationships reminders routine routines schedule school servers
setup shopping software sports study style tasks tech technology term tone tools travel trips user vehicles voice weekly
work facts infra instructions interest key length level main primary response role special technical topics misc
session summary conversation durable new known update updates details remember said today made
"""
"""What headings are called that say nothing of anybody."""
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_TITLE = re.compile(r"\s*(?![-*+] )(?:\*\*.+\*\*[:：]?|.+[:：])\s*")


def new_heading(edit: LineEdit, files: Mapping[str, str]) -> str:
    """Return the title of the heading that the edit would make in `files` (text by name), "" when it makes none."""
    if edit.op not in ("add", "move") or not edit.section:
        return ""
    there = files.get(edit.to_file or edit.file, "") if edit.op == "move" else files.get(edit.file, "")
    return edit.section if find_section(there, edit.section) is None else ""


def leads_lines(text: str, old: str, line: int | None) -> bool:
    """Return whether lines stand under the line `old` of a text, the one nearest to `line`: those of its section, those
    that are set in, or the list of a line in bold or with a colon."""
    lines = [one.removesuffix("\r") for one in text.split("\n")]
    same = [at for at, one in enumerate(lines) if one == old]
    if not same:
        return False
    at = min(same, key=lambda place: abs(place + 1 - (line or 1)))
    head = next((part for part in markdown.sections(text) if part.level and part.start_line == at + 1), None)
    if head is not None:
        below = next((part.level for part in markdown.sections(text) if part.start_line > head.start_line), 0)
        return below > head.level or any(one.strip() for one in head.lines)
    rest = [one for one in lines[at + 1 :] if one.strip()][:1]
    if not rest or rest[0].startswith("#"):
        return False
    if indent(rest[0]) > indent(old):
        return True
    return _TITLE.fullmatch(old) is not None and _ITEM.match(rest[0]) is not None


def impossible_heading(title: str) -> str:
    """Return why it is no heading, whoever asks for it; "" when it is one."""
    if len(title.splitlines()) > 1:
        return "a heading is one line"
    return f"a heading of more than {MAX_TITLE} characters" if len(title) > MAX_TITLE else ""


def heading_subjects(title: str) -> frozenset[str]:
    """Return the words of a title that say something of somebody."""
    left = classify.without_subjects(title)
    if len(left.split()) <= _SHORT:
        left = " ".join(classify.names_of_heading(left))
    return meaningful_words(left) - _general()


@lru_cache(1)
def _general() -> frozenset[str]:
    return meaningful_words(_TITLES_WORDS)


# Headings that come and go with the lines under them, where a change of a memory file is made or taken back.

Owned = Callable[[str], Collection[int]]
"""Of a memory file by its name: the lines (from 1) of the headings that a Dream of ours made."""


def owns_none(_file: str) -> Collection[int]:
    """Return where nobody knows who made a heading."""
    return ()


class _Under(NamedTuple):
    """A heading at the index `at`, the indexes of the filled lines under it, and whether it has headings below it."""

    at: int
    lines: tuple[int, ...]
    leads: bool


def drop_empty_headings(now: str, after: str, owned: Callable[[], Collection[int]]) -> str:
    """`after`, a change of `now`, without those of the headings `owned` in `now` under which nothing is left by it."""
    mine: Collection[int] | None = None
    headings = {one.at: one for one in _headings(now)}
    while True:
        came_from = {place: at for at, place in _places(now, after).items()}
        bare = [
            one.at
            for one in _headings(after)
            if not one.lines and not one.leads
            and (was := headings.get(came_from.get(one.at, -1))) and (was.lines or was.leads)
        ]  # fmt: skip
        if bare and mine is None:
            mine = owned()
        gone = [at for at in bare if came_from[at] + 1 in (mine or ())]
        if not gone:
            return after
        after = _without(after, gone[-1])


def restore_headings(base: str, now: str, then: str, after: str) -> str:
    """`after` with the headings that going from `base` back to `then` took out of `now` with all that stood under them,
    and under which `now` has lines that stay."""
    kept, stays = _places(base, then), _places(now, after)
    lines = base.split("\n")
    taken = {lines[one.at].strip() for one in _headings(base) if not {one.at, *one.lines} & kept.keys()}
    raw, result = now.split("\n"), after.split("\n")
    for one in reversed(_headings(now)):
        left = [stays[at] for at in one.lines if at in stays]
        if one.at in stays or not left or raw[one.at].strip() not in taken:
            continue
        above = [raw[one.at - 1]] if one.at and not raw[one.at - 1].strip() else []
        below = [raw[one.at + 1]] if not raw[one.at + 1].strip() else []
        at = left[0]
        if above and at and not result[at - 1].strip():
            above = []
        result[at:at] = [*above, raw[one.at], *below]
    return "\n".join(result)


def undo_change(change: Change, now: str | None, owned: Owned) -> Change:
    """Return the change of a memory file that takes back an older one, made on what the file holds `now` where a
    heading has to stay or to go; else as it is."""
    base, then = (str((value or {}).get("text", "")) for value in (change.before, change.after))
    if now is None or now == base or "raw" in {**(change.before or {}), **(change.after or {})}:
        return change
    try:
        merged = layer.merged_with(change.key, base.encode(), now.encode(), then.encode())
    except (Conflict, UnicodeEncodeError):  # it is said by who makes the change
        return change
    after = (merged or b"").decode()
    final = drop_empty_headings(now, restore_headings(base, now, then, after), lambda: owned(change.key))
    return change if final == after else Change(change.layer, change.key, {"text": now}, {"text": final})


def _headings(text: str) -> list[_Under]:
    sections = [section for section in markdown.sections(text) if section.level]
    return [
        _Under(
            section.start_line - 1,
            tuple(section.start_line + at for at, line in enumerate(section.lines) if line.strip()),
            number + 1 < len(sections) and sections[number + 1].level > section.level,
        )
        for number, section in enumerate(sections)
    ]


def _places(old: str, new: str) -> dict[int, int]:
    """Return where each line of `old` that is kept stands in `new`; both counted from 0."""
    before, after = old.split("\n"), new.split("\n")
    found: dict[int, int] = {}
    at = place = 0
    for edit in merge.edits(before, after):
        found.update(zip(range(at, edit.start), range(place, edit.new_start), strict=True))
        at, place = edit.stop, edit.new_stop
    found.update(zip(range(at, len(before)), range(place, len(after)), strict=True))
    return found


def _without(text: str, at: int) -> str:
    """Return the text without the heading at index `at` and the blank lines that set it off."""
    end = "\n" if text.endswith("\n") else ""
    lines = text.removesuffix("\n").split("\n")
    stop = at + 1
    while stop < len(lines) and not lines[stop].strip():
        stop += 1
    if stop < len(lines):
        return "\n".join([*lines[:at], *lines[stop:]]) + end
    while at and not lines[at - 1].strip():
        at -= 1
    left = "\n".join(lines[:at])
    return f"{left}{end}" if end and left else left.removesuffix("\r")


# -- What a Dream clears away in the files themselves: copies of a line, and lines that say they are over -------------

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBERED = re.compile(r"\s*\d")


class _Line(NamedTuple):
    """A list line; `over` are the numbers of the lines that tell what it is an entry of."""

    number: int
    whole: str
    text: str
    over: tuple[int, ...]


def day_of(entries: Sequence[HistoryEntry]) -> str:
    """Return the newest day (`YYYY-MM-DD`) that `entries` tell, "" when none does: the clock of a Dream."""
    days = (entry.timestamp[:10] for entry in entries)
    return max((day for day in days if _DAY.fullmatch(day)), default="")


def tidy_lines(files: Mapping[str, str], cursor: int, today: str) -> Iterator[LineEdit]:
    """Removals of copies and of lines that ended before `today` (`YYYY-MM-DD`; "": no day is known), line by line.

    `cursor` is the entry that tells the day. The first of two copies stays."""
    for name, text in files.items():
        seen: dict[tuple[tuple[int, ...], str], _Line] = {}
        for line in _lines(text):
            first = seen.setdefault((line.over, _without_marks(line.text)), line)
            if today and dates.is_over(line.text, today):
                why = f"over since before {today}"
            elif first is not line:
                why = f"a copy of line {first.number}"
            else:
                continue
            yield LineEdit("remove", name, line=line.number, old=line.whole, evidence=(cursor,), why=why)


def has_copy(text: str, edit: LineEdit) -> bool:
    """Return whether the line of `text` that `edit` removes stands another time in the same list."""
    said = _without_marks(_bare(edit.old))
    if text.count(said) < 2:
        return False
    same = [line for line in _lines(text) if _without_marks(line.text) == said]
    gone = min(same, key=lambda line: abs(line.number - (edit.line or 1)), default=None)
    return gone is not None and any(line.over == gone.over for line in same if line is not gone)


def _without_marks(text: str) -> str:
    """Return what makes two lines the same: all of it but emphasis around it and a full stop."""
    return text.strip("*_ .。")


def _bare(whole: str) -> str:
    found = markdown.bullets(whole)
    return found[0].text if found else whole.strip()


def _lines(text: str) -> list[_Line]:
    """Return the list lines that stand alone: no steps, no check boxes, none that has lines of its own below."""
    raw = text.split("\n")
    bullets = {bullet.line: bullet for bullet in markdown.bullets(text)}
    result: list[_Line] = []
    opened, above = 0, list[markdown.Bullet]()
    for number, whole in enumerate(raw, 1):
        bullet = bullets.get(number)
        if bullet is None:
            if whole.strip() and not whole[:1].isspace():  # a heading, a name in bold: what comes is of that
                opened, above = number, []
            continue
        above = [one for one in above if one.indent < bullet.indent]
        if _alone(bullet, raw) and not _NUMBERED.match(whole):
            over = (opened, *(one.line for one in above))
            result.append(_Line(number, whole.removesuffix("\r"), bullet.text, over))
        above.append(bullet)
    return result


def _alone(bullet: markdown.Bullet, raw: Sequence[str]) -> bool:
    """Return whether the list line is neither a check box nor one that has lines of its own below."""
    below = raw[bullet.line].expandtabs(4) if bullet.line < len(raw) else ""
    leads = below.strip() and len(below) - len(below.lstrip()) > bullet.indent
    return bool(bullet.text) and not leads and not bullet.text.startswith(("[ ]", "[x]", "[X]"))


@lru_cache(maxsize=32768)
def features(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning, and its details: names, numbers, addresses, code."""
    return meaningful_words(text[:_MOST_TEXT]) | {f"={detail}" for detail in details(text[:_MOST_TEXT])}


def plain_line(line: str) -> str:
    """Return what a line says, without bullet, mark and white space around it."""
    found = marked_lines(line)
    return found[0][1] if found else ""


def is_statement(line: str) -> bool:
    """Return whether a line says something that an entry could have asked for: neither blank, a heading nor a rule."""
    text = line.strip()
    return not text.startswith("#") and any(character.isalnum() for character in text)


_MOST_TEXT = 4000  # characters of a statement that are compared
