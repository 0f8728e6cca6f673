"""Proposed facts: each with the words of the message that say it, its limits, and the verdict against what is known.

Owns the shape of a proposal (lengths, control characters, secrets, instructions to a model), how it compares with the
facts there are, and the rows in which undecided ones wait. Must not know how a proposal was found.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import Change
from nanomem_tui.core.text import normalised, quoted
from nanomem_tui.language import injection, secrets
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.language.statements.compare import compare
from nanomem_tui.language.tokens import fold
from nanomem_tui.memory import retention, safety, scopes
from nanomem_tui.memory.recall import said_on
from nanomem_tui.memory.scopes import SCOPE_OF_KIND, Audience
from nanomem_tui.memory.sessions.sessions import BESIDE
from nanomem_tui.memory.turns import capture
from nanomem_tui.store import values
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import LOCAL_CHANNELS, Fact, Identity, Item, fact_of, identity_of

if TYPE_CHECKING:
    from nanomem_tui.memory.facts.dialogue import SpokenMessage
    from nanomem_tui.memory.facts.facts import Facts
    from nanomem_tui.store.memory_store import MemoryStore


MAX_KEY = 100
MAX_VALUE = 300
MAX_LABEL = 60
"""Characters of a domain, a category and a sub-category."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


class Evidence(NamedTuple):
    """The message that says a fact: its session, its number there (from 0), when (UTC ISO, or ""), the very words.

    `message_id`: the id that its channel gave it, or "". `confirmed`: the words are a question, and the message a yes.
    `plain`: a sentence says it and nothing else; what is said beside other things takes no place of what is known.
    """

    session_key: str
    number: int
    at: str
    text: str
    message_id: str = ""
    confirmed: bool = False
    plain: bool = True

    @property
    def id(self) -> str:
        """The message as a fact names its source: the id of its channel, else its place in the session."""
        return self.message_id or f"{self.session_key}#{self.number}"


class Proposal(NamedTuple):
    """A fact that a message says. `domain` and `sub_category` may be empty. `doubt`: why a person has to look first."""

    domain: str
    category: str
    sub_category: str
    key: str
    value: str
    evidence: Evidence
    doubt: str = ""

    @property
    def text(self) -> str:
        """Key and value on a line."""
        return f"{self.key}: {self.value}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """What makes it one fact: domain, category and key, without differences of case and white space."""
        return fold(self.domain), fold(self.category), fold(self.key)

    def to_json(self) -> dict[str, Any]:
        """Return the proposal as the command line prints it."""
        return {
            "domain": self.domain,
            "category": self.category,
            "sub_category": self.sub_category,
            "key": self.key,
            "value": self.value,
            "evidence": {
                "session_key": self.evidence.session_key,
                "message": self.evidence.number,
                "message_id": self.evidence.message_id or None,
                "at": self.evidence.at or None,
                "text": self.evidence.text,
                "confirmed": self.evidence.confirmed,
            },
        }


def reason_refused(proposal: Proposal) -> str:
    """Return why a proposal can be no fact at all; "" when it can be one."""
    if not proposal.key.strip():
        return "its key is empty"
    if not proposal.category.strip():
        return "its category is empty"
    if not proposal.value.strip():
        return "its value is empty"
    limits = {"key": MAX_KEY, "value": MAX_VALUE, "domain": MAX_LABEL, "category": MAX_LABEL, "sub_category": MAX_LABEL}
    for name, limit in limits.items():
        text: str = getattr(proposal, name)
        if len(text) > limit:
            return f"its {name.replace('_', '-')} has {len(text):,} characters, more than {limit}"
        if _CONTROL.search(text):
            return f"its {name.replace('_', '-')} holds control characters"
    whole = f"{proposal.domain} {proposal.category} {proposal.sub_category} {proposal.text}"
    if secrets.find(whole) or secrets.is_masked(whole) or secret_signs.is_private(whole):
        return "it holds a secret"
    if why := injection.reason(whole):
        return why
    return "it was recalled, not said" if safety.is_recalled(whole) else ""


# What a proposal is beside what is known: new, the same, a contradiction, or settled by a person before.

KIND = "crystallize"
"""The kind of the operation of a run."""
UNSEEN = "crystallized, and nobody looked at it yet"
SET = "a person set the value that is known"
PINNED = "the fact is pinned"
DISABLED = "a person disabled the fact"
NOT_PLAIN = "it was said beside other things, and something else is known"
Verdict = Literal[
    "new", "contradicts", "same", "superseded", "over", "waiting", "rejected", "deleted", "disabled", "outdated"
]
DECIDED = ("new", "contradicts", "waiting")
"""The verdicts that leave something to decide; what waits may be decided here as well as in the inbox."""
TOLD: Mapping[str, str] = {
    "same": "known already",
    "superseded": "said otherwise later",
    "over": "said to be over later",
    "waiting": "waits in the inbox",
    "rejected": "rejected before",
    "deleted": "deleted by a person",
    "disabled": "known, and disabled by a person",
    "outdated": "said before what is known now",
}
"""Why a proposal is not to be decided on, in words."""
_OF_PERSONS = ("facts.", "items.", "memory.")
"""How the kinds begin of operations with which a person gives a value."""
_CHANGES = 200
"""Changes of a fact among which the one that gave its value is looked for."""


class Scope(NamedTuple):
    """Whose a fact is: scope type and key, and what a row says of the chat and the person."""

    type: str
    key: str
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None


class JudgedProposal(NamedTuple):
    """A proposal and what it is. `number`: by which it is decided on, 0 where it is settled.

    `old`: the value that it would take the place of; `known`: the id of the fact; `why`: why a person has to look at
    it, whoever runs; `unnamed`: why one has to unless a person runs it.
    """

    number: int
    proposal: Proposal
    verdict: Verdict
    scope: Scope
    old: str = ""
    known: str = ""
    why: str = ""
    unnamed: str = ""

    @property
    def identity(self) -> Identity:
        """By what its fact is known."""
        proposal, own = self.proposal, "" if self.scope.type == "global" else self.scope.key
        return values.identity(own, proposal.domain or None, proposal.category, proposal.key)


class EndedFact(NamedTuple):
    """A fact that is known, and that somebody says to be so no longer, with the words that say so."""

    fact: Fact
    evidence: Evidence


def scope_of(session_key: str, sender_id: str | None, workspace_id: str) -> tuple[Scope, Audience]:
    """Return whose a fact of a session is: everybody's where only the owner writes, else that person's or chat's."""
    channel, _, rest = session_key.removesuffix(BESIDE).partition(":")
    chat = rest.partition(":topic:")[0]
    audience = Audience(channel, chat or None, sender_id)
    if channel in scopes.UNNAMED_CHANNELS and (sender_id is None or channel in LOCAL_CHANNELS):
        return Scope("global", scopes.global_key(workspace_id)), audience
    if sender_id is None and scopes.is_one_person(channel, chat):
        sender_id = chat  # who writes in a private chat has its id
        audience = audience._replace(sender_id=sender_id)
    kind = SCOPE_OF_KIND["fact"]
    key = scopes.key_for(kind, audience, workspace_id)
    return Scope(kind, key, channel, chat or None, sender_id), audience


def judge_proposals(
    proposals: Sequence[Proposal],
    told: Sequence[SpokenMessage],
    store: MemoryStore,
    facts: Facts,
    over: Sequence[Proposal] = (),
) -> tuple[list[JudgedProposal], list[EndedFact]]:
    """Return every proposal with its verdict, in the order in which they were said, those to decide on numbered; and
    what is known and, as `over` says, is so no longer, where nothing else was said to be so instead."""
    store.see_others()
    senders = {(one.session_key, one.number): one.sender_id for one in told}
    rows = _Rows(store, facts)
    found: list[JudgedProposal] = []
    latest: dict[Identity, int] = {}
    gone: dict[Identity, EndedFact] = {}
    said = [*((one, True) for one in over), *((one, False) for one in proposals)]  # of one message the end comes first
    for proposal, ends in sorted(
        said, key=lambda one: (one[0].evidence.at, one[0].evidence.session_key, one[0].evidence.number)
    ):
        sender = senders.get((proposal.evidence.session_key, proposal.evidence.number))
        try:
            scope, audience = scope_of(proposal.evidence.session_key, sender, store.workspace_id)
        except BadInput:
            continue  # a session of nobody
        unnamed = capture.held_sender(audience, store.settings)
        one = JudgedProposal(0, proposal, "new", scope, why=proposal.doubt, unnamed=unnamed)
        before = latest.get(one.identity)
        if ends:
            if before is not None and _is_ended(found[before], proposal):
                found[before] = found[before]._replace(verdict="over")
            if (known := rows.ended(one)) is not None:
                gone[one.identity] = EndedFact(known, proposal.evidence)
            continue
        one = rows.verdict(one)
        if one.verdict in (*DECIDED, "same"):
            gone.pop(one.identity, None)
        if before is not None and found[before].verdict in DECIDED:
            last = found[before]
            crowd = bool(unnamed)
            if any(_says(other, one) for other in (found if crowd else [last])):
                found.append(one._replace(verdict="same"))
                continue
            if one.verdict in DECIDED and crowd:
                found.append(one)  # two voices that nobody named: neither corrects the other
                continue
            if one.verdict in DECIDED and not proposal.evidence.plain:
                why = one.why or NOT_PLAIN
                found.append(one._replace(verdict="contradicts", old=one.old or last.proposal.value, why=why))
                continue
            found[before] = last._replace(verdict="superseded")
        latest[one.identity] = len(found)
        found.append(one)
    numbers = iter(range(1, len(found) + 1))
    numbered = [one._replace(number=next(numbers)) if one.verdict in DECIDED else one for one in found]
    return numbered, list(gone.values())


def _is_ended(one: JudgedProposal, end: Proposal) -> bool:
    return one.verdict in DECIDED and _may_agree(one.proposal.key, one.proposal.value, end.value)


def _says(one: JudgedProposal, other: JudgedProposal) -> bool:
    same = _agree(one.proposal.key, one.proposal.value, other.proposal.value)
    return same and one.identity == other.identity and one.verdict in DECIDED


def _agree(key: str, one: str, other: str) -> bool:
    return normalised(one) == normalised(other) or compare(f"{key}: {one}", f"{key}: {other}") == "same"


def _may_agree(key: str, one: str, other: str) -> bool:
    return _agree(key, one, other) or compare(f"{key}: {one}", f"{key}: {other}") == "unsure"


class _Rows:
    """What is known, by identity: facts, rows that wait, and rows that are gone."""

    def __init__(self, store: MemoryStore, facts: Facts) -> None:
        self._store = store
        self._facts = facts
        self._known = facts.by_identity()
        self._same: dict[tuple[str, str], set[str]] = {}
        for fact in self._known.values():
            place = identity_of(fact)[0], normalised(fact.key)
            self._same.setdefault(place, set()).add(fact.value)
        self._others: dict[Identity, list[Fact]] = {}
        with store.snapshot.lock:
            rows = [row for row in store.snapshot.items.values() if row.is_deleted or row.waits]
        for fact in filter(None, map(fact_of, rows)):
            self._others.setdefault(identity_of(fact), []).append(fact)
        self._undone: frozenset[str] | None = None

    def verdict(self, one: JudgedProposal) -> JudgedProposal:
        """Return what a proposal is."""
        key, value = one.proposal.key, one.proposal.value
        fact = self._known.get(one.identity)
        if fact is not None and _agree(key, fact.value, value):
            return one._replace(verdict="same" if fact.item.enabled else "disabled", known=fact.id)
        alike = self._same.get((one.identity[0], normalised(key)), ()) if fact is None else ()
        if any(_agree(key, other, value) for other in alike):
            return one._replace(verdict="same")
        others = (other for other in self._others.get(one.identity, ()) if _agree(key, other.value, value))
        settled = [self._settled(one, other) for other in others]
        if settled and settled[0] not in (None, "waiting"):
            return one._replace(verdict=settled[0])
        if fact is None:
            return one._replace(verdict=settled[0] or "new") if settled else one
        if not fact.item.enabled:
            return one._replace(verdict="contradicts", old=fact.value, known=fact.id, why=DISABLED)
        found = self._contradiction(one, fact)
        return found._replace(verdict="waiting") if settled == ["waiting"] and found.old else found

    def ended(self, one: JudgedProposal) -> Fact | None:
        """Return the fact that a proposal says to be over; None where it was said again, or the person was asked."""
        fact, evidence = self._known.get(one.identity), one.proposal.evidence
        if fact is None or not fact.item.enabled or not _may_agree(fact.key, fact.value, one.proposal.value):
            return None
        if evidence.at and evidence.at < self._facts.history(fact.id)[0].since:
            return None
        asked = self._store.snapshot.items.get(forget_id(fact))
        if asked is not None and not asked.is_deleted:
            return None
        if asked is None:
            return fact
        last = self._store.journal.log(1, key=asked.id)
        if not last or last[0].operation.kind == "undo":  # which takes the question back, and is no answer
            return fact
        return None if evidence.at <= last[0].operation.at else fact

    def _settled(self, one: JudgedProposal, other: Fact) -> Verdict | None:
        """Return what a person decided on the same words before; None where that was undone, or they came again."""
        if other.item.waits and not other.item.is_deleted:
            return "waiting"
        if self._undone is None:
            self._undone = self._store.journal.taken_back(KIND)
        if other.id in self._undone:
            return None
        last = self._store.journal.log(1, key=other.id)
        if last and one.proposal.evidence.at > last[0].operation.at:
            return None
        return "rejected" if other.item.waits else "deleted"

    def _contradiction(self, one: JudgedProposal, fact: Fact) -> JudgedProposal:
        evidence, row = one.proposal.evidence, fact.item
        set_at = row.updated_at if row.source == "manual" else ""
        entries = self._store.journal.log(_CHANGES, key=fact.id) if not set_at else ()
        if len(entries) > 1 or "earlier" in row.meta["fact"]:  # else it has the value that it came with
            history = self._facts.history(fact.id)
            if any(value.source_message_id == evidence.id and value.until for value in history):
                return one._replace(verdict="outdated", known=fact.id)  # another value came since that was read
            kinds = {entry.operation.id: entry.operation.kind for entry in entries}
            if history[0].actor == "human" and kinds.get(history[0].operation, "").startswith(_OF_PERSONS):
                set_at = history[0].since
        if set_at and evidence.at and evidence.at < set_at:
            return one._replace(verdict="outdated", known=fact.id)
        why = one.why or (SET if set_at else PINNED if row.pinned else "" if evidence.plain else NOT_PLAIN)
        return one._replace(verdict="contradicts", old=fact.value, known=fact.id, why=why)


def is_current(one: JudgedProposal, facts: Facts) -> bool:
    """Return whether what is known is still what the proposal was compared with."""
    fact = facts.by_identity().get(one.identity)
    return fact.value == one.old if fact is not None else not one.known


def is_about(one: JudgedProposal, fact: Fact) -> bool:
    """Return whether a fact is the one that a proposal is about."""
    return identity_of(fact) == one.identity


def waiting_id(one: JudgedProposal) -> str:
    """Return the id of the row in which a proposal waits: the same for the same words, whoever finds them."""
    words = json.dumps([*one.identity, normalised(one.proposal.value)], ensure_ascii=False)
    return f"fact_w{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:19]}"


def review_changes(
    waits: Iterable[tuple[JudgedProposal, str, bool]], kept: Iterable[JudgedProposal], store: MemoryStore
) -> list[Change]:
    """Return the rows of what waits, or was rejected (True), and the end of those that waited for what is kept now."""
    found: dict[str, Change] = {}
    rows = store.snapshot.items
    for one, why, rejected in waits:
        row = _waiting_row(one, why, store)._replace(is_deleted=rejected)
        present = rows.get(row.id)
        if present is None or present.is_deleted:
            found[row.id] = change_of("item", present, row)
        elif rejected:
            found[row.id] = change_of("item", present, present._replace(is_deleted=True))
    for present in filter(None, (rows.get(waiting_id(one)) for one in kept)):
        if present.waits and not present.is_deleted:
            found[present.id] = change_of("item", present, present._replace(is_deleted=True))
    return list(found.values())


def forget_id(fact: Fact) -> str:
    """Return the id of the row in which it waits that a fact goes."""
    words = json.dumps([fact.id, normalised(fact.value)], ensure_ascii=False)
    return f"fact_x{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:19]}"


def forget_rows(over: Iterable[EndedFact], store: MemoryStore) -> list[Change]:
    """Return the rows in which it waits that facts go, of those that still say what was said to be over."""
    found = []
    for fact, evidence in over:
        row = store.snapshot.items.get(fact.id)
        if row is None or row.is_deleted or row.text != fact.item.text:
            continue
        at = clock.iso(clock.now())
        waits = row._replace(
            id=forget_id(fact), text=f"{capture.LABEL}{row.text}", session_key=evidence.session_key,
            source="crystallized", source_message_id=evidence.id, created_at=at, updated_at=at, pinned=False,
            meta_json="{}", hits=0, revision=0,
        )  # fmt: skip
        waits = scopes.hold_for_review(
            waits, capture.WHY_PAST, finding="forget", forgets=row.id, by="crystallize", reason="crystallized",
            evidence=evidence.text,
        )  # fmt: skip
        found.append(change_of("item", store.snapshot.items.get(waits.id), waits))
    return found


def _waiting_row(one: JudgedProposal, why: str, store: MemoryStore) -> Item:
    proposal, scope = one.proposal, one.scope
    moment = clock.now()
    at = clock.iso(moment)
    said = {"value": proposal.value, "at": proposal.evidence.at} if proposal.evidence.at else None
    names = {"domain": proposal.domain or None, "category": proposal.category, "key": proposal.key, "said": said,
             "sub_category": proposal.sub_category or None, "value": proposal.value}  # fmt: skip
    item = Item(
        id=waiting_id(one), text=values.text_of(proposal.key, proposal.value), kind="fact",
        scope_type=scope.type, scope_key=scope.key, channel=scope.channel, chat_id=scope.chat_id,
        sender_id=scope.sender_id, session_key=proposal.evidence.session_key, source="crystallized",
        source_message_id=proposal.evidence.id, source_role="user", created_at=at, updated_at=at,
        expires_at=retention.expires_at("fact", moment, store.settings),
    )  # fmt: skip
    more: dict[str, Any] = {"by": "crystallize", "reason": "crystallized", "evidence": proposal.evidence.text}
    if one.old:
        more |= {"old": one.old, "replaces": one.known}
        why = f"{why}; known is {quoted(one.old, 60)}"
    day = said_on.day_of_time(proposal.evidence.at or at, said_on.agent_zone(store.paths))
    return scopes.hold_for_review(said_on.date_item(values.with_fields(item, names), day), why, **more)
