"""What a person asks to be forgotten: which memory is meant, and its deletion as a proposal that waits in the inbox.

Owns how such a wish is read (English and Chinese), how like a memory has to be, and what a proposal is: an item of the
inbox that names the one to delete. Deletes nothing: accepting does, and that is undone as one change. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache

from nanomem_tui import clock
from nanomem_tui.config import Settings
from nanomem_tui.errors import BadInput
from nanomem_tui.memory import capture_rules
from nanomem_tui.memory.capture import MAX_MESSAGE, Captured, Known, Origin, Row, reads
from nanomem_tui.memory.scopes import waiting
from nanomem_tui.operations import new_key
from nanomem_tui.store.values import Item
from nanomem_tui.tokens import query_tokens, tokens

LEAST = 0.75
"""The part of the words of a wish that a memory has to hold to be the one that is meant."""
LABEL = "forget: "
"""How the words of a proposal begin; then those of the memory."""
WHY = "a person asked to forget it"

_ABOUT = (
    r"(?:(?:all|everything|anything)\s+)?(?:(?:about|of)\s+(?!it\b|that\b|this\b)|what i (?:said|told you) about\s+|"
    r"the fact that\s+|that\s+)?"
)
_POLITE = r"(?:(?:can|could|would|will) you |you (?:can|should|may) |i(?:'d like| want| would like) you to )?"
_PLEASE = r"^[\s,，]*(?:(?:请|請|麻烦|你|帮我|那就|还是|可以|现在)[，,\s]*){0,4}"
_LEAD = rf"{capture_rules.LEAD}{_POLITE}(?:please\s+|just\s+)*"
_FORGET = "忘(?:掉|记|記)(?:了|一下)?"
_NO_MORE = "(?:别|別|不要|不用|请勿)再(?:记|記)(?:得|住|着|录)?"
_WISHES: tuple[str, ...] = (
    rf"{_LEAD}(?:forget|un-?remember)\b[\s:,]+{_ABOUT}(?P<what>.+)",
    rf"{_LEAD}(?:delete|erase|remove|drop) (?:\w+ ){{0,2}}memor(?:y|ies) (?:about|that|of)\s+(?P<what>.+)",
    rf"{_LEAD}(?:do not|don't|stop|never) remember(?:ing)? (?:that |about )?(?P<what>.+?) (?:any ?more|any longer)\b",
    rf"{_PLEASE}(?:{_FORGET}|{_NO_MORE})[\s:：，,]*(?:关于|我说过?的?)?(?P<what>.+)",
    rf"{_PLEASE}把(?P<what>.{{1,60}}?)(?:都|给)?忘(?:掉|记|記|了)",
)
_SIGNS = ("forget", "remember", "memor", "忘", "记", "記")
"""What a wish has in it, one of them."""
_NOTHING = re.compile(
    r"(?:it|that|this|these|those|them|me|us|everything|all|anything|the last \w+|about (?:it|that|this)|"
    r"(?:this|that|it|the) \w+ (?:message|one)|[这那它][\w]{0,4}|刚才.{0,6}|了)\W*$|"
    r"(?:what (?:i|we|you)|to|how|when|where|who|why)\b",
    re.IGNORECASE,
)
_ENDS = (" please", " now", " okay", " ok", " thanks", "吧", "了", "这件事", "的事", "谢谢")
_PAST = frozenset(("old", "former", "previou"))
"""Tokens that say of a thing that it is no more: what was remembered of it did not say so."""
_MARKS = " \t\n.!?。！？,，;；\"'”"


def target_of(row: object) -> str:
    """The id of the item that a proposal would delete; empty for every other row."""
    held = row.meta.get("inbox") if isinstance(row, Item) and not row.enabled else None
    return str(held.get("forgets", "")) if isinstance(held, dict) else ""


def wish(sentence: str) -> str:
    """What a sentence asks to be forgotten, in its words; empty when it asks for nothing, or does not say what."""
    plain = sentence.replace("’", "'").strip()
    if not any(sign in plain.lower() for sign in _SIGNS):
        return ""
    for pattern in _compiled():
        found = pattern.match(plain)
        if found is not None:
            what = _without_end(found["what"])
            return "" if _NOTHING.match(what) else what
    return ""


@lru_cache(1)
def _compiled() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in _WISHES)


def _without_end(what: str) -> str:
    """What is asked, without the words of politeness behind it."""
    bare = what.strip(_MARKS)
    while ending := next((end for end in _ENDS if bare.lower().endswith(end)), ""):
        bare = bare[: -len(ending)].rstrip(_MARKS)
    return bare


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
    """The proposals to delete what a message of a person asks to be forgotten: for each wish the one memory of this
    chat or this person that is meant, if there is one. Raises BadInput for a malformed chat or sender."""
    audience = origin.audience
    if not reads("user", settings) or audience.channel not in settings.capture_channels or len(text) > MAX_MESSAGE:
        return Captured()
    wishes = list(filter(None, map(wish, capture_rules.sentences(text))))[: settings.capture_max_entries_per_turn]
    keys = dict.fromkeys(key for key in (audience.chat_key, audience.user_key) if key) if wishes else ()
    rows: dict[str, Row] = {}
    for what in wishes:
        row = meant(what, (row for key in keys for row in of_scope(key) if row.enabled and not row.is_deleted))
        if row is not None:
            rows.setdefault(row.id, _proposal(row, origin, known, clock.iso(now or clock.now())))
    return Captured(tuple(rows.values()), durable=bool(rows))


def _proposal(target: Item, origin: Origin, known: Known, at: str) -> Row:
    words = f"{LABEL}{target.text}"
    again = known(target.scope_key, words)
    if again is not None and target_of(again) == target.id:
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
    return Row(waiting(row, WHY, finding="forget", forgets=target.id), None, WHY)


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
