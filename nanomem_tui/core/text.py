"""The one gate for untrusted text, and text measured in terminal cells.

Owns `safe_text` (control, bidi and invisible characters become visible pictures) and the widths, cuts and wraps that
every line on a screen or in a terminal needs. It must not style anything, and it must import fast: the width tables are
loaded at the first text that is not plain ASCII.

Widths are those of `rich.cells.cell_len`, because that is what Textual lays lines out with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

ELLIPSIS = "…"
FORGOTTEN = "[forgotten]"
"""What stands where a text was that a person wanted to be forgotten."""
_MAX_MARKS = 16
_MAX_CLUSTER = 64
_MOST_PAIRS = 4_000_000

# Everything that a terminal obeys or that hides: C0 but \n and \t, DEL, C1, soft hyphen, fillers, bidi controls,
# zero-width characters, line separators, surrogates, variation selectors, tag characters and other format controls.
# Flag letters and skin tones are among it, for one that stands alone has no width that terminals agree on.
_SUSPECT_SET = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff"
)
_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# Emoji that take a skin tone, and those of the old planes that are two cells wide without a selector.
_PEOPLE = (
    "\u261d\u26f9\u270a-\u270d\U0001f385\U0001f3c2-\U0001f3c4\U0001f3c7\U0001f3ca-\U0001f3cc\U0001f442\U0001f443"
    "\U0001f446-\U0001f450\U0001f466-\U0001f478\U0001f47c\U0001f481-\U0001f483\U0001f485-\U0001f487\U0001f48f"
    "\U0001f491\U0001f4aa\U0001f574\U0001f575\U0001f57a\U0001f590\U0001f595\U0001f596\U0001f645-\U0001f647"
    "\U0001f64b-\U0001f64f\U0001f6a3\U0001f6b4-\U0001f6b6\U0001f6c0\U0001f6cc\U0001f90c\U0001f90f"
    "\U0001f918-\U0001f91f\U0001f926\U0001f930-\U0001f939\U0001f93c-\U0001f93e\U0001f977\U0001f9b5\U0001f9b6"
    "\U0001f9b8\U0001f9b9\U0001f9bb\U0001f9cd-\U0001f9cf\U0001f9d1-\U0001f9dd\U0001fac3-\U0001fac5"
    "\U0001faf0-\U0001faf8"
)
_WIDE = (
    "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26aa\u26ab\u26bd"
    "\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755"
    "\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_FLAG_LETTER, _TONE = "\U0001f1e6-\U0001f1ff", "\U0001f3fb-\U0001f3ff"
_ONE_EMOJI = f"(?:[{_PEOPLE}][{_TONE}]|(?![{_WIDE}])[{_EMOJI}]\ufe0e|(?![{_FLAG_LETTER}{_TONE}])[{_EMOJI}]\ufe0f?)"
# Scripts whose spelling needs the joiners: Arabic and its kin, the Indic scripts, Tibetan to Myanmar, Khmer, Mongolian.
_JOINING = (
    "\u0610-\u061a\u0620-\u070e\u0710-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18aa"
    "\ua8e0-\ua8ff\ufb50-\ufdff\ufe70-\ufefc\U00011000-\U00011fff"
)
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u103a\u17d2"
_IDEOGRAPH = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_ASCII_SUSPECT = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_SINGLE_MARKS = str.maketrans('“”„"', "‘’‚'")
_SPACES = re.compile(r"\s+")
# Latin, Greek, Cyrillic, dashes, quotes, our own pictures and the signs of the screens: one cell each, no table needed.
_NARROW = re.compile("[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2400-\u2421\u2500-\u25fc\u27e8\u27e9]*")


@lru_cache(1)
def _suspect() -> re.Pattern[str]:
    return re.compile(f"[{_SUSPECT_SET}]")


@lru_cache(1)
def _marks() -> re.Pattern[str]:
    # Combining marks are never word characters: a cheap pattern that finds where a tall stack may be.
    return re.compile(rf"[^\w\s\x00-\u02ff]{{{_MAX_MARKS + 1},}}")


@lru_cache(1)
def _kept_or_suspect() -> re.Pattern[str]:
    kept = "|".join(
        (
            f"[{_FLAG_LETTER}]{{2}}",
            f"{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*",
            "[0-9#*]\ufe0f\u20e3",
            f"[{_IDEOGRAPH}][\ufe00-\ufe02\U000e0100-\U000e01ef]",
            "[\u1807-\u180a\u1810-\u18aa][\u180b-\u180d\u180f]",
            f"[{_JOINING}][\u200c\u200d](?=[{_JOINING}])",
            f"[{_VIRAMA}][\u200c\u200d]",
        )
    )
    return re.compile(f"({kept})|[{_SUSPECT_SET}]")


def _picture(char: str) -> str:
    """What is shown instead of `char`: a control picture, a hexadecimal escape or its code point in brackets."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code < 0xA0:
        return f"\\x{code:02x}"
    return f"\u27e8U+{code:04X}\u27e9"


def _show(match: re.Match[str]) -> str:
    kept = match.group(1)
    return match.group() if kept is not None else _picture(match.group())


def _show_marks(match: re.Match[str]) -> str:
    """A stack of combining marks taller than any script needs, with the rest of it spelt out."""
    from unicodedata import category

    neutral = _suspect().match
    out: list[str] = []
    run = 0
    for char in match.group():
        if neutral(char):
            out.append(char)
            continue
        run = run + 1 if category(char) in ("Mn", "Me") else 0
        out.append(char if run <= _MAX_MARKS else _picture(char))
    return "".join(out)


def safe_text(text: str) -> str:
    """`text` with nothing in it that a terminal obeys or that a reader cannot see.

    Newline and tab stay. Other C0 controls, DEL, C1, bidi controls, zero-width and tag characters, stray variation
    selectors and lone surrogates become visible. Joiners stay inside emoji sequences and between letters of scripts
    that need them. Applying it twice changes nothing. Any length; time grows with it.
    """
    if text.isascii():
        return _ASCII_SUSPECT.sub(lambda match: _picture(match.group()), text)
    text = _marks().sub(_show_marks, text)
    if _suspect().search(text) is None:
        return text
    return _kept_or_suspect().sub(_show, text)


def editable(text: str) -> str:
    """`text` as an editor shows it: safe, and its lines end in a line feed alone; `typed_over` takes that back."""
    return safe_text(text.replace("\r\n", "\n"))


def typed_over(before: str, shown: str, edited: str) -> str:
    """`edited`, which somebody made of `shown`, with every character of `before` that was not typed over as it was.

    `shown` is `before` with pictures in place of what cannot be seen, and with line feeds in place of other line ends.
    A new line ends as all lines do; a picture that was moved is what it stands for, but where `before` holds the
    picture itself.
    """
    if shown == before:
        return edited
    pieces = _pieces(before, shown)
    pictures = {show: char for show, char in {*pieces} if show not in (char, "\n")}
    stands_for = {show: char for show, char in pictures.items() if show not in before}
    token = re.compile("|".join([*map(re.escape, sorted(pictures, key=len, reverse=True)), "(?s:.)"]))
    ends = {char for show, char in pieces if show == "\n"}
    stands_for["\n"] = ends.pop() if len(ends) == 1 else "\n"
    new = token.findall(edited)
    out: list[str] = []
    at = 0
    for start, new_start, size in _unchanged([show for show, _ in pieces], new):
        out += [stands_for.get(one, one) for one in new[at:new_start]]
        out += [char for _, char in pieces[start : start + size]]
        at = new_start + size
    return "".join(out)


def _pieces(before: str, shown: str) -> list[tuple[str, str]]:
    """What is shown for each character of `before`, a line end being one, with that character."""
    found: list[tuple[str, str]] = []
    at = place = 0
    while at < len(before):
        char = "\r\n" if before.startswith("\r\n", at) and shown.startswith("\n", place) else before[at]
        show = "\n" if char == "\r\n" else char if shown.startswith(char, place) else _picture(char)
        found.append((show, char))
        at, place = at + len(char), place + len(show)
    return found


def _unchanged(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """The runs that `old` and `new` share, in order, as (start in old, start in new, length), an empty one at the end:
    of whole lines first, then within the lines that changed."""
    found: list[tuple[int, int, int]] = []
    old_lines, new_lines = _lines(old), _lines(new)
    line = new_line = at = new_at = 0
    for start, new_start, size in [*_runs(old_lines, new_lines), (len(old_lines), len(new_lines), 0)]:
        went = [one for tokens in old_lines[line:start] for one in tokens]
        came = [one for tokens in new_lines[new_line:new_start] for one in tokens]
        found += [(at + place, new_at + new_place, length) for place, new_place, length in _runs(went, came)]
        at, new_at = at + len(went), new_at + len(came)
        same = sum(map(len, old_lines[start : start + size]))
        found.append((at, new_at, same))
        at, new_at, line, new_line = at + same, new_at + same, start + size, new_start + size
    return found


def _lines(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    ends = [at for at, before in enumerate(tokens, 1) if before == "\n"]
    return [tuple(tokens[start:stop]) for start, stop in zip([0, *ends], [*ends, len(tokens)], strict=True)]


def _runs(old: Sequence[object], new: Sequence[object]) -> list[tuple[int, int, int]]:
    """The runs that two sequences share, in order; of two that are long and unlike only their beginning and end."""
    from difflib import SequenceMatcher

    least = min(len(old), len(new))
    top = next((at for at in range(least) if old[at] != new[at]), least)
    end = next((at for at in range(least - top) if old[-1 - at] != new[-1 - at]), least - top)
    left, right = old[top : len(old) - end], new[top : len(new) - end]
    found = [(0, 0, top)]
    if len(left) * len(right) <= _MOST_PAIRS:
        blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        found += [(block.a + top, block.b + top, block.size) for block in blocks]
    return [*found, (len(old) - end, len(new) - end, end)]


@lru_cache(1)
def _cell_len() -> Callable[[str], int]:
    from rich.cells import cell_len

    return cell_len


def cell_width(text: str) -> int:
    """How many terminal cells `text` (one line, already safe) takes; the same number that Textual reckons with."""
    if _NARROW.fullmatch(text):
        return len(text)
    return _cell_len()(text)


@lru_cache(4096)
def _extends(char: str) -> bool:
    """Whether `char` belongs to the character before it: a mark, a modifier, a spacing vowel sign."""
    from unicodedata import category

    return _cell_len()(char) == 0 or char in "\u0e33\u0eb3" or category(char) == "Mc"


def clusters(text: str) -> Iterator[str]:
    """The user-perceived characters of `text`: marks, emoji sequences, flags and conjuncts stay whole."""
    start, end = 0, len(text)
    while start < end:
        at = start + 1
        if at < end and "\U0001f1e6" <= text[start] <= "\U0001f1ff" and "\U0001f1e6" <= text[at] <= "\U0001f1ff":
            at += 1
        while at < end and at - start < _MAX_CLUSTER:
            char = text[at]
            if text[at - 1] == "\u200d" or char == "\u200d":
                at += 1
            elif char < "\u0300":
                break
            elif _extends(char) or (text[at - 1] in _VIRAMA and char.isalpha()):
                at += 1
            else:
                break
        yield text[start:at]
        start = at


def cut(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """`text` in at most `width` cells, ended by `ellipsis` when something was left out; never half a character."""
    if width <= 0:
        return ""
    if _NARROW.fullmatch(text[: width + 1]):
        return text if len(text) <= width else (text[: max(width - cell_width(ellipsis), 0)] + ellipsis)[:width]
    used = kept = position = 0
    room = width - cell_width(ellipsis)
    for cluster in clusters(text):
        used += cell_width(cluster)
        if used > width:
            return text[:kept] + (ellipsis if room >= 0 else "")
        position += len(cluster)
        if used <= room:
            kept = position
    return text


def pad(text: str, width: int, align: str = "left", ellipsis: str = ELLIPSIS) -> str:
    """`text` in exactly `width` cells: cut when too long, filled with spaces (before it when `align` is "right")."""
    shown = cut(text, width, ellipsis)
    fill = " " * max(width - cell_width(shown), 0)
    return fill + shown if align == "right" else shown + fill


def one_line(text: str, limit: int = 0, ellipsis: str = ELLIPSIS) -> str:
    """`text` made safe and put on one line of at most `limit` cells (0: any); white space becomes single spaces."""
    if not limit:
        return _SPACES.sub(" ", safe_text(text)).strip()
    # A megabyte in a table cell must cost what a screen line costs: look at its beginning only.
    head = text[: limit * 8 + 64]
    shown = _SPACES.sub(" ", safe_text(head)).strip()
    if len(head) < len(text) and not text[len(head) :].isspace():
        shown += " " + ellipsis
    return cut(shown, limit, ellipsis)


def normalised(text: str) -> str:
    """`text` as seeds 000 and 001 compare it: lower case, white space collapsed. What is equal so is one memory."""
    return " ".join(text.lower().split())


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can hold the text: it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def counted(number: int, one: str, many: str = "") -> str:
    """`1 item`, `2 items`, `1,234 items`; `many` is the plural where it is not `one` and an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def without_lone_surrogates(text: str) -> str:
    """`text` as it can be written: half a character, as JSON may hold it, becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def quoted(text: str, limit: int = 40) -> str:
    """`text` on one line between quotation marks, `limit` characters at most; marks inside it become single ones, so
    that what is opened is closed."""
    line = " ".join(text.split())
    line = f"{line[:limit].rstrip()}…" if len(line) > limit else line
    return f"“{line.translate(_SINGLE_MARKS)}”"


def cut_quoted(text: str, width: int) -> str:
    """`cut`, with the quotation mark that was lost at the end put back."""
    shown = cut(text, width)
    if shown == text or shown.count("“") <= shown.count("”") or width < 3:
        return shown
    shorter = cut(text, width - 1)
    return f"{shorter}”" if shorter.count("“") > shorter.count("”") else shorter


def wrap(text: str, width: int) -> list[str]:
    """`text` (safe) as lines of at most `width` cells, broken at spaces where there are any; tabs become spaces.

    Every paragraph keeps its own line; an empty text is one empty line.
    """
    width = max(width, 2)
    lines: list[str] = []
    for line in text.split("\n"):
        shown = line.expandtabs(4) if "\t" in line else line
        lines.extend(_wrap_ascii(shown, width) if shown.isascii() else _wrap_wide(shown, width))
    return lines


def _wrap_ascii(line: str, width: int) -> list[str]:
    lines: list[str] = []
    start = 0
    while len(line) - start > width:
        space = line.rfind(" ", start + 1, start + width + 1)
        if space > start and not line[start:space].isspace():
            lines.append(line[start:space])
            start = space + 1
        else:
            lines.append(line[start : start + width])
            start += width
    lines.append(line[start:])
    return lines


def _wrap_wide(line: str, width: int) -> list[str]:
    lines: list[str] = []
    current: list[str] = []
    used = space = 0
    for cluster in clusters(line):
        size = cell_width(cluster)
        if used + size > width and current:
            if cluster == " ":
                lines.append("".join(current))
                current, used, space = [], 0, 0
                continue
            rest = current[space:] if space else []
            lines.append("".join(current[: space - 1] if space else current))
            current, used, space = rest, sum(map(cell_width, rest)), 0
        current.append(cluster)
        used += size
        if cluster == " ":
            space = len(current)
    lines.append("".join(current))
    return lines


def indent(line: str) -> int:
    """How far a line is set in, in columns (a tab is 4)."""
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())
