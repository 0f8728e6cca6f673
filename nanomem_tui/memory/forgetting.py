"""What a person asks to be forgotten: which memory is meant, and its deletion as a proposal that waits in the inbox.

Owns how like a memory has to be, and what a proposal is: an item of the
inbox that names the one to delete. Deletes nothing: accepting does, and that is undone as one change. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from nanomem_tui import clock
from nanomem_tui.errors import BadInput
from nanomem_tui.language import wishes
from nanomem_tui.language.features import is_wide
from nanomem_tui.memory import capture_kinds, capture_rules, replacing, unwanted
from nanomem_tui.memory.capture import MAX_MESSAGE, Captured, Known, Origin, Row, reads
from nanomem_tui.memory.scopes import waiting
from nanomem_tui.memory.simplified import simplified, straight
from nanomem_tui.operations import new_key
from nanomem_tui.settings import Settings
from nanomem_tui.store.values import Item
from nanomem_tui.tokens import query_tokens, tokens

LEAST = 0.75
"""The part of the words of a wish that a memory has to hold to be the one that is meant."""
LABEL = "forget: "
"""How the words of a proposal begin; then those of the memory."""
WHY = "a person asked to forget it"
WHY_CORRECTED = "a person says what is so instead"
WHY_PAST = "a person says that it is so no longer"

_NO_LONGER: tuple[str, ...] = (
    r"\b(?P<who>i|we|my(?: \w+){1,3}?)(?:'m| am| are| is)? no longer (?P<what>.+)",
    (
        r"\b(?P<who>i|we)(?: do not| don't|'m not| am not| can't| cannot)(?: really)? (?P<what>.+?),? (?:any ?more|"
        r"any longer)\b"
    ),
    r"\b(?P<who>i|we)(?:'ve| have)? (?:just |recently |finally )?(?:stopped|quit|given up|gave up) (?P<what>.+)",
    r"\b(?P<who>i) used to (?P<what>.+?),? but (?:not |no longer|i (?:don't|do not|stopped|no longer))",
    r"(?P<who>我|我们)(?:现在|已经|也|都|早就)*(?:不再|不|没有?再)(?P<what>[^，。！？]{2,40}?)了[。！!\s]*$",
    r"(?P<who>我|我们)(?:现在|已经|也|都)*不再(?P<what>[^，。！？]{2,40})",
    r"(?P<who>我|我们)(?:现在|已经|也|都)*戒(?:掉)?(?P<what>[^，。！？了]{1,20})了",
)
_LIKING = re.compile(
    r"^(?:really |particularly |especially )?(?:lik(?:e|ing)|lov(?:e|ing)|enjoy(?:ing)?|prefer(?:ring)?|adore|want|"
    r"use|using|"
    r"eat(?:ing)?|drink(?:ing)?|fond of|into|a fan of|interested in)\s+|"
    r"^(?:喜欢|爱|偏好|偏爱|想要|习惯|用)(?:吃|喝|用|看|听|玩)?|^(?:吃|喝|抽)",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:hate|dislike|don't|do not|not|never|avoid|can't|no longer|any ?more)\b|不|讨厌", re.IGNORECASE
)
_PAST = frozenset(("old", "former", "previou"))
"""Tokens that say of a thing that it is no more: what was remembered of it did not say so."""
_MARKS = " \t\n.!?。！？,，;；\"'”"


def target_of(row: object) -> str:
    """The id of the item that a proposal would delete; empty for every other row."""
    held = row.meta.get("inbox") if isinstance(row, Item) and not row.enabled else None
    return str(held.get("forgets", "")) if isinstance(held, dict) else ""


def wish(sentence: str) -> list[list[str]]:
    """What a sentence asks to be forgotten, as the words that name it, clause by clause; empty when it asks for
    nothing, or names nothing."""
    return wishes.named(sentence) if capture_rules.asks_to_forget(sentence) else []


def no_longer(sentence: str) -> str:
    """What a sentence says to be so no longer, as it was before; empty when it says nothing of the kind."""
    said = straight(sentence)
    if not capture_kinds.own_words(said) or said.endswith(("?", "？")):
        return ""
    plain = simplified(said)
    found = next(filter(None, (pattern.search(plain) for pattern in _past())), None)
    return said[slice(*found.span("what"))].strip(_MARKS) if found is not None else ""


def asks(text: str) -> bool:
    """Whether a message asks to forget something, everything, or to remember nothing: no correction of an answer."""
    return unwanted.is_unwanted(text) or any(map(capture_rules.asks_to_forget, capture_rules.sentences(text)))


def contradicted(was: str, rows: Iterable[Item]) -> Item | None:
    """The one memory that says what is so no longer; of a liking also one that names its object as a preference."""
    held = [row for row in rows if not no_longer(row.text)]
    row = meant(was, held)
    liked = _LIKING.match(simplified(was))
    if row is None and liked is not None and was[liked.end() :].strip():
        of_kind = [one for one in held if one.kind == "preference" and not _AGAINST.search(simplified(one.text))]
        row = meant(was[liked.end() :], of_kind)
    return row


@lru_cache(1)
def _past() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _NO_LONGER)


def named(clauses: Iterable[Sequence[str]], rows: Collection[Item]) -> list[Item]:
    """The memories that hold most of the words of a clause: of several words the one that holds the most, of equal ones
    the shortest and newest; of a single word all that hold it."""
    found: dict[str, Item] = {}
    for words in clauses:
        wanted = [frozenset(tokens(word)) for word in words]
        least = len(words) / 2 if is_wide("".join(words)) else len(words) / 2 + 0.1
        near: list[tuple[int, int, str, Item]] = []
        for row in rows:
            held = frozenset(tokens(row.text))
            if (shared := sum(bool(word) and word <= held for word in wanted)) >= least:
                near.append((shared, -len(held), row.updated_at, row))
        near.sort(key=lambda one: one[:3], reverse=True)
        found |= {row.id: row for *_, row in (near if len(words) == 1 else near[:1])}
    return list(found.values())


def meant(what: str, rows: Iterable[Item]) -> Item | None:
    """The one memory that holds most of the words, of equal ones the shortest and newest; None when none is near."""
    wanted = frozenset(query_tokens(what)) - _PAST
    best: tuple[float, float, str, Item] | None = None
    for row in rows if wanted else ():
        held = frozenset(tokens(row.text))
        shared = len(wanted & held)
        if shared >= LEAST * len(wanted):
            rank = (shared / len(wanted), shared / len(held), row.updated_at, row)
            best = rank if best is None or rank[:3] > best[:3] else best
    return best[3] if best is not None else None


def proposals(
    text: str,
    origin: Origin,
    settings: Settings,
    of_scope: Callable[[str], Iterable[Item]],
    known: Known,
    now: datetime | None = None,
) -> Captured:
    """The proposals to delete what a message of a person asks to be forgotten, says to be so no longer, or says
    otherwise: for each the one memory of this chat or this person that is meant, if there is one. Raises BadInput for
    a malformed chat or sender."""
    audience = origin.audience
    if not reads("user", settings) or audience.channel not in settings.capture_channels or len(text) > MAX_MESSAGE:
        return Captured()
    said = capture_rules.sentences(text)
    asked = [(one, clauses) for one in said if (clauses := wish(one))]
    past = [(one, was) for one in said if not capture_rules.asks_to_forget(one) and (was := no_longer(one))]
    keys = dict.fromkeys(key for key in (audience.chat_key, audience.user_key) if key) if asked or past else ()
    active = [row for key in keys for row in of_scope(key) if row.enabled and not row.is_deleted]
    found: list[tuple[Item | None, str]] = [(row, WHY) for _, clauses in asked for row in named(clauses, active)]
    found += [(contradicted(was, (row for row in active if row.text != one)), WHY_PAST) for one, was in past]
    found += [(mend.item, WHY_CORRECTED) for mend in replacing.mends(text, origin, of_scope)]
    rows: dict[str, Row] = {}
    for row, why in found:
        if row is not None and len(rows) < settings.capture_max_entries_per_turn:
            rows.setdefault(row.id, _proposal(row, origin, known, clock.iso(now or clock.now()), why))
    return Captured(tuple(rows.values()), durable=bool(rows))


def _proposal(target: Item, origin: Origin, known: Known, at: str, why: str) -> Row:
    words = f"{LABEL}{target.text}"
    again = known(target.scope_key, words)
    if again is not None and target_of(again) == target.id:
        return Row(again._replace(hits=again.hits + 1, updated_at=at), again, why)
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
    return Row(waiting(row, why, finding="forget", forgets=target.id), None, why)


def accepted(proposal: Item, target: Item | None) -> list[tuple[Item, Item]]:
    """The rows before and after a proposal is accepted: it goes, and the memory that it names, if that is still there.

    Raises BadInput when the memory says something else by now.
    """
    gone = [(proposal, proposal._replace(is_deleted=True))]
    if target is None or target.is_deleted:
        return gone
    if f"{LABEL}{target.text}" != proposal.text:
        fix = f"reject this, or delete {target.id} as it is now"
        raise BadInput("that memory says something else by now", proposal.id, fix)
    return [*gone, (target, target._replace(is_deleted=True))]
