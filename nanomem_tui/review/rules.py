"""Rules: a decision for all findings that are like one, previewed, applied as one operation, and taken back by one.

Owns what it means that a finding is like another. A rule is a record of the kind `rule`; it is applied when a person
says so, never by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo
from nanomem_tui.core.operations import Operation, new_key, new_operation
from nanomem_tui.core.text import quoted
from nanomem_tui.language import secrets
from nanomem_tui.memory.facts.journal import Records
from nanomem_tui.review.findings import KINDS, Decision, Finding, How
from nanomem_tui.review.queue import TOLD
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record, dumped

if TYPE_CHECKING:
    from nanomem_tui.review.queue import Done, Triage
    from nanomem_tui.workspace import Workspace

KIND = "rule"
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
        """Whether the finding is one of those, and the decision was offered for it."""
        return (
            finding.kind == self.kind
            and self.scope_key in ("", finding.scope_key)
            and self.source in ("", finding.source)
            and (not self.why or pattern_of(self.why) == pattern_of(finding.why))
            and (self.decision in finding.offers or self.decision in ("keep", "snooze"))
        )

    def words(self) -> str:
        """The rule as a sentence without its end: `delete what is old, and not used: “not used for * days”, global`."""
        what = KINDS.get(self.kind, self.kind)
        parts = [quoted(self.why) if self.why else "", _scope(self.scope_key), f"source {self.source}"]
        told = ", ".join(filter(None, parts if self.source else parts[:2]))
        return f"{TOLD[self.decision]} what {'is ' if self.kind in _IS else ''}{what}" + (f": {told}" if told else "")


_IS = frozenset({"waiting", "stale", "unused", "long", "orphan"})


def pattern_of(why: str) -> str:
    """A reason without what differs from one finding to the next: numbers, how long, ids, names in quotation marks."""
    found = ""
    while why != found:  # a reason that is a pattern already is its own
        found, why = why, re.sub(r"\*(?:[ ,]+\*)+", "*", _VARIES.sub("*", why)).strip()
    return found


def can_rule(finding: Finding, decision: Decision) -> bool:
    """Whether a decision about a finding can be made alike for others; of what leaks it is known where it belongs."""
    return decision in BY_RULE and (decision != "split" or (finding.kind == "leak" and finding.offers[0] == "split"))


def like(finding: Finding, decision: Decision) -> Rule:
    """The rule for all that is like a finding: of its kind, scope and source, for such a reason. Raises BadInput."""
    if not can_rule(finding, decision):
        raise BadInput(f"{decision} cannot be decided for many", "rule", f"one of {', '.join(sorted(BY_RULE))}")
    why = secrets.mask(pattern_of(finding.why))
    return Rule(decision, finding.kind, finding.scope_key, finding.source, why)


class Rules:
    """The rules of one workspace."""

    def __init__(self, ws: Workspace, triage: Triage) -> None:
        self._ws = ws
        self._triage = triage
        self._records = Records(ws.store, ws.perform, KIND, "rule", "nanomem triage rules list")

    def all(self) -> list[Rule]:
        """The rules that are kept, the newest first."""
        return [_rule(row) for row in self._records.all()]

    def get(self, rule_id: str) -> Rule:
        """The rule of that id, or of the one id that begins so. Raises NotFound or BadInput."""
        return _rule(self._records.get(rule_id))

    def meant(self, rule: Rule) -> list[Finding]:
        """The findings that a rule is about now: what applying it would decide on."""
        return [one for one in self._triage.findings((rule.kind,)) if rule.means(one)]

    def apply(self, rule: Rule, *, keep: bool = False, findings: Sequence[Finding] | None = None) -> Done:
        """Decide on all that the rule is about as one operation; `keep`: and keep the rule, in the same operation;
        `findings`: those that were previewed, of which none is decided on that the rule is not about any more.

        Raises NothingToDo where there is nothing, and what `Triage.take` does.
        """
        meant = self.meant(rule)
        if findings is not None:
            shown = {one.id for one in findings}
            meant = [one for one in meant if one.id in shown]
        if not meant:
            raise NothingToDo("no finding is like that", rule.words(), "see `nanomem triage list`")
        beside = [change_of("record", None, _record(rule))] if keep and not self._has(rule) else []
        return self._triage.take(meant, rule.decision, How(), beside=beside)

    def apply_all(self, rules: Sequence[Rule] = ()) -> tuple[list[Done], list[tuple[Rule, NanomemError]]]:
        """Apply these rules, or every rule that is kept, the oldest first, each as one operation; those that could not
        be, with the reason. A rule that is about nothing now is left out."""
        done: list[Done] = []
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
    key = rule.id or new_key(KIND)
    return Record(
        key, KIND, rule.kind, rule.words(), at=now, meta_json=dumped(meta), created_at=now, updated_at=now
    )  # fmt: skip


def _rule(row: Record) -> Rule:
    meta: dict[str, Any] = row.meta
    scope, source, why = (str(meta.get(name) or "") for name in ("scope_key", "source", "why"))
    decision = meta.get("decision")
    known = cast("Decision", decision if decision in BY_RULE else "keep")
    return Rule(known, row.about, scope, source, why, row.id, row.at)


def _scope(key: str) -> str:
    """A scope key as a person writes it."""
    if not key:
        return ""
    parts = key.split(":", 3)
    if len(parts) < 4 or parts[0] != "channel":
        return "global" if key.endswith(":global") else key
    return f"{parts[1]}:{'@' if parts[2] == 'user' else ''}{parts[3]}"
