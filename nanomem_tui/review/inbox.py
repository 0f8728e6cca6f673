"""The inbox: all findings in order, each decision as one operation, and rules that decide on all alike.

`Inbox.decide` is where every decision is made, from a screen, a command or a rule. What it changes comes from the
finder of the finding (`changes` in `review/finders/`), else from `changes_of` here; what is quarantined is accepted or
rejected by `review.quarantine`. A decision applies only to what is still as it was shown, and one undo takes it back
with its mark. A rule is previewed and applied when a person says so. Must not judge a text or know a screen.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo, Problem, Refused
from nanomem_tui.core.operations import Change, Operation, new_key, new_operation, plan_only
from nanomem_tui.core.text import counted, quoted
from nanomem_tui.language import secrets
from nanomem_tui.memory import edit_conflicts
from nanomem_tui.memory.facts.journal import Records
from nanomem_tui.memory.items import Items
from nanomem_tui.memory.lessons import Lessons
from nanomem_tui.memory.scopes import name_of_key, parse_scope
from nanomem_tui.review import findings as review_findings
from nanomem_tui.review.findings import (
    KINDS,
    Decider,
    Decision,
    DecisionDetails,
    Evidence,
    Finder,
    Finding,
    JudgedState,
    Mark,
    Marks,
    Progress,
    progress,
    snooze_end,
)
from nanomem_tui.review.parts import ReviewedMemory
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, Record, dumped

if TYPE_CHECKING:
    from nanomem_tui.memory.parts import Memory
    from nanomem_tui.review.quarantine import Quarantine


# What a decision about findings comes to, before it is performed: changes, each thing once, and what has to stay.

QUARANTINED = frozenset({"waiting", "edit"})
"""The kinds of finding that are not remembered yet: to keep one is to accept it."""


class DecisionPlan:
    """What a decision about several findings comes to: changes, each thing once, and what has to stay."""

    def __init__(self, decision: Decision, how: DecisionDetails, *, several: bool) -> None:
        self.decision = decision
        self.several = several
        self.changes: list[Change] = []
        self.of_held: list[Change] = []
        self.done: list[Finding] = []
        self.left: list[tuple[Finding, NanomemError]] = []
        self.meta: dict[str, Any] = {}
        self.kind = self.label = ""
        self._how = how
        self._touched: dict[tuple[str, str], Change] = {}
        self._held: dict[str, Finding] = {}

    def attempt(self, finding: Finding, plan: Callable[[], Sequence[Change]]) -> None:
        """Add what `plan` says of a finding, or leave the finding with the reason."""
        try:
            changes = plan()
            fresh = [change for change in changes if self._touched.get((change.layer, change.key)) != change]
            if any((change.layer, change.key) in self._touched for change in fresh):
                raise Refused("another of these touches the same thing", finding.id, "decide on it again")
        except NanomemError as error:
            self.left.append((finding, error))
            return
        if finding.kind in QUARANTINED and self.decision != "snooze":
            self._held[finding.ids[0]] = finding
            return
        self.done.append(finding)
        self.changes += fresh
        self._touched |= {(change.layer, change.key): change for change in fresh}

    def add_quarantined(self, quarantine: Quarantine) -> None:
        """Accept or reject what is quarantined, all together."""
        if not self._held:
            return
        verb = "reject" if self.decision == "reject" else "accept"
        try:
            planned = quarantine.planned(verb, list(self._held), self._how.text)
        except NanomemError as error:
            self.left += [(one, error) for one in self._held.values()]
            return
        self.of_held, self.meta = planned.changes, planned.meta
        self.left += [(self._held[row.id], error) for row, error in planned.left]
        self.done += [self._held[row.id] for row in planned.rows]
        alone = len(planned.plans) == 1
        self.kind = planned.plans[0].kind if alone else f"inbox.{verb}"
        self.label = planned.plans[0].label if alone else f"{verb} {counted(len(planned.rows), 'thing')} of the inbox"


# -- What a decision about findings changes: rows that go, are switched off, reworded, moved or merged ----------------

DECISION_VERBS: Mapping[Decision, str] = {
    "keep": "keep", "reject": "reject", "merge": "merge", "edit": "edit", "disable": "disable", "delete": "delete",
    "split": "move", "snooze": "put off",
}  # fmt: skip
"""What a decision is called in the log."""
ROW_DECISIONS: frozenset[Decision] = frozenset({"reject", "merge", "edit", "disable", "delete", "split"})


def changes_of(ws: ReviewedMemory, finding: Finding, decision: Decision, how: DecisionDetails) -> Sequence[Change]:
    """Return what the decision does to the rows of a finding."""
    if decision not in ROW_DECISIONS:
        return ()
    row = _row(ws, finding)
    if decision in ("reject", "delete"):
        return [change_of(finding.layer, row, row._replace(is_deleted=True))]
    if decision == "disable" and not isinstance(row, Record):
        return [change_of(finding.layer, row, row._replace(enabled=False))] if row.enabled else []
    if decision == "edit" and not isinstance(row, Record):
        return _edited(ws, finding, how.text or "")
    if decision == "split" and isinstance(row, Item):
        return plan_changes(ws, lambda items, _: items.edit(row.id, **parse_scope(how.scope or "", ws.id).fields))
    if decision == "merge" and isinstance(row, Item):
        return _merged(ws, finding, how.into)
    raise Refused(
        f"{DECISION_VERBS[decision]} does not fit a {finding.layer}",
        finding.ids[0],
        f"one of {join_decisions(finding.offers)}",
    )


def join_decisions(decisions: Sequence[Decision]) -> str:
    """Decisions as a list in a sentence."""
    return ", ".join(decisions)


def _row(ws: ReviewedMemory, finding: Finding) -> AnyRow:
    if finding.layer not in ROW_LAYERS or not finding.ids:
        raise Refused("it is no item and no lesson", finding.id, f"one of {join_decisions(finding.offers)}")
    row: AnyRow | None = ws.store.load().table(finding.layer).get(finding.ids[0])
    if row is None or row.is_deleted:
        raise NotFound("it is not there any more", finding.ids[0], "see `nanomem triage list`")
    if not isinstance(row, Record) and row.waits:
        raise Refused("it waits in the inbox", row.id, "accept or reject it there")
    return row


def _edited(ws: ReviewedMemory, finding: Finding, text: str) -> Sequence[Change]:
    key = finding.ids[0]
    if not text:
        raise BadInput("no words are given, and none are proposed", finding.id, "give the words")
    if finding.layer == "lesson":
        return plan_changes(ws, lambda _, lessons: lessons.edit(key, better_action=text))
    return plan_changes(ws, lambda items, _: items.edit(key, text=text))


def _merged(ws: ReviewedMemory, finding: Finding, into: str | None) -> Sequence[Change]:
    if into is not None and into not in finding.ids:
        raise BadInput("that is none of those to merge", into, f"one of {', '.join(finding.ids)}")
    rows = [ws.items.get(key) for key in finding.ids]
    if into is None and len({(row.scope_key, row.kind) for row in rows}) > 1:
        raise Refused("they differ in scope or kind", finding.id, "say into which one: `nanomem triage merge --into`")
    return plan_changes(ws, lambda items, _: items.merge(finding.ids, into=into or finding.ids[-1]))


def plan_changes(ws: ReviewedMemory, decide: Callable[[Items, Lessons], Operation]) -> Sequence[Change]:
    """Return the changes of what a service of items or lessons would do."""
    return decide(Items(ws.store, (), plan_only, lambda: ws.recall), Lessons(ws.store, plan_only)).changes


MARKED: frozenset[Decision] = frozenset({"keep", "snooze", "disable"})
"""Decisions after which the thing is still there: that it was decided on has to be remembered."""
ALWAYS: frozenset[Decision] = frozenset({"keep", "snooze"})
ON_ROWS: frozenset[Decision] = frozenset({"reject", "edit", "disable", "delete", "split"})
_ORDER = {kind: place for place, kind in enumerate(KINDS)}


class Decided(NamedTuple):
    """A decision that was made: the operation, what it was about, and what had to stay, with the reason."""

    operation: Operation
    findings: tuple[Finding, ...]
    left: tuple[tuple[Finding, NanomemError], ...] = ()


class FinderRun(NamedTuple):
    """What the finders found, in the order of the queue, what they judged it on, and the marks that stood then;
    `whole`: all finders were asked."""

    found: Mapping[str, Finding]
    judged: JudgedState
    marks: frozenset[Mark]
    whole: bool = True


class Inbox:
    """Everything in one workspace that needs a person's decision. Thread-safe: a slow look delays no decision."""

    def __init__(self, ws: ReviewedMemory, quarantine: Quarantine, finders: Callable[[], Sequence[Finder]]) -> None:
        self._ws = ws
        self._quarantine = quarantine
        self._make_finders = finders
        self._marks = Marks(ws.store)
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._made: Sequence[Finder] = ()
        self._look: FinderRun | None = None
        self._settled: dict[tuple[str, str], AnyRow] = {}
        self._parted = False
        self._problems: dict[str, Problem] = {}

    # -- what needs a decision -------------------------------------------------------------------------------------

    def findings(self, kinds: Iterable[str] | None = None, limit: int | None = None) -> list[Finding]:
        """Return the open findings, most dangerous kind first; looks anew where something changed."""
        self.refresh(only_old=True)
        return self.last_findings(kinds, limit)

    def last_findings(self, kinds: Iterable[str] | None = None, limit: int | None = None) -> list[Finding]:
        """Return what is left of the last look, at once."""
        wanted = frozenset(KINDS if kinds is None else kinds)
        found = [one for one in self._standing() if one.kind in wanted]
        hidden = {one.id for one in self._marks.hidden(found)}
        return list(islice((one for one in found if one.id not in hidden), limit))

    @property
    def is_old(self) -> bool:
        """Whether there is something that nobody has looked at yet."""
        look = self._look
        if look is None or not look.whole or self._parted or review_findings.files_of(self._ws) != look.judged.files:
            return True
        if not look.marks <= self._marks.standing():
            return True  # what was put off is due, or was taken back
        return review_findings.is_new(look.judged, self._now(), self._settled)

    def refresh(self, *, only_old: bool = False) -> None:
        """Ask every finder, or with `only_old` only if something changed; one look at a time."""
        if only_old and not self.is_old:
            return
        for _ in self._looked(only_old=only_old):
            pass

    def coming(self) -> Iterator[list[Finding]]:
        """As `findings`, without what is held back, each kind as soon as it was looked for: what is dangerous first."""
        if not self.is_old:
            yield [one for one in self.last_findings() if one.kind not in QUARANTINED]
            return
        for found in self._looked(only_old=False):
            hidden = {one.id for one in self._marks.hidden(found)}
            yield [one for one in found if one.id not in hidden]

    def _looked(self, *, only_old: bool) -> Iterator[list[Finding]]:
        """Ask every finder anew; what each finds, in the order of the queue. The look counts once all were asked."""
        with self._looking:
            if only_old and not self.is_old:
                return  # another looked meanwhile
            before, marks = review_findings.take_basis(self._ws), self._marks.standing()
            self._parted = False
            found: list[Finding] = []
            for finder in self._finders():
                if QUARANTINED.issuperset(finder.kinds):
                    continue  # what is held back is asked for each time
                name = ", ".join(finder.kinds)
                try:
                    some = _in_order(finder.find())
                    self._problems.pop(name, None)
                except NanomemError as error:
                    self._problems[name] = Problem(f"nothing could be found ({error.what})", name, fix=error.fix)
                    continue
                found += some
                if self._look is None or not self._look.whole:  # what is there can be decided on already
                    self._look = FinderRun({one.id: one for one in _in_order(found)}, before, marks, whole=False)
                yield some
            with self._lock:
                self._look = FinderRun({one.id: one for one in _in_order(found)}, before, marks)
                self._settled = {}

    def counts(self) -> dict[str, int]:
        """Return how many of each kind want a person, in the order of the queue; kinds without any are left out."""
        return dict(Counter(one.kind for one in self.findings()))

    def get(self, finding_id: str) -> Finding:
        """Return the finding of that id, of the one id that begins so, or the one about the thing of that id."""
        return _named(finding_id, self.findings())

    def named(self, ids: Iterable[str]) -> list[Finding]:
        """As `get` for several, each once."""
        found = self.findings()
        return list({one.id: one for one in (_named(finding_id, found) for finding_id in ids)}.values())

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return what stands beside a finding; raises what the finder does when it is gone."""
        return self._finder(finding).evidence(finding)

    def proposed(self, finding: Finding) -> str | None:
        """Return the words that an edit without words gives a finding; None where none are proposed."""
        finder = self._finder(finding)
        try:
            made = finder.changes(finding, "edit", DecisionDetails()) if isinstance(finder, Decider) else None
        except NanomemError:
            return None
        words = [change.after.get("text") or change.after.get("better_action") for change in made or () if change.after]
        return next((str(one) for one in words if one), None)

    def marks(self) -> list[Mark]:
        """Return what was kept, put off or switched off, the newest first."""
        return sorted(self._marks.all().values(), key=lambda mark: mark.at, reverse=True)

    def problems(self) -> Sequence[Problem]:
        """Return what could not be looked for, and what lies among the edits and is none."""
        return [*self._problems.values(), *self._quarantine.problems()]

    def progress(self, left: int | None = None) -> Progress:
        """Return how far this sitting has come; `left`: findings left, where known."""
        return progress(self._ws.store.journal, len(self.findings()) if left is None else left)

    @property
    def rules(self) -> Rules:
        """Decisions for all that is alike."""
        return Rules(self._ws, self)

    # -- deciding -------------------------------------------------------------------------------------------------

    def decide(
        self,
        findings: Sequence[Finding],
        decision: Decision,
        how: DecisionDetails | None = None,
        *,
        beside: Sequence[Change] = (),
        next_id: str = "",
    ) -> Decided:
        """Decide on findings, as one operation that one undo takes back with its marks.

        Of several some may stay in the queue, each with the reason; `beside`: changes that belong to the decision;
        `next_id`: the finding that the person sees next. Raises NothingToDo for none, Conflict when what was shown
        changed since, Refused for what does not fit, and what the services of items and lessons raise.
        """
        how = how or DecisionDetails()
        wanted = list({one.id: one for one in findings}.values())
        if not wanted:
            raise NothingToDo("nothing is named", "triage", "see `nanomem triage list`")
        if how.text is not None and len(wanted) > 1:
            raise BadInput("one text for several findings", f"{len(wanted)} findings", "decide on them one by one")
        with self._ws.store.deciding.alone():
            plan = DecisionPlan(decision, how, several=len(wanted) > 1)
            standing = self._current(wanted)
            for one in wanted:
                plan.attempt(one, partial(self._changes, one, decision, how, standing, several=plan.several))
            plan.add_quarantined(self._quarantine)
            if not plan.done:
                raise plan.left[0][1]
            done = tuple(plan.done)
            if decision in MARKED:
                until = (how.until or snooze_end()) if decision == "snooze" else ""
                kept = [one for one in done if one.kind not in QUARANTINED or decision == "snooze"]
                plan.changes += self._marks.changes(kept, decision, until)
            operation = self._operation(plan, beside, next_id or self._next(done))
            done_so = Decided(self._ws.perform(operation), done, tuple(plan.left))
            self._remember(operation, done)
            return done_so

    def _changes(
        self, one: Finding, decision: Decision, how: DecisionDetails, standing: Mapping[str, Finding], *, several: bool
    ) -> Sequence[Change]:
        """Return what a decision changes beside its mark. Raises Conflict, Refused, BadInput."""
        now = standing.get(one.id)
        if now is None or (now.print_, now.ids, now.text) != (one.print_, one.ids, one.text):
            raise Conflict("it changed since it was shown", one.id, "look at it again, then decide")
        if not is_possible(one, decision, several=several):
            raise Refused(
                f"{DECISION_VERBS[decision]} does not fit here", one.id, f"one of {join_decisions(one.offers)}"
            )
        if decision == "edit" and one.kind in QUARANTINED and not how.text:
            raise BadInput("no words are given", one.id, "give the words to accept it with")
        if one.kind in QUARANTINED:
            return ()
        finder = self._finder(one)
        own = finder.changes(one, decision, how) if isinstance(finder, Decider) else None
        return changes_of(self._ws, one, decision, how) if own is None else own

    def _operation(self, plan: DecisionPlan, beside: Sequence[Change], next_id: str) -> Operation:
        meta = {**plan.meta, "decided": len(plan.done), "next": next_id}
        if plan.label and not plan.changes and not beside:
            return new_operation(plan.kind, plan.label, plan.of_held, meta=meta)
        verb, text = DECISION_VERBS[plan.decision], plan.done[0].text
        what = edit_conflicts.quote_start(text) if len(plan.done) == 1 else counted(len(plan.done), "finding")
        label = f"{verb} {what}"
        meta["findings"] = [one.id for one in plan.done]
        return new_operation(f"triage.{plan.decision}", label, [*plan.changes, *plan.of_held, *beside], meta=meta)

    def _remember(self, operation: Operation, done: Sequence[Finding]) -> None:
        """The rows as this decision left them are judged: by a person."""
        now = self._now()
        for change in operation.changes:
            row = now.get(change.layer, {}).get(change.key)
            if row is not None:
                self._settled[change.layer, change.key] = row
        self._parted = self._parted or any(len(one.ids) > 2 for one in done)

    def _next(self, done: Sequence[Finding]) -> str:
        """Return the finding behind the last of those that were decided on."""
        gone, passed, first = {one.id for one in done}, False, ""
        for one in self.last_findings():
            if one.id in gone:
                passed = True
            elif passed:
                return one.id
            else:
                first = first or one.id
        return first

    # -- the finders ----------------------------------------------------------------------------------------------

    def _finders(self) -> Sequence[Finder]:
        if not self._made:
            self._made = tuple(self._make_finders())
        return self._made

    def _finder(self, finding: Finding) -> Finder:
        for finder in self._finders():
            if finding.kind in finder.kinds:
                return finder
        raise NotFound("nobody looks for that any more", finding.id, "see `nanomem triage list`")

    def _held(self) -> Iterable[Finding]:
        for finder in self._finders():
            if QUARANTINED.issuperset(finder.kinds):
                yield from finder.find()

    def _standing(self) -> Iterable[Finding]:
        """Yield what is held back now, and what of the last look is as it was."""
        yield from self._held()
        look, now = self._look, self._now()
        if look is not None:
            yield from (one for one in look.found.values() if review_findings.is_current(one, look.judged, now))

    def _current(self, wanted: Sequence[Finding]) -> Mapping[str, Finding]:
        """Return those of the wanted that stand, as they are now, by id; looks first where nobody did."""
        look = self._look
        if look is None or not (look.whole or all(one.id in look.found or one.kind in QUARANTINED for one in wanted)):
            self.refresh()
        found: list[Finding] = []
        if any(one.kind in QUARANTINED for one in wanted):
            found += self._held()
        look, now = self._look, self._now()
        if look is not None:
            known = [look.found[one.id] for one in wanted if one.id in look.found]
            found += [one for one in known if review_findings.is_current(one, look.judged, now)]
        return {one.id: one for one in found}

    def _now(self) -> Mapping[str, Mapping[str, AnyRow]]:
        snapshot = self._ws.store.load()
        return {name: snapshot.table(name) for name in review_findings.STANDING}


def is_possible(finding: Finding, decision: Decision, *, several: bool = False) -> bool:
    """Return whether a decision fits a finding; of `several` only offered merges do."""
    if decision in finding.offers or decision in ALWAYS:
        return True
    if finding.kind in QUARANTINED:
        return False
    if decision == "merge":
        return not several and finding.layer == "item" and len(finding.ids) > 1
    return decision in ON_ROWS and finding.layer in review_findings.LAYERS


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    newest = sorted(found, key=lambda one: one.since, reverse=True)
    return sorted(newest, key=lambda one: (_ORDER.get(one.kind, len(_ORDER)), -round(one.weight, 1)))


def _named(name: str, found: Sequence[Finding]) -> Finding:
    ways: Sequence[Callable[[Finding], bool]] = (
        lambda one: one.id == name,
        lambda one: name in one.ids,
        lambda one: one.id.startswith(name),
    )
    for means in ways:
        near = [one for one in found if name and means(one)]
        if len(near) == 1:
            return near[0]
        if near:
            listed = ", ".join(one.id for one in near[:3])
            raise BadInput(f"{len(near)} findings are meant by that", name, f"one of {listed}")
    raise NotFound("nothing of that id wants a person", name, "see `nanomem triage list`")


class InboxMemory(ReviewedMemory, Protocol):
    """One agent's memory with its queue."""

    @property
    def triage(self) -> Inbox:
        """The queue of all that wants a person."""


# Rules: a decision for all findings that are like one, previewed, applied as one operation, and taken back by one.

RULE_KIND = "rule"
BY_RULE: frozenset[Decision] = frozenset({"keep", "reject", "merge", "edit", "disable", "delete", "split", "snooze"})
"""Decisions that can be made alike for many; an edit gives each the words that are proposed for it, a move takes each
where it belongs."""
_VARIES = re.compile(
    r"[“\"'‘«].*?[”\"'’»]|\S*[0-9*]\S*(?: (?:s|min|h|d|mon|y|days?|weeks?|months?|years?)\b)?|\b[a-z]+_[0-9a-z_]+\b"
)


class Rule(NamedTuple):
    """What is decided about which findings: of this kind and, where they are not empty, of this scope and source, with
    a reason like `why` (`*` stands for any number, name or quotation). `id` is empty until it is kept."""

    decision: Decision
    kind: str
    scope_key: str = ""
    source: str = ""
    why: str = ""
    id: str = ""
    at: str = ""

    def means(self, finding: Finding) -> bool:
        """Return whether the finding is one of those, and the decision was offered for it."""
        return (
            finding.kind == self.kind
            and self.scope_key in ("", finding.scope_key)
            and self.source in ("", finding.source)
            and (not self.why or pattern_of(self.why) == pattern_of(finding.why))
            and (self.decision in finding.offers or self.decision in ("keep", "snooze"))
        )

    def words(self) -> str:
        """Return the rule as a sentence without its end: `delete old, unused: “not used for * days”, global`."""
        what = KINDS.get(self.kind, self.kind)
        parts = [quoted(self.why) if self.why else "", name_of_key(self.scope_key), f"source {self.source}"]
        told = ", ".join(filter(None, parts if self.source else parts[:2]))
        return f"{DECISION_VERBS[self.decision]} what {'is ' if self.kind in _IS else ''}{what}" + (
            f": {told}" if told else ""
        )


_IS = frozenset({"waiting", "stale", "unused", "long", "orphan"})


def pattern_of(why: str) -> str:
    """A reason without what differs from one finding to the next: numbers, how long, ids, names in quotation marks."""
    found = ""
    while why != found:  # a reason that is a pattern already is its own
        found, why = why, re.sub(r"\*(?:[ ,]+\*)+", "*", _VARIES.sub("*", why)).strip()
    return found


def can_rule(finding: Finding, decision: Decision) -> bool:
    """Return whether a decision can be made alike for many."""
    return decision in BY_RULE and (decision != "split" or (finding.kind == "leak" and finding.offers[0] == "split"))


def rule_like(finding: Finding, decision: Decision) -> Rule:
    """Return the rule for all that is like a finding: of its kind, scope and source, for such a reason."""
    if not can_rule(finding, decision):
        raise BadInput(f"{decision} cannot be decided for many", "rule", f"one of {', '.join(sorted(BY_RULE))}")
    why = secrets.mask(pattern_of(finding.why))
    return Rule(decision, finding.kind, finding.scope_key, finding.source, why)


class Rules:
    """The rules of one workspace."""

    def __init__(self, ws: Memory, triage: Inbox) -> None:
        self._ws = ws
        self._triage = triage
        self._records = Records(ws.store, ws.perform, RULE_KIND, "rule", "nanomem triage rules list")

    def all(self) -> list[Rule]:
        """Return the rules that are kept, the newest first."""
        return [_rule(row) for row in self._records.rows()]

    def get(self, rule_id: str) -> Rule:
        """Return the rule of that id, or of the one id that begins so. Raises NotFound or BadInput."""
        return _rule(self._records.get(rule_id))

    def meant(self, rule: Rule) -> list[Finding]:
        """Return the findings that a rule is about now: what applying it would decide on."""
        return [one for one in self._triage.findings((rule.kind,)) if rule.means(one)]

    def apply(self, rule: Rule, *, keep: bool = False, findings: Sequence[Finding] | None = None) -> Decided:
        """Decide on all that the rule is about as one operation; `keep`: and keep the rule, in the same operation;
        `findings`: those that were previewed, of which none is decided on that the rule is not about any more.

        Raises NothingToDo where there is nothing, and what `Inbox.decide` does.
        """
        meant = self.meant(rule)
        if findings is not None:
            shown = {one.id for one in findings}
            meant = [one for one in meant if one.id in shown]
        if not meant:
            raise NothingToDo("no finding is like that", rule.words(), "see `nanomem triage list`")
        beside = [change_of("record", None, _record(rule))] if keep and not self._has(rule) else []
        return self._triage.decide(meant, rule.decision, DecisionDetails(), beside=beside)

    def apply_all(self, rules: Sequence[Rule] = ()) -> tuple[list[Decided], list[tuple[Rule, NanomemError]]]:
        """Apply these rules or every kept one, oldest first, each as one operation; failures with the reason."""
        done: list[Decided] = []
        left: list[tuple[Rule, NanomemError]] = []
        for rule in rules or reversed(self.all()):
            try:
                done.append(self.apply(rule))
            except NothingToDo:
                continue
            except NanomemError as error:
                left.append((rule, error))
        return done, left

    def add(self, rule: Rule) -> Operation:
        """Keep a rule without applying it. Raises NothingToDo for one that is kept."""
        if self._has(rule):
            raise NothingToDo("that rule is kept already", rule.words(), "see `nanomem triage rules list`")
        label = f"add rule: {rule.words()}"
        return self._ws.perform(new_operation("triage.rule", label, [change_of("record", None, _record(rule))]))

    def delete(self, ids: Sequence[str]) -> Operation:
        """Let rules go; what they decided stays. Raises NotFound."""
        return self._records.delete(ids)

    def _has(self, rule: Rule) -> bool:
        return any(one._replace(id="", at="") == rule._replace(id="", at="") for one in self.all())


def _record(rule: Rule) -> Record:
    now = clock.iso(clock.now())
    meta = {"decision": rule.decision, "scope_key": rule.scope_key, "source": rule.source, "why": rule.why}
    key = rule.id or new_key(RULE_KIND)
    return Record(
        key, RULE_KIND, rule.kind, rule.words(), at=now, meta_json=dumped(meta), created_at=now, updated_at=now
    )  # fmt: skip


def _rule(row: Record) -> Rule:
    meta: dict[str, Any] = row.meta
    scope, source, why = (str(meta.get(name) or "") for name in ("scope_key", "source", "why"))
    decision = meta.get("decision")
    known = cast("Decision", decision if decision in BY_RULE else "keep")
    return Rule(known, row.about, scope, source, why, row.id, row.at)
