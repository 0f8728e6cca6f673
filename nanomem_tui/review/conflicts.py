"""Memories that contradict each other, and the decision about a pair; every decision is one operation.

Owns the decisions: one of the two gives way (kept, marked superseded, never injected), both stay, or one moves to the
scope where it holds. `language.statements.compare` reads the texts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.language.statements.compare import Comparison
from nanomem_tui.memory import retention
from nanomem_tui.memory.edit_conflicts import quote_start
from nanomem_tui.memory.retention import Why, row_text
from nanomem_tui.memory.scopes import parse_scope, scope_label
from nanomem_tui.review.duplicates import changed_runs
from nanomem_tui.review.findings import Finding, fingerprint, snooze_end
from nanomem_tui.review.pairs import Pairs, covers, spoken_text
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Row, layer_of

if TYPE_CHECKING:
    from nanomem_tui.review.findings import Marks

PREFIX = "conflict:"
Side = Literal["older", "newer"]
LEAST = 0.8
"""How sure the judge has to be of a conflict for a person to see it."""
LEAST_UNSURE = 0.75
"""How likely a conflict has to be to be shown where the judge is not sure of it."""
LIST = 6
"""A memory with more conflicts than these is one entry of a list, and contradicts nothing."""
SHOWN = 40
"""The longest value that is shown, in characters."""


class Contradiction(NamedTuple):
    """Two rows that cannot both be so, the older first, and what they say otherwise."""

    older: Row
    newer: Row
    judged: Comparison

    @property
    def ids(self) -> tuple[str, str]:
        """The ids, the older first."""
        return self.older.id, self.newer.id

    @property
    def id(self) -> str:
        """Its name: the same whichever is the older."""
        return PREFIX + "+".join(sorted(self.ids))

    @property
    def why(self) -> str:
        """What they say otherwise, in words."""
        if self.judged.relation == "unsure":
            return "may be the same thing said otherwise"
        if self.judged.relation == "denial":
            return "says that it is not so any more"
        runs = list(changed_runs(spoken_text(self.older), spoken_text(self.newer)))
        whole = [(old, new) for old, new in runs if old and new and max(len(old), len(new)) <= SHOWN]
        return f"a newer value: {whole[-1][1]}, not {whole[-1][0]}" if whole else "a newer value"

    @property
    def weight(self) -> float:
        """How sure it is, from 0 to 1; what a person would have to ask about is less sure than anything else."""
        share = self.judged.share
        return round(share / 2 if self.judged.relation == "unsure" else share, 2)

    @property
    def print_(self) -> str:
        """Changes with the words of either."""
        texts = "\0".join(row_text(row) for row in sorted((self.older, self.newer), key=lambda row: row.id))
        return fingerprint(texts)

    @property
    def across(self) -> bool:
        """Whether they are of two scopes."""
        return scope_words(self.older) != scope_words(self.newer)

    def row(self, side: Side) -> Row:
        """One of the two."""
        return self.older if side == "older" else self.newer


class Conflicts:
    """The contradictions of one workspace."""

    def __init__(
        self, store: MemoryStore, marks: Marks, perform: Perform, workspace_id: str, pairs: Pairs | None = None
    ) -> None:
        """`pairs`: how memories stand to each other, where others ask that too."""
        self._store = store
        self._marks = marks
        self._perform = perform
        self._id = workspace_id
        self._pairs = pairs or Pairs(store)

    def found(self) -> list[Contradiction]:
        """Return all contradictions, also those that a person keeps: the surest first, then the newest."""
        found = self._pairs.all()
        same = {frozenset((pair.older.id, pair.newer.id)) for pair in found if pair.judged.relation == "same"}
        pairs = _telling([Contradiction(*pair) for pair in found if pair.judged.relation != "same"])
        pairs = _once(pairs, same)
        pairs.sort(key=lambda one: (one.newer.updated_at, one.id), reverse=True)
        return sorted(pairs, key=lambda one: -one.weight)

    def all(self) -> list[Contradiction]:
        """Return those that a person neither keeps nor put off."""
        pairs = self.found()
        hidden = {one.id for one in self._marks.hidden([finding_of(pair) for pair in pairs])}
        return [pair for pair in pairs if pair.id not in hidden]

    def get(self, name: str) -> Contradiction:
        """Return the contradiction of that id, or the surest one of that item or lesson."""
        pairs = self.found()
        near = next((one for one in pairs if name in (one.id, *one.ids)), None)
        near = near or next((one for one in pairs if name and any(key.startswith(name) for key in one.ids)), None)
        if near is None:
            raise NotFound("nothing contradicts that", name, "see `nanomem conflicts list`")
        return near

    # -- deciding -----------------------------------------------------------------------------------------------

    def supersede(self, pairs: Sequence[Contradiction]) -> Operation:
        """Keep the newer; the older was true before. Raises Conflict when one of them changed, NothingToDo."""
        return self._decided("supersede", pairs, "older", "outdated")

    def keep_new(self, pairs: Sequence[Contradiction]) -> Operation:
        """Keep the newer; the older was never true. Raises as `supersede`."""
        return self._decided("keep-new", pairs, "older", "wrong")

    def keep_old(self, pairs: Sequence[Contradiction]) -> Operation:
        """Keep the older; the newer is not true. Raises as `supersede`."""
        return self._decided("keep-old", pairs, "newer", "wrong")

    def keep_both(self, pairs: Sequence[Contradiction]) -> Operation:
        """Both are so: asked again only when the words of one change. Raises as `supersede`."""
        with self._store.deciding.alone():
            self._checked(pairs)
            changes = self._marks.changes([finding_of(one) for one in pairs], "keep")
            return self._perform(new_operation("conflicts.keep-both", f"keep both: {_named(pairs)}", changes))

    def snooze(self, pairs: Sequence[Contradiction], until: str = "") -> Operation:
        """Put them off `until` then (UTC ISO; a week where it is empty). Raises as `supersede`."""
        with self._store.deciding.alone():
            self._checked(pairs)
            changes = self._marks.changes([finding_of(one) for one in pairs], "snooze", until or snooze_end())
            return self._perform(new_operation("conflicts.snooze", f"put off {_named(pairs)}", changes))

    def split(self, pair: Contradiction, scope: str, side: Side = "older") -> Operation:
        """Both are so, each in its scope: one of them moves to `scope`."""
        with self._store.deciding.alone():
            changes = self.split_changes(pair, scope, side)
            label = f"move {quote_start(row_text(pair.row(side)))} to {scope}"
            return self._perform(new_operation("conflicts.split", label, changes))

    def _decided(self, verb: str, pairs: Sequence[Contradiction], goes: Side, why: Why) -> Operation:
        with self._store.deciding.alone():
            changes = self.changes(pairs, goes, why)
            if len(pairs) == 1:
                one = pairs[0]
                stays = one.newer if goes == "older" else one.older
                label = f"supersede {quote_start(row_text(one.row(goes)))} by {quote_start(row_text(stays))}"
            else:
                label = f"supersede the {goes} of {counted(len(pairs), 'contradiction')}"
            return self._perform(new_operation(f"conflicts.{verb}", label, changes))

    def changes(self, pairs: Sequence[Contradiction], goes: Side, why: Why) -> list[Change]:
        """Return what makes one side of each pair give way to the other, for who performs it."""
        self._checked(pairs)
        at = clock.iso(clock.now())
        after: dict[tuple[str, str], Row] = {}
        for pair in pairs:
            loser, winner = (pair.older, pair.newer) if goes == "older" else (pair.newer, pair.older)
            if not covers(winner, loser):
                fix = "others would be left with neither: keep both, or make it global first"
                raise Refused(f"only {scope_words(winner)} sees what stands", winner.id, fix)
            lost, won = (layer_of(loser), loser.id), (layer_of(winner), winner.id)
            if lost in after and not after[lost].enabled:
                continue  # one of several that contradict it stands already
            if won in after and not after[won].enabled:
                raise Refused("it gives way to another of these", winner.id, "decide on these one by one")
            gone = after.get(lost, self._now(*lost))
            after[lost] = retention.mark_superseded(gone, winner, won[0], why, at)
            after[won] = retention.mark_winner(after.get(won, self._now(*won)), loser.id)
        return [change_of(layer, self._now(layer, key), row) for (layer, key), row in after.items()]

    def split_changes(self, pair: Contradiction, scope: str, side: Side = "older") -> list[Change]:
        """Return what moves one of the two and keeps both, for who performs it. Raises as `split`."""
        self._checked([pair])
        row = self._now(layer_of(pair.row(side)), pair.row(side).id)
        if not isinstance(row, Item):
            raise Refused("a lesson has no such scope", row.id, "`nanomem memory lessons edit ID --scope`")
        after = row._replace(**parse_scope(scope, self._id).fields)
        if after == row:
            raise NothingToDo("it is of that scope", scope)
        return [change_of("item", row, after), *self._marks.changes([finding_of(pair)], "keep")]

    def _checked(self, pairs: Sequence[Contradiction]) -> None:
        """Raises NothingToDo for none, Conflict when a row is not as it was shown."""
        if not pairs:
            raise NothingToDo("no contradictions are named", "conflicts", "see `nanomem conflicts list`")
        for pair in pairs:
            for row in (pair.older, pair.newer):
                now = self._store.load().table(layer_of(row)).get(row.id)
                same = now is not None and not now.is_deleted and cast("Row", now).enabled
                if not same or row_text(cast("Row", now)) != row_text(row):
                    raise Conflict("somebody changed it meanwhile", row.id, "look at it again")

    def _now(self, layer: str, key: str) -> Row:
        return cast("Row", self._store.load().table(layer)[key])


def _telling(pairs: Sequence[Contradiction]) -> list[Contradiction]:
    """Return the pairs worth a look: no lists, no value that a third one replaced, none too unsure."""
    later: defaultdict[str, set[str]] = defaultdict(set)
    many: Counter[str] = Counter()
    for one in pairs:
        many.update(one.ids)
        if one.judged.relation != "unsure":
            later[one.older.id].add(one.newer.id)
    return [
        one
        for one in pairs
        if one.judged.share >= (LEAST_UNSURE if one.judged.relation == "unsure" else LEAST)
        and max(map(many.__getitem__, one.ids)) <= LIST
        and not later[one.older.id] & later[one.newer.id]
    ]


def _once(pairs: Sequence[Contradiction], same: Collection[frozenset[str]]) -> list[Contradiction]:
    """Return one pair for each change of one memory, of one scope before others."""
    kept: list[Contradiction] = []
    newer: defaultdict[str, list[str]] = defaultdict(list)
    for one in sorted(pairs, key=lambda one: one.across):
        if all(frozenset((one.newer.id, other)) not in same for other in newer[one.older.id]):
            newer[one.older.id].append(one.newer.id)
            kept.append(one)
    return kept


def finding_of(pair: Contradiction) -> Finding:
    """A contradiction as a finding; the older is proposed to go."""
    first = pair.older
    scope, source = (first.scope_key if isinstance(first, Item) else first.session_key), first.source
    return Finding(
        pair.id, "conflict", layer_of(first), pair.ids, row_text(first), pair.why, pair.newer.updated_at,
        pair.weight, pair.print_, ("merge", "keep", "reject", "disable", "split", "edit", "delete", "snooze"),
        scope, source,
    )  # fmt: skip


def scope_words(row: Row) -> str:
    """Return whose a row is, in words: `global`, `telegram:42` (a chat), `telegram:@ana` (a person)."""
    if isinstance(row, Item):
        return scope_label(row)
    return row.session_key if row.scope == "session" else "global"


def _named(pairs: Sequence[Contradiction]) -> str:
    return quote_start(row_text(pairs[0].older)) if len(pairs) == 1 else counted(len(pairs), "contradiction")


def parse_side(pair: Contradiction, key: str) -> Side:
    """Return which of the two a person names. Raises BadInput."""
    for side in ("older", "newer"):
        if key in (side, pair.row(side).id):
            return side
    raise BadInput("that is none of the two", key, f"older ({pair.older.id}) or newer ({pair.newer.id})")
