"""Findings about a text: a passed date, too long, already in a boot file, instructs the model, holds a secret."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.language import dates, injection
from nanomem_tui.language.pack_files import is_worth_knowing
from nanomem_tui.language.statements import statement as statements_statement
from nanomem_tui.language.statements.compare import compared
from nanomem_tui.language.tokens import tokens
from nanomem_tui.memory.safety import LONGEST
from nanomem_tui.review.finders import rows as finders_rows
from nanomem_tui.review.finders.rows import ASKED_FOR, RowFinder, Rows, Verdicts, origin_evidence, row_words
from nanomem_tui.review.finders.rows import origin_evidence as who_said
from nanomem_tui.review.findings import Decision, DecisionDetails, Evidence, Finding
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import AnyRow, Item, Record, Row

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.language.secrets import Secret


GRACE = timedelta(days=1)
"""How long over a day has to be: nobody is asked at midnight."""
RULES = frozenset(("decision",))
"""Kinds in which `on Friday` is every Friday. A preference holds whenever it is asked for: its `today` is that day."""
GO: tuple[Decision, ...] = ("delete", "edit", "keep", "disable")
STAY: tuple[Decision, ...] = ("edit", "delete", "keep", "disable")


class DateHasPassed(RowFinder):
    """Finds items with relative dates that no longer read right; to edit one without giving words writes the dates."""

    kinds = ("dated",)

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._looked = -1
        self._seen: dict[str, Item] = {}
        self._told: dict[str, tuple[dates.Told, ...]] = {}

    def find(self) -> Iterable[Finding]:
        """Return all of them."""
        counter, found = self._rows.counter, list(self._found())
        self._looked = counter
        return found

    def ids(self) -> frozenset[str]:
        """Return the items with a relative date: they are asked about here once it is over, and nowhere else before."""
        if self._looked != self._rows.counter:
            self.find()
        return frozenset(self._told)

    def _found(self) -> Iterator[Finding]:
        today = clock.now().astimezone().date()
        for row in self._rows.unpinned():
            if passed := self._passed(row, today):
                last = max(passed, key=lambda one: one.until)
                gone = all(one.ahead and not one.lasting for one in passed)
                why = f"“{last.words}” was said on {_day_text(row)}" + (f", and meant {last.until}" if gone else "")
                days = (today - last.until).days
                weight = min(0.9, 0.6 + days / 100)
                yield self._rows.finding("dated", row, why, GO if gone else STAY, weight, _day_text(row))

    def _passed(self, row: Item, today: date) -> Sequence[dates.Told]:
        """Return the relative dates of an item, where the last of them is over."""
        found = self._dates_of(row)
        if not found or max(one.until for one in found) + GRACE >= today:
            return ()
        return found

    def _dates_of(self, row: Item) -> tuple[dates.Told, ...]:
        seen = self._seen.get(row.id)
        if seen is not row and (seen is None or _judged_on(seen) != _judged_on(row)):
            moment = max(row.created_at, row.updated_at)
            may_tell = row.kind != "preference" and dates.may_tell(row.text)
            day = _day(moment[:19]) if may_tell else None
            found = dates.find_relative_dates(row.text, day, of_rule=row.kind in RULES) if day else ()
            if found:
                self._told[row.id] = found
            else:
                self._told.pop(row.id, None)
        if seen is not row:
            self._seen[row.id] = row
        return self._told.get(row.id, ())

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return what each date meant, the words with their dates, and who said them when."""
        row = self._rows.row(finding)
        if not isinstance(row, Item):
            return ()
        meant = [
            Evidence(f"“{one.words}”", f"{'until' if one.ahead else 'read right until'} {one.until}")
            for one in self._dates_of(row)
        ]
        words = with_absolute_dates(row)
        with_dates = [Evidence("with its dates", words)] if words != row.text else []
        return [*meant, *with_dates, *who_said(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: DecisionDetails) -> Sequence[Change] | None:
        """To edit without words writes the dates in place of the relative ones; all else is as usual."""
        row = self._rows.row(finding)
        if decision != "edit" or how.text or not isinstance(row, Item):
            return None
        from nanomem_tui.store import values

        words = with_absolute_dates(row)
        if words == row.text:
            return None
        after = row._replace(text=words, updated_at=clock.iso(clock.now()))
        return [change_of("item", row, values.with_value(after))]


def _judged_on(row: Item) -> tuple[str, str, str]:
    return row.text, max(row.created_at, row.updated_at), row.kind


def with_absolute_dates(row: Item) -> str:
    """Return the words of an item with dates in place of the relative ones, as far as each is sure."""
    from nanomem_tui.memory.recall import said_on

    return dates.absolute(row.text, said_on.day_said(row))


def _day_text(row: Item) -> str:
    day = _day(max(row.created_at, row.updated_at)[:19])
    return day.isoformat() if day else ""


@lru_cache(4096)
def _day(moment: str) -> date | None:
    try:
        return datetime.fromisoformat(f"{moment}+00:00").astimezone().date()
    except ValueError:
        parsed = clock.parse(moment)
        return parsed.astimezone().date() if parsed else None


# -- What is longer than recall can give: it never reaches the model, or pushes all else out --------------------------

MUCH = 0.4
"""Share of the budget from which one memory pushes out too many others."""
WIDEST = 8
"""Characters that one hidden character takes at most when it is made visible."""
LONG_OFFERS: tuple[Decision, ...] = ("edit", "delete", "disable", "keep")
PASTED: tuple[Decision, ...] = ("delete", "edit", "disable", "keep")


class TooLong(RowFinder):
    """Finds items and lessons that take most of what recall may give, or more than all."""

    kinds = ("long",)

    def _found(self) -> Iterator[Finding]:
        from nanomem_tui.memory.turns.prompt import CONTEXT_CHARS, SHARES, item_line, lesson_line

        budget = self._rows.ws.settings.recall_max_prompt_chars
        least = max(LONGEST, int(budget * MUCH / WIDEST))
        for row in self._rows.unpinned():
            if len(row.text) > least:
                yield from self._judged(row, len(item_line(row)) + 1, budget)
        share = int(CONTEXT_CHARS * SHARES["lessons"])
        for lesson in self._rows.lessons():
            if len(lesson.trigger) + len(lesson.better_action) + len(lesson.bad_action) > LONGEST:
                yield from self._judged(lesson, len(lesson_line(lesson)) + 1, share)

    def _judged(self, row: Row, takes: int, budget: int) -> Iterator[Finding]:
        """`takes` and `budget`: characters."""
        if takes <= LONGEST or takes <= budget * MUCH:
            return
        if takes > budget:
            why = f"it takes {takes:,} characters, recall gives {budget:,} at most: the model never sees it"
        else:
            why = f"it alone takes {takes / budget:.0%} of what recall gives ({takes:,} of {budget:,} characters)"
        offers = PASTED if _is_pasted(row) else LONG_OFFERS
        yield self._rows.finding("long", row, why, offers, 0.9 if takes > budget else 0.5)


def _is_pasted(row: Row) -> bool:
    from nanomem_tui.memory import safety

    return any(found.kind in ("code", "command", "recalled") for found in safety.check(row_words(row)))


# What a boot file says already: the model reads SOUL.md, USER.md and MEMORY.md at every turn. An item that was taken
# from one of them says so by its nature, and is no finding.

# What SOUL.md, USER.md and MEMORY.md say, statement by statement, and whether a text says only what one of them says.

SHARED = 0.5
"""The share of the words of each that the other has at least, for the judge to be asked."""
HELD = 3
"""Statements that a text is held against at most: those that share most with it."""
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s*)?|^\s*>\s?")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)\*|\*(?!\w)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NAME = re.compile(r"[^\W\d_]{2,}")
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|[；。！？]")


class Statement(NamedTuple):
    """One statement of a boot file: the file, its line from 1, the line, what it says, and the heading over it."""

    file: str
    line: int
    text: str
    said: str
    heading: str


class BootStatements:
    """The statements of all boot files, found by their words."""

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        texts = list(files)
        names = [
            word for _, text in texts for name in statements_statement.names_given(text) for word in _NAME.findall(name)
        ]
        self._name = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b" if names else "(?!)")
        self._words: dict[Statement, int] = {}
        self._by_word: dict[str, list[Statement]] = {}
        for name, text in texts:
            for statement in _statements(name, text):
                words = {*tokens(statement.said)}
                self._words[statement] = len(words)
                for word in {*words, *tokens(statement.heading)}:
                    self._by_word.setdefault(word, []).append(statement)

    def find(self, text: str) -> Statement | None:
        """Return the statement that says all that `text` says; None where none does."""
        words = {*tokens(text)}
        met = [word for word in words if word in self._by_word]
        if not met or len(met) < SHARED * len(words):  # most texts end here
            return None
        shared = Counter(one for word in met for one in self._by_word[word])
        near = [
            one for one, count in shared.most_common(HELD)
            if count >= SHARED * len(words) and count >= SHARED * self._words[one]
        ]  # fmt: skip
        return next((one for one in near if self._says(one, text)), None)

    def _says(self, one: Statement, text: str) -> bool:
        bare = self._name.sub("User", text)
        said = [self._name.sub("User", one.said), *([f"{one.heading}: {one.said}"] if one.heading else [])]
        return any("same" in (compared(line, bare).relation, compared(bare, line).relation) for line in said)


def _statements(name: str, text: str) -> Iterator[Statement]:
    heading, fenced = "", False
    for number, line in enumerate(_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text).split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (found := _HEADING.match(line)):
            heading = found[2].strip()
        elif not fenced and line.strip():
            bare = _MARKUP.sub("", _BULLET.sub("", line)).strip()
            for part in dict.fromkeys((bare, *(filter(None, map(str.strip, _CLAUSE.split(bare)))))):
                yield Statement(name, number, line.strip(), part, heading)


@lru_cache(8)
def read_statements(files: tuple[tuple[str, str], ...]) -> BootStatements:
    """Return the statements of these files, each its name and its text."""
    return BootStatements(files)


RESTATED_OFFERS: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")
OF_LESSON: tuple[Decision, ...] = ("disable", "keep", "delete", "edit")


class Restated(RowFinder):
    """Finds items and lessons that say only what stands in a boot file."""

    kinds = ("restated",)

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._book: BootStatements | None = None
        self._ids: tuple[int, frozenset[str]] = (-1, frozenset())
        self._where: Verdicts[Statement | None] = Verdicts(lambda _: None)

    def find(self) -> Iterable[Finding]:
        """Return all of them."""
        self._read()
        counter, said_already = self._rows.counter, list(self._restated())
        self._ids = counter, frozenset(row.id for row, _ in said_already)
        return [finding for row, finding in said_already if not _is_from_boot_file(row)]

    def ids(self) -> frozenset[str]:
        """Return the items that stand in a boot file: of these nobody need be asked a second time."""
        if self._ids[0] != self._rows.counter:
            self.find()
        return self._ids[1]

    def _restated(self) -> Iterator[tuple[Row, Finding]]:
        items = (row for row in self._rows.unpinned() if not finders_rows.is_fact(row))
        rows: Sequence[Row] = [*items, *self._rows.lessons()]
        for row in rows:
            statement = self._statement(row)
            if statement is not None:
                why = f"{statement.file}, line {statement.line} says it already"
                offers = RESTATED_OFFERS if isinstance(row, Item) else OF_LESSON
                weight = 0.8 if isinstance(row, Item) else 0.4
                yield row, self._rows.finding("restated", row, why, offers, weight, statement.text)

    def _read(self) -> None:
        book = read_statements(tuple(self._files()))
        if book is not self._book:
            self._book, self._where = book, Verdicts(book.find)

    def _files(self) -> Iterator[tuple[str, str]]:
        for name in TRACKED_FILES:
            try:
                text = self._rows.ws.documents.read(name)
            except NanomemError:
                continue  # the status says what is wrong with it
            if text:
                yield name, text

    def _statement(self, row: Row) -> Statement | None:
        text = row.text if isinstance(row, Item) else row.better_action
        return self._where.get(row.id, text) if len(text) <= 2 * LONGEST else None

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return the line of the boot file, and who said it here."""
        row = self._rows.row(finding)
        if row is None:
            return ()
        self._read()
        statement = self._statement(row)
        line = [] if statement is None else [_line(statement)]
        return [*line, *origin_evidence(self._rows, row)]


def _is_from_boot_file(row: Row) -> bool:
    source = row.meta.get("from")
    return isinstance(source, dict) and source.get("file") in TRACKED_FILES


def _line(statement: Statement) -> Evidence:
    from nanomem_tui.language import secrets

    label = f"{statement.file}, line {statement.line}"
    return Evidence(label, secrets.mask(statement.text), origin=statement.file)


# What reads as an order to the model: it was taken for a memory, and would be put before the model again.

# A quick look that most texts pass: no word of theirs, however it is read, can be part of an order to a model.

CLEAN, OPEN, HIDDEN = 0, 1, 2
"""What a text may hold: nothing, an order in words that can be read, an order that is hidden."""
_JOINS, _LONE, _PAIRS = 4, 8, 16
"""A word that is part of a sign of several words, that holds a letter by itself, that ends in pairs of hex digits."""
_ENCODED = re.compile(r"[a-z0-9+/_=-]{12}|[%&\\]|0x", re.IGNORECASE)
"""What may hide a text: a long run of letters and digits, a code of a character."""
_ALONE = re.compile(r"(?<![^\W_])[^\W_](?![^\W_])")
_EVEN = re.compile(r"\b(?:[0-9a-f]{2}:?)+$")
_PAIRS_SIDE_BY_SIDE = re.compile(r"[0-9a-f]{2}[ :][0-9a-f]{2}")
_LETTERS_SIDE_BY_SIDE = re.compile(r"[ .\-_*·]\w[ .\-_*·]\w[ .\-_*·]")
"""What stands in the middle of what is written in pairs of digits, or letter by letter."""
_EASY = re.compile(r"[\x00-\x7f\u4e00-\u9fff，。、；：？]*")
"""Texts that are folded by lower case alone."""
_EVERYWHERE = frozenset("a all and any are do for from have no not now of on the this to when without you".split())
_LEET = str.maketrans("013457@$!|", "oieastasil")
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")


class Sieve:
    """Whether a text is worth the patterns; keeps what it knows of words."""

    def __init__(self) -> None:
        signs = injection.signs()
        spaced = [sign for sign in signs if " " in sign]
        self._within = _Signs(sign for sign in signs if " " not in sign)
        self._parts = _Signs(map(_rarest, spaced))
        self._spaced = _Signs(spaced)
        self._clean: set[str] = set()
        self._others: dict[str, int] = {}

    def may_hold(self, text: str) -> int:
        """Return CLEAN, OPEN (no hidden order possible) or HIDDEN (look for hidden ones too)."""
        found = CLEAN
        if text.isascii() or _EASY.fullmatch(text):
            read = text.lower()
        elif _ENCODED.search(text) or injection.TAGS.search(text) or injection.HEX.search(text):
            return HIDDEN
        else:
            read = injection.plain(text)
        words = read.split()
        if self._clean.issuperset(words):
            return CLEAN
        for word in set(words).difference(self._clean):
            found |= self._others.get(word) or self._learned(word)
            if found & HIDDEN:
                return HIDDEN
        return found and self._looked_at(found, " ".join(words), text)

    def _looked_at(self, found: int, line: str, text: str) -> int:
        """Return what a text may hold whose words are `found`."""
        if len(text) > injection.MAX_SCANNED:
            return HIDDEN  # it is cut before it is read
        if found & _PAIRS and _PAIRS_SIDE_BY_SIDE.search(line) and injection.HEX.search(text):
            return HIDDEN
        if found & _JOINS:
            found |= self._spaced.found_in(f" {line} ")
        if found & _LONE and _LETTERS_SIDE_BY_SIDE.search(line) and injection.SPELLED.search(line):
            found |= OPEN
        return HIDDEN if found & HIDDEN else found & OPEN

    def _learned(self, word: str) -> int:
        known = self._judged(word)
        if is_worth_knowing(word, len(self._clean) + len(self._others)):
            if known:
                self._others[word] = known
            else:
                self._clean.add(word)
        return known

    def _judged(self, word: str) -> int:
        if _ENCODED.search(word) or injection.HEX.search(word):
            return HIDDEN
        known = self._within.found_in(word)
        if self._parts.found_in(f" {word} "):
            known |= _JOINS
        if _ALONE.search(word):
            known |= _LONE
        return known | _PAIRS if _EVEN.search(word) else known


class _Signs:
    """Parts of orders, found in any reading of a text at once."""

    def __init__(self, signs: Iterable[str]) -> None:
        plain = list(signs)
        self._plain = re.compile(_branches(plain))
        self._turned = re.compile(_branches([*(one.translate(_ROT13) for one in plain), *(one[::-1] for one in plain)]))

    def found_in(self, text: str) -> int:
        """Return HIDDEN for a sign in rot13 or backwards, OPEN for a readable one, else CLEAN."""
        if self._turned.search(text):
            return HIDDEN
        if self._plain.search(text):
            return OPEN
        read = text.translate(_LEET)
        return OPEN if read != text and self._plain.search(read) else CLEAN


def _branches(words: Sequence[str]) -> str:
    """A pattern that finds any of the words, and looks at each letter of a text only once or twice."""
    if "" in words:
        return ""
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(word[1:])
    each = [re.escape(letter) + _branches(rest) for letter, rest in sorted(by_letter.items())]
    return each[0] if len(each) == 1 else f"(?:{'|'.join(each)})"


def _rarest(sign: str) -> str:
    words = sign.split(" ")
    place = max(range(len(words)), key=lambda one: (words[one] not in _EVERYWHERE, len(words[one])))
    return f"{' ' * (place > 0)}{words[place]}{' ' * (place < len(words) - 1)}"


UNSAFE_OFFERS: tuple[Decision, ...] = ("delete", "disable", "keep", "edit")
ASKED: tuple[Decision, ...] = ("disable", "delete", "keep", "edit")
"""Where a person asked to remember it: it may be a wish in strong words."""


OF_NOTE: tuple[Decision, ...] = ("delete", "keep")


class ReadsLikeOrder(RowFinder):
    """Finds items and lessons that read as orders to a model."""

    kinds = ("injection",)

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._sieve = Sieve()
        self._why: Verdicts[str] = Verdicts(self._reason)

    def _reason(self, text: str) -> str:
        may_hold = self._sieve.may_hold(text)
        return injection.reason(text, hidden=may_hold == HIDDEN) if may_hold else ""

    def _found(self) -> Iterator[Finding]:
        rows: Sequence[AnyRow] = [*self._rows.items(), *self._rows.lessons(), *self._rows.notes()]
        self._why.forget(len(rows))
        for row in rows:
            if why := self._why.get(row.id, row_words(row)):
                asked = row.source in ASKED_FOR
                offers = OF_NOTE if isinstance(row, Record) else ASKED if asked else UNSAFE_OFFERS
                yield self._rows.finding("injection", row, why, offers, 0.8 if asked else 1.0)


# What holds a secret: a key, a password, the number of a card. Its value is never shown, only what it is.

LEFT = 24
"""Characters beside a secret that make a memory worth keeping without it."""


class HoldsSecret(RowFinder):
    """Finds items and lessons with a secret in them; to edit one without giving words masks it."""

    kinds = ("secret",)

    def _found(self) -> Iterator[Finding]:
        for row in (*self._rows.items(), *self._rows.lessons(), *self._rows.switched_off(), *self._rows.notes()):
            found = self._rows.secrets(row)
            if found:
                yield self._rows.finding("secret", row, f"it holds {_named(found)}", _offers(row, found), 1.0)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return what the secret is, what is left when it is masked, and who said it."""
        row = self._rows.any_row(finding)
        if row is None:
            return ()
        kinds = ", ".join(f"{one.kind} #{one.fingerprint}" for one in self._rows.secrets(row))
        note = Evidence("the secret", f"{kinds}; an edit without words of your own masks it")
        return [note, *origin_evidence(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: DecisionDetails) -> Sequence[Change] | None:
        """To edit without words masks the secret; all else is as usual."""
        row = self._rows.any_row(finding)
        if decision != "edit" or row is None or (how.text and not isinstance(row, Record)):
            return None
        from nanomem_tui.language import secrets
        from nanomem_tui.store import values
        from nanomem_tui.store.values import lesson_key

        now = clock.iso(clock.now())
        if isinstance(row, Record):
            return [change_of("record", row, row._replace(text=how.text or secrets.mask(row.text), updated_at=now))]
        if isinstance(row, Item):
            after = values.with_value(row._replace(text=secrets.mask(row.text), updated_at=now))
            return [change_of("item", row, after)]
        masked = row._replace(
            trigger=secrets.mask(row.trigger),
            bad_action=secrets.mask(row.bad_action),
            better_action=secrets.mask(row.better_action),
            updated_at=now,
        )
        key = lesson_key(masked.trigger, masked.better_action, masked.scope, masked.session_key)
        return [change_of("lesson", row, masked._replace(key=key))]


def _named(found: Sequence[Secret]) -> str:
    kinds = list(dict.fromkeys(one.kind for one in found))
    first = kinds[0]
    article = "an" if first[0] in "aeiouAEIO" else "a"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{article} {first}{more}"


def _offers(row: AnyRow, found: Sequence[Secret]) -> tuple[Decision, ...]:
    """Return what says something beside its secret is worth its words; what does not, goes."""
    if isinstance(row, Record):
        return "edit", "delete", "keep"
    secret = sum(one.end - one.start for one in found)
    if isinstance(row, Item) and len(row.text) - secret < LEFT:
        return "delete", "edit", "keep", "disable"
    return "edit", "delete", "keep", "disable"
