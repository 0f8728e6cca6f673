"""Capture what a turn says that is worth remembering: saved, confirmed, kept for a person, or dropped with a reason.

Owns the judgement of seed 001 §6 over the candidates that `language.remembering` reads: safety, thresholds, channels,
the number per turn, duplicates; corrections (`my name is Rob, not Bob`), and wishes to forget, which become proposals
in the inbox. Pure: the turn performs the rows. Nothing is dropped without a reason; what instructs the model or holds a
secret is never dropped but waits in the inbox. A secret is masked before anything else reads the text.

An episode needs `EPISODIC_ALLOWANCE` less confidence than the rest: seed 001 gives it .75 and asks for .78, so
that it could never be captured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui import language
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import new_key
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import message as language_message
from nanomem_tui.language import remembering, secrets
from nanomem_tui.language.classify import is_wide, language_of
from nanomem_tui.language.message import Message
from nanomem_tui.language.remembering import WEIGHTS, Said
from nanomem_tui.language.sentences import split
from nanomem_tui.language.statements.compare import shares_of
from nanomem_tui.language.statements.pair_features import LIGHT
from nanomem_tui.language.statements.statement import statement
from nanomem_tui.language.tokens import query_tokens, tokens
from nanomem_tui.memory import retention, safety
from nanomem_tui.memory.recall import said_on as recall_said_on
from nanomem_tui.memory.retention import forget_target
from nanomem_tui.memory.safety import SafetyFinding, normalise
from nanomem_tui.memory.scopes import (
    SCOPE_OF_KIND,
    UNNAMED_CHANNELS,
    Audience,
    confirm_held,
    hold_for_review,
    is_group,
    is_private,
    is_waiting,
    key_for,
)
from nanomem_tui.store.values import Item, dumped

# Whether the one who sent a message may teach: put into memory, and correct into lessons, without a further look.


def held_sender(audience: Audience, settings: Settings) -> str:
    """Return why what the sender of a message says has to be accepted by a person first; empty when it need not be.

    Where `capture_senders` names some, only they teach. Else every named one does, and whoever writes without a name
    in a channel of one person (`UNNAMED_CHANNELS`).
    """
    if settings.capture_senders:
        return "" if audience.sender_id in settings.capture_senders else "the sender is not one of capture_senders"
    if audience.sender_id or audience.channel in UNNAMED_CHANNELS:
        return ""
    return "no sender is named, and others may write in this channel"


ROLES = ("user", "assistant", "tool")
EPISODIC_ALLOWANCE = 0.05
"""How much less confidence an episode needs than the rest."""
MAX_MESSAGE = 4_000
"""Characters of a message that is read; a longer one is something pasted, not something said."""
TOO_LONG = f"a message of more than {MAX_MESSAGE} characters"
UNWANTED = "asked not to be remembered"
TAKEN_BACK = (
    "a wish to forget: what it names waits in the inbox to be deleted; every trace of one thing goes by "
    "`nanomem forget`, all that is known by `nanomem memory prune --older-than-days 0`"
)
DISABLED = "known, and disabled by a person: `nanomem memory enable` makes it count again"
RECALLED = "it was recalled"
NO_WORDS = "it does not say what to remember"
NOT_SAFETY = ("channel ", NO_WORDS, DISABLED, UNWANTED, TAKEN_BACK, RECALLED)
"""How the reasons begin that say nothing of the text."""
TO_AN_ADDRESS = "tells the agent for good what to do with an address"
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w|https?://|www\.|\b[A-Z]{2}\d{2}[ \d]{10,}|\+?\d[\d ()/-]{8,}\d")
"""A mail address, a link, an account or a telephone number."""
EPSILON = 1e-9


class Candidate(NamedTuple):
    """Something that could be remembered. `explicit`: a person asked for it; `intent`: the words or the kind that
    showed it."""

    text: str
    kind: str
    importance: float
    confidence: float
    explicit: bool = False
    intent: str = ""
    role: str = "user"


class Origin(NamedTuple):
    """Where a message comes from; what an item needs to be traced back. `said_on`: the day where it was said."""

    audience: Audience = Audience()
    session_key: str | None = None
    message_id: str | None = None
    turn: str = ""
    said_on: str = ""


Known = Callable[[str, str], Item | None]
"""The active item of a scope key that is the same memory as a text (`safety.normal`), if there is one."""


class Verdicts(NamedTuple):
    """What becomes of each candidate, with its reason; `deduped` holds the id of the item that it confirms."""

    accepted: tuple[Candidate, ...] = ()
    dropped: tuple[tuple[Candidate, str], ...] = ()
    quarantined: tuple[tuple[Candidate, SafetyFinding], ...] = ()
    deduped: tuple[tuple[Candidate, str], ...] = ()


class Row(NamedTuple):
    """A row as the turn is to leave it. `before`: what it was (None: it is new); `why`: why it waits in the inbox."""

    item: Item
    before: Item | None = None
    why: str = ""


class Captured(NamedTuple):
    """The outcome of one message: rows to write, what was dropped and why, and whether it must be durable at once."""

    rows: tuple[Row, ...] = ()
    dropped: tuple[tuple[Candidate, str], ...] = ()
    durable: bool = False

    @property
    def saved(self) -> tuple[Row, ...]:
        """New and confirmed active items."""
        return tuple(row for row in self.rows if not row.why)

    @property
    def quarantined(self) -> tuple[Row, ...]:
        """Items that wait in the inbox, new ones and ones that were said again."""
        return tuple(row for row in self.rows if row.why)


def candidates(said: Iterable[Said], role: str = "user") -> list[Candidate]:
    """Return what a role says that could be remembered, each once; only a user can ask for it."""
    found: dict[str, Candidate] = {}
    for told in said:
        candidate = _candidate(told, role)
        found.setdefault(safety.normalise(candidate.text), candidate)
    return list(found.values())


def is_role_read(role: str, settings: Settings) -> bool:
    """Return whether what a role says is read for memories at all."""
    is_read = role == "user" or (role == "assistant" and settings.capture_assistant)
    return settings.memory_enabled and settings.capture_enabled and is_read


def _candidate(said: Said, role: str) -> Candidate:
    if role == "user":
        return Candidate(said.text, said.kind, said.importance, said.confidence, said.explicit, said.intent)
    plain = said._replace(explicit=False)
    return Candidate(plain.text, plain.kind, plain.importance, plain.confidence, intent=plain.intent, role=role)


def judge(
    given: Sequence[Candidate],
    settings: Settings,
    known: Callable[[Candidate], Item | None] = lambda _: None,
    *,
    recalled: Collection[str] = (),
    tainted: str = "",
    unknown: str = "",
) -> Verdicts:
    """Accept, drop, quarantine or dedupe each candidate.

    `recalled`: texts that were put before the model; `tainted`: why the message they stand in reads as orders, which
    sends all of them to the inbox. Beyond `capture_max_entries_per_turn` the explicit and the important ones are kept.
    """
    accepted_ones: list[Candidate] = []
    dropped: list[tuple[Candidate, str]] = []
    held: list[tuple[Candidate, SafetyFinding]] = []
    deduped: list[tuple[Candidate, str]] = []
    for candidate in sorted(given, key=lambda one: (not one.explicit, -one.importance)):
        findings = safety.check(candidate.text, recalled=() if candidate.explicit else recalled)
        findings = [found for found in findings if not (found.kind == "short" and candidate.explicit)]
        if why := _never(findings) or _too_weak(candidate, settings):
            dropped.append((candidate, why))
        elif len(accepted_ones) + len(held) + len(deduped) >= settings.capture_max_entries_per_turn:
            dropped.append((candidate, f"more than {settings.capture_max_entries_per_turn} in one turn"))
        else:
            finding, duplicate = _held(candidate, findings, settings, tainted, unknown), known(candidate)
            if duplicate is not None and not duplicate.enabled and not is_waiting(duplicate):
                dropped.append((candidate, DISABLED))
            elif finding is None and duplicate is not None:
                deduped.append((candidate, duplicate.id))
            elif finding is None:
                accepted_ones.append(candidate)
            elif duplicate is not None and not is_waiting(duplicate):
                dropped.append((candidate, "known already"))
            else:
                held.append((candidate, finding))
    return Verdicts(tuple(accepted_ones), tuple(dropped), tuple(held), tuple(deduped))


def _never(findings: Sequence[SafetyFinding]) -> str:
    if any(found.quarantines for found in findings):
        return ""
    return findings[0].why if findings else ""


def _too_weak(candidate: Candidate, settings: Settings) -> str:
    allowance = EPISODIC_ALLOWANCE if candidate.kind == "episodic" else 0.0
    if candidate.confidence < settings.capture_min_confidence - allowance - EPSILON:
        return f"low confidence: {candidate.confidence:.2f} of {settings.capture_min_confidence - allowance:.2f}"
    if candidate.importance < settings.capture_min_importance - EPSILON:
        return f"low importance: {candidate.importance:.2f} of {settings.capture_min_importance:.2f}"
    return ""


def _held(
    candidate: Candidate, findings: Sequence[SafetyFinding], settings: Settings, tainted: str, unknown: str
) -> SafetyFinding | None:
    """Return why a person has to accept a candidate first."""
    whole = (0, len(candidate.text))
    if candidate.intent == "rule" and _ADDRESS.search(candidate.text):
        return SafetyFinding("injection", TO_AN_ADDRESS, whole)
    for finding in findings:
        if finding.quarantines:
            return finding
    if tainted:
        return SafetyFinding("injection", f"the message {tainted}", whole)
    if candidate.role in settings.capture_inbox_roles:
        return SafetyFinding("origin", f"said by the {candidate.role}, not by a person", whole)
    return SafetyFinding("origin", unknown, whole) if unknown else None


def capture(
    text: str,
    origin: Origin,
    settings: Settings,
    known: Known,
    workspace_id: str,
    *,
    role: str = "user",
    recalled: Collection[str] = (),
    seen: Callable[[list[Candidate]], list[Candidate]] = lambda given: given,
    now: datetime | None = None,
) -> Captured:
    """Return everything that one message adds to memory; in a channel that is not captured nothing, and what a person
    asked to be remembered there is told. `seen`: the candidates as the turn has them. Raises BadInput when a scope is
    asked for that the audience does not have."""
    if not is_role_read(role, settings):
        return Captured()
    text = secrets.mask_start(text)
    message, is_person = language.read(text), role == "user"
    whole = Candidate(text, "", 0.0, 0.0, role=role)
    if (channel := origin.audience.channel) not in settings.capture_channels:
        is_read = is_person and len(text) <= MAX_MESSAGE and not message.is_unwanted
        wishes = [one for one in candidates(message.statements) if one.explicit] if is_read else []
        why = f"channel {channel} is not in capture_channels"
        barred = wishes or ([whole] if is_person else [])
        return Captured(dropped=tuple((one, why) for one in barred))
    if len(text) > MAX_MESSAGE:
        return Captured(dropped=((whole, TOO_LONG),))
    if message.is_unwanted:
        return Captured(dropped=((whole, UNWANTED),))
    findings = safety.check(text)
    for found in findings:
        if found.kind in ("code", "command", "recalled"):
            return Captured(dropped=((whole, found.why),))
    moment = now or clock.now()

    def duplicate(candidate: Candidate) -> Item | None:
        return known(_scope(candidate, origin, workspace_id)[1], candidate.text)

    tainted = next((found.why for found in findings if found.kind == "injection"), "")
    unknown = held_sender(origin.audience, settings)
    given = seen(candidates(message.statements if is_person else remembering.said_in(text), role))
    verdicts = judge(given, settings, duplicate, recalled=recalled, tainted=tainted, unknown=unknown)
    if is_person and message.others:  # it says "I", and nobody knows who that is: a person looks at it
        told = candidates(remembering.said_in(message.others))
        if message.reports and not (given or told):
            told = candidates(remembering.said_in(text))
        why = language_message.REPORTED if message.reports else language_message.WHY
        theirs = judge(told, settings, duplicate, recalled=recalled, tainted=tainted, unknown=why)
        verdicts = verdicts._replace(
            quarantined=(*verdicts.quarantined, *theirs.quarantined), dropped=(*verdicts.dropped, *theirs.dropped)
        )

    def row(candidate: Candidate, finding: SafetyFinding | None) -> Row:
        scope = _scope(candidate, origin, workspace_id)
        return _row(candidate, finding, known(scope[1], candidate.text), scope, origin, settings, moment)

    rows = [row(candidate, None) for candidate in (*verdicts.accepted, *(one for one, _ in verdicts.deduped))]
    rows += [row(candidate, finding) for candidate, finding in verdicts.quarantined]
    asked = (*verdicts.accepted, *(one for one, _ in (*verdicts.quarantined, *verdicts.deduped)))
    dropped = verdicts.dropped
    if is_person:
        dropped += tuple((whole._replace(text=one), TAKEN_BACK) for one in message.forgetting)
        dropped += tuple((whole._replace(text=one), NO_WORDS) for one in message.pointing)
    held = next((found for found in findings if found.kind == "secret"), None)
    if held is not None and is_person and not rows and not dropped:
        dropped = ((whole, held.why),)
    return Captured(tuple(rows), dropped, durable=any(candidate.explicit for candidate in asked))


def whole_sentences(text: str) -> str:
    """Return the whole sentences at the beginning of a message that is too long to be read."""
    return "\n".join(split(text[:MAX_MESSAGE])[:-1])


def _scope(candidate: Candidate, origin: Origin, workspace_id: str) -> tuple[str, str]:
    scope = SCOPE_OF_KIND[candidate.kind]
    return scope, key_for(scope, origin.audience, workspace_id)


def _row(
    candidate: Candidate,
    finding: SafetyFinding | None,
    duplicate: Item | None,
    scope: tuple[str, str],
    origin: Origin,
    settings: Settings,
    moment: datetime,
) -> Row:
    if duplicate is not None:
        at, expires = clock.iso(moment), retention.expires_at(duplicate.kind, moment, settings)
        row = _again(candidate, finding, duplicate, at, expires, origin)
        is_newer = at >= duplicate.updated_at
        return row._replace(item=recall_said_on.date_item(row.item, origin.said_on)) if is_newer else row
    meta = {name: value for name, value in (("intent", candidate.intent), ("turn", origin.turn)) if value}
    item = retention.new_item(
        candidate.text, candidate.kind, scope, origin.audience, moment, settings,
        session_key=origin.session_key, importance=candidate.importance, confidence=candidate.confidence,
        source="explicit_user" if candidate.explicit else "auto_heuristic", source_message_id=origin.message_id,
        source_role=candidate.role, meta_json=dumped(meta), hits=1,
    )  # fmt: skip
    item = recall_said_on.date_item(item, origin.said_on)
    if finding is None:
        return Row(item)
    return Row(hold_for_review(item, finding.why, finding=finding.kind), None, finding.why)


def _again(
    candidate: Candidate, finding: SafetyFinding | None, duplicate: Item, at: str, expires: str | None, origin: Origin
) -> Row:
    """Return a known row as confirmed; out of the inbox, or no longer private, when said so."""
    here, sender = origin.audience, origin.audience.sender_id
    after = duplicate._replace(
        hits=duplicate.hits + 1,
        updated_at=max(duplicate.updated_at, at),  # a turn of long ago may be told today
        importance=max(duplicate.importance, candidate.importance),
        confidence=max(duplicate.confidence, candidate.confidence),
        expires_at=max(duplicate.expires_at, expires or duplicate.expires_at) if duplicate.expires_at else None,
    )
    told_to_all = finding is None and duplicate.scope_type == "user" and duplicate.chat_id != here.chat_id
    if told_to_all and is_group(here.channel, here.chat_id, sender) and is_private(duplicate):
        after = after._replace(chat_id=here.chat_id, session_key=origin.session_key)
    if is_waiting(duplicate):
        why = duplicate.meta["inbox"]
        if finding is None and candidate.explicit and why.get("finding") == "origin":
            return Row(confirm_held(after, sender, at), duplicate)
        return Row(duplicate._replace(hits=duplicate.hits + 1), duplicate, str(why.get("why", "")))
    return Row(after, duplicate)


# What a person says takes the place of what they said before: “I moved to Lisbon” after “I live in Porto”.

KNOWN, NEAR = 500, 20
"""How many memories of a person, the newest first, are looked at; and how many of them, the nearest, are compared."""
LIKELY = (0.9, 0.6, 0.4)
"""How likely an old memory has to be no longer so, to give way: one that has nothing in common with the new one, one
word, or two."""
MOST = 2
"""How many memories give way to one statement: what seems to end more of them says something else."""
LASTING = ("fact", "preference")


def items_of_speaker(origin: Origin, of_scope: Callable[[str], Iterable[Item]]) -> list[Item]:
    """List what holds of the person who speaks, and what that person told this chat, the newest first."""
    who = origin.audience
    rows = [*of_scope(who.user_key)] if who.user_key else []
    if who.chat_key:
        rows += [row for row in of_scope(who.chat_key) if row.sender_id == who.sender_id]
    active = [row for row in rows if row.enabled and not row.is_deleted]
    return sorted(active, key=lambda row: row.updated_at, reverse=True)


def find_given_up(text: str, rows: Sequence[Item]) -> list[Item]:
    """List the memories that a new statement takes the place of. `rows`: those of the speaker, the newest first."""
    language = language_of(text)
    topics = _topics(text, language)
    others = [
        (len(topics & _topics(row.text, language)), row) for row in rows[:KNOWN] if row.text != text and not row.pinned
    ]
    others.sort(key=lambda one: one[0], reverse=True)
    found = [(_no_longer_so(row.text, text), shared, row) for shared, row in others[:NEAR]]
    found.sort(key=lambda one: one[0], reverse=True)
    return [row for likely, shared, row in found[:MOST] if likely >= LIKELY[min(shared, 2)]]


def _no_longer_so(old: str, new: str) -> float:
    shares = shares_of(old, new)
    return shares["newer"] + shares["denial"]


@lru_cache(1024)
def _topics(text: str, language: str) -> frozenset[str]:
    found = statement(text, language)
    told = (topic for token in found.tokens for topic in (token.stem, *token.notions))
    return frozenset(topic for topic in told if topic not in LIGHT and not topic.startswith("mark:"))


def strengthen(candidate: Candidate, over: Sequence[Item]) -> Candidate:
    """Return the candidate with the lasting kind of what it replaces, so that it is given as widely."""
    lasting = next((row.kind for row in over if row.kind in LASTING), "")
    if not lasting or candidate.kind in LASTING:
        return candidate
    sure, weight = WEIGHTS[lasting]
    return candidate._replace(
        kind=lasting, confidence=max(sure, candidate.confidence), importance=max(weight, candidate.importance)
    )


# Why a sentence of a person's message became no memory: the reason that the end of a turn gives for each.

OFF = "capturing is off (capture_enabled)"
QUESTION = "a question"
SMALL_TALK = "small talk"
QUOTED = "quoted, not said"
NOTHING = "no preference, fact, decision or event that will matter"
UNKEPT_NO_WORDS = "no words"
UNKEPT_MOST = 20
"""Sentences of one message that are reported one by one."""

_WORD = re.compile(r"[^\W\d_]")


def explain_uncaptured(
    message: Message, known: Collection[str], settings: Settings, *, forgets: bool = False
) -> list[tuple[str, str]]:
    """Return the parts of a message that became nothing, with reasons; `known`: texts told already."""
    if not settings.capture_enabled:
        return [(message.text, OFF)] if not known else []
    found = list(_reasons(message, known, forgets=forgets))
    if len(found) > UNKEPT_MOST:
        found[UNKEPT_MOST:] = [(f"{len(found) - UNKEPT_MOST} more sentences", NOTHING)]
    return found


def _reasons(message: Message, known: Collection[str], *, forgets: bool) -> Iterator[tuple[str, str]]:
    said = [frozenset(tokens(one)) for one in known]
    for sentence in message.sentences:
        if _is_known(sentence, said) or (forgets and sentence in message.forgetting and remembering.named(sentence)):
            continue
        yield sentence, _reason(sentence)
    for line in (line.strip() for line in message.own.splitlines()):
        if line.startswith(">") and not _is_known(line, said):
            yield line, QUOTED
    if (others := message.others.strip()) and not _is_known(others, said):
        yield others, language_message.WHY


def _reason(sentence: str) -> str:
    if _WORD.search(sentence) is None:
        return UNKEPT_NO_WORDS
    if remembering.is_question(sentence):
        return QUESTION
    return SMALL_TALK if remembering.reading_of(sentence).act == "chatter" else NOTHING


def _is_known(sentence: str, said: Collection[frozenset[str]]) -> bool:
    words = frozenset(tokens(sentence))
    return any(words <= one or 5 * len(words & one) >= 3 * len(one) for one in said if one)


# What a person puts in the place of what is remembered, in English and Chinese (`my name is Rob, not Bob`).


class Replacement(NamedTuple):
    """A value that is not so and the one that is. `about`: what they are said of, as the pattern of what stands before
    the old value in a memory, or in words where `same` asks for the same ones."""

    old: str
    new: str
    about: str
    same: bool = False


class Correction(NamedTuple):
    """The memory that a sentence corrects, what it says then, and the sentence."""

    item: Item
    text: str
    said: str


_NAME_WORD = r"(?!(?:not|but|it|i|my|because|so|that|this)\b)[^\s,;:!?，。；！？]+"
_VALUE = rf"{_NAME_WORD}(?: {_NAME_WORD}){{0,3}}?"
_LINK = r"(?:is|are|was|am|'m|'re|'s|in|at|on|from|called|named|prefer|like|love|use|drive|speak|study|own|have)"
_SMALL = r"(?:(?:in|at|on|from|called|named|a|an|the) )*"
_SAY_SO = r"(?:(?:no|nope|actually|wrong|sorry|correction|oh|well|that's wrong|not quite)\b[\s,:!.]*)+"
_ABOUT = rf"(?P<about>(?:my|our|i|we)\b(?:[^,;:!?]{{0,60}}?[ ](?=\w)|(?=')|[ ](?=am\b)){_LINK}) {_SMALL}"
_ENGLISH: tuple[str, ...] = (
    rf"(?:{_SAY_SO})?{_ABOUT}(?P<new>{_VALUE}),?(?: and| but)? not {_SMALL}(?P<old>{_VALUE})",
    (
        rf"(?:{_SAY_SO})?(?P<about>(?:my|our) [\w ]{{1,40}}? (?:is|are|was))(?: not|n't) {_SMALL}(?P<old>{_VALUE})"
        rf"(?:, ?| )(?:but|it's|it is|my \w+ is) {_SMALL}(?P<new>{_VALUE})"
    ),
    (
        rf"(?:{_SAY_SO})?(?P<self>i'm|i am) not {_SMALL}(?P<old>{_VALUE})(?:, ?| )(?:but|i'm|i am) {_SMALL}"
        rf"(?P<new>{_VALUE})"
    ),
    rf"{_SAY_SO}(?:it's|it is|that's) {_SMALL}(?P<new>{_VALUE}),?(?: and| but)? not {_SMALL}(?P<old>{_VALUE})",
    (
        rf"{_SAY_SO}(?:it's|it is|that's) not {_SMALL}(?P<old>{_VALUE})(?:, ?| )(?:but|it's|it is) {_SMALL}"
        rf"(?P<new>{_VALUE})"
    ),
)
_WRONG_ZH = r"(?:(?:不对|不對|错了|錯了|不|嗯|其实|更正|纠正|抱歉|哦|等等)[，,！!。\s]*)*"
_VALUE_ZH = r"[^\s，。,、；！!？?是不我叫]{2,12}"
_WHO_ZH = r"(?P<who>我(?:们|家)?(?:的(?P<noun>[^\s，。,是叫在不]{1,6}))?)"
_CHINESE: tuple[str, ...] = (
    (
        rf"{_WRONG_ZH}(?:{_WHO_ZH})?(?:其实|现在)?不(?:是|叫|姓|在|住在)(?P<old>{_VALUE_ZH})[，,、\s]*"
        rf"(?:而|我|其实|应该)*(?:是|叫|姓|在|住在)(?P<new>{_VALUE_ZH})"
    ),
    (
        rf"{_WRONG_ZH}{_WHO_ZH}(?:其实|现在)?(?:是|叫|姓|在|住在)(?P<new>{_VALUE_ZH})[，,、\s]*"
        rf"(?:而|我)*不(?:是|叫|姓|在|住在)(?P<old>{_VALUE_ZH})"
    ),
)
_IS_ZH = r"(?:就|现在)?(?:名?叫做?|是|姓|住?在|为|：)"
_NAMES_ZH = "(?:名字|姓名|全名)"
_I_AM = (
    rf"(?:i am|i'm|call me|(?:my (?:(?:first|last|full|nick) ?)?name)(?: is|'s)|i(?:'m| am) called)(?: {_SMALL})?\s*"
)
_SO = rf".*(?:\b(?:is|are|was|am|in|at|on|from|called|named|me)|'m|'re|'s) {_SMALL}\s*"
_NOT_SO = re.compile(r"\b(?:not|never|no longer)\b|n't\b|不", re.IGNORECASE)
_END = " \t.。!！~"


@lru_cache(64)  # one message is read several times in a turn
def read_replacement(sentence: str) -> Replacement | None:
    """Return what a sentence puts in the place of what; None when it does not plainly do that."""
    plain = " ".join(sentence.replace("’", "'").split())
    if len(plain) > 160 or plain.endswith(("?", "？")):
        return None
    plain = plain.rstrip(_END)
    for pattern in _ENGLISH:
        if found := re.fullmatch(pattern, plain, re.IGNORECASE):
            parts = found.groupdict()
            about = parts.get("about")
            before = _I_AM if parts.get("self") else about or _SO
            return _checked(Replacement(found["old"], found["new"], before, same=bool(about)))
    for pattern in _CHINESE:
        if found := re.fullmatch(pattern, plain):
            noun = found["noun"]
            of = f"我(?:们|家)?的?{re.escape(noun)}(?:的{_NAMES_ZH})?" if noun else f"我(?:的{_NAMES_ZH})?"
            of = f"我(?:的{_NAMES_ZH})?" if noun and re.fullmatch(_NAMES_ZH, noun) else of
            return _checked(Replacement(found["old"], found["new"], f"{of if found['who'] else '.*'}{_IS_ZH}"))
    return None


def _checked(found: Replacement) -> Replacement | None:
    return found if normalise(found.old) != normalise(found.new) else None


def find_correction(sentence: str, rows: Iterable[Item]) -> Correction | None:
    """Return the one memory that a sentence corrects; None when there is none, or several."""
    found = read_replacement(sentence)
    if found is None:
        return None
    near = [Correction(row, text, sentence) for row in rows if (text := _rewritten(found, row.text))]
    return near[0] if len(near) == 1 else None


def _rewritten(found: Replacement, text: str) -> str:
    """A memory with the new value; empty where it says something else."""
    plain = text.replace("’", "'")
    bare = plain.rstrip(_END)
    start = len(bare) - len(found.old)
    if bare[start:].lower() != found.old.lower() or _NOT_SO.search(plain):
        return ""
    before = remembering.without_greeting(bare[:start])
    if found.same:
        fits = before.endswith(" ") and _words(before) == _words(found.about)
    else:
        fits = re.fullmatch(found.about, before, re.IGNORECASE) is not None
    return f"{text[:start]}{found.new}{text[len(bare) :]}" if fits else ""


def _words(text: str) -> frozenset[str]:
    return frozenset(query_tokens(text))


def find_corrections(message: Message, origin: Origin, of_scope: Callable[[str], Iterable[Item]]) -> list[Correction]:
    """Return what a message corrects of what holds of the person who speaks, and of what that person told this chat."""
    said = _sentences(message)
    told = items_of_speaker(origin, of_scope) if any(map(read_replacement, said)) else []
    rows = [row for row in told if row.kind != "episodic"]
    return [known for one in said if (known := find_correction(one, rows)) is not None] if rows else []


def _sentences(message: Message) -> list[str]:
    """Return the sentences of a message, and what it asks to be remembered, each once."""
    if not any(sign in message.own for sign in ("not", "n't", "n’t", "不")):
        return []
    asked = (one.text for one in message.statements)
    return list(dict.fromkeys((*message.sentences, *asked)))


def apply_corrections(given: Sequence[Candidate], found: Sequence[Correction]) -> list[Candidate]:
    """Return the candidates, those that correct a memory in its words (`it's Rob, not Bob`)."""
    rest = {known.said: known for known in found}
    after: list[Candidate] = []
    for one in given:
        known = rest.pop(one.text, None)
        after.append(one if known is None else one._replace(text=known.text))
    told = {one.text for one in after}
    for known in rest.values():
        if known.text not in told:
            sure, weight = remembering.WEIGHTS[known.item.kind]
            after.append(Candidate(known.text, known.item.kind, weight, sure, intent="correction"))
    return [one for one in after if not (found and one.kind == "episodic")]


# What a person asks to be forgotten: which memory is meant, and its deletion as a proposal that waits in the inbox.

LABEL = "forget: "
"""How the words of a proposal begin; then those of the memory."""
WHY = "a person asked to forget it"
WHY_PAST = "a person says that it is so no longer"


def find_named(clauses: Iterable[Sequence[remembering.Name]], rows: Collection[Item]) -> list[Item]:
    """Return the memories that hold most of the words of a clause, rare ones counted twice, or half of them with a rare
    one: of several words the memory that holds the most, of equal ones the shortest and newest; of a single word all.
    Words that such wishes have often need not be there, and name nothing alone beside others."""
    found: dict[str, Item] = {}
    for names in clauses:
        own = [name for name in names if not name.is_usual]
        near: list[tuple[int, int, str, Item]] = []
        for row, shared in zip(rows, remembering.standing_in(names, [row.text for row in rows]), strict=True):
            has, lacks = _weight(shared), _weight(name for name in own if name not in shared)
            is_sure = has > lacks or (has == lacks and (is_wide(names[0].word) or any(one.is_rare for one in shared)))
            if shared and is_sure and not (own and all(one.is_usual for one in shared)):
                near.append((has, -len(row.text), row.updated_at, row))
        near.sort(key=lambda one: one[:3], reverse=True)
        found |= {row.id: row for *_, row in (near if len(own or names) == 1 else near[:1])}
    return list(found.values())


def _weight(names: Iterable[remembering.Name]) -> int:
    return sum(1 + name.is_rare for name in names)


def forget_proposals(
    message: Message,
    origin: Origin,
    settings: Settings,
    of_scope: Callable[[str], Iterable[Item]],
    known: Known,
    now: datetime | None = None,
) -> Captured:
    """Return proposals to delete the memories of this chat or person that a message asks to forget."""
    audience = origin.audience
    if not is_role_read("user", settings) or audience.channel not in settings.capture_channels:
        return Captured()
    if len(message.text) > MAX_MESSAGE:
        return Captured()
    asked = [clauses for one in message.forgetting if (clauses := remembering.named(one))]
    keys = dict.fromkeys(key for key in (audience.chat_key, audience.user_key) if key) if asked else ()
    active = [row for key in keys for row in of_scope(key) if row.enabled and not row.is_deleted]
    found = [row for clauses in asked for row in find_named(clauses, active)]
    rows: dict[str, Row] = {}
    for row in found:
        if len(rows) < settings.capture_max_entries_per_turn:
            rows.setdefault(row.id, _proposal(row, origin, known, clock.iso(now or clock.now())))
    return Captured(tuple(rows.values()), durable=bool(rows))


def _proposal(target: Item, origin: Origin, known: Known, at: str) -> Row:
    words = f"{LABEL}{target.text}"
    again = known(target.scope_key, words)
    if again is not None and forget_target(again) == target.id:
        return Row(again._replace(hits=again.hits + 1, updated_at=at), again, WHY)
    row = Item(
        id=new_key("ltm"),
        text=words,
        kind=target.kind,
        scope_type=target.scope_type,
        scope_key=target.scope_key,
        channel=origin.audience.channel,
        chat_id=origin.audience.chat_id,
        sender_id=origin.audience.sender_id,
        session_key=origin.session_key,
        source="explicit_user",
        source_message_id=origin.message_id,
        source_role="user",
        created_at=at,
        updated_at=at,
        hits=1,
    )
    return Row(hold_for_review(row, WHY, finding="forget", forgets=target.id), None, WHY)


def accept_forget(proposal: Item, items: Mapping[str, Item]) -> list[tuple[Item, Item]]:
    """Return the rows of an accepted proposal before and after: it, its memory, and what that superseded."""
    target = items.get(forget_target(proposal))
    gone = [(proposal, proposal._replace(is_deleted=True))]
    if target is None or target.is_deleted:
        return gone
    if f"{LABEL}{target.text}" != proposal.text:
        fix = f"reject this, or delete {target.id} as it is now"
        raise BadInput("that memory says something else by now", proposal.id, fix)
    before = retention.find_superseded(target, items)
    return [*gone, *((row, row._replace(is_deleted=True)) for row in (target, *before))]
