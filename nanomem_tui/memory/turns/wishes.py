"""What a person puts in the place of what is remembered, in English and Chinese (`my name is Rob, not Bob`).

Owns how such a sentence is read, which memory it corrects, and what that says then. Careful by intent: the memory has
to end with the old value, to say of the same thing that it is so, and to be the only one. Pure: the new words are
captured, and that the old memory goes is a proposal (`forgetting`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import new_key
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import remembering, wishes
from nanomem_tui.language.features import is_wide
from nanomem_tui.language.message import Message
from nanomem_tui.language.tokens import query_tokens
from nanomem_tui.memory import superseded
from nanomem_tui.memory.safety import normal
from nanomem_tui.memory.scopes import waiting
from nanomem_tui.memory.turns.capture import MAX_MESSAGE, Candidate, Captured, Known, Origin, Row, of_speaker, reads
from nanomem_tui.store.values import Item


class Replaced(NamedTuple):
    """A value that is not so and the one that is. `about`: what they are said of, as the pattern of what stands before
    the old value in a memory, or in words where `same` asks for the same ones."""

    old: str
    new: str
    about: str
    same: bool = False


class Mend(NamedTuple):
    """The memory that a sentence corrects, what it says then, and the sentence."""

    item: Item
    text: str
    said: str


_WORD = r"(?!(?:not|but|it|i|my|because|so|that|this)\b)[^\s,;:!?，。；！？]+"
_VALUE = rf"{_WORD}(?: {_WORD}){{0,3}}?"
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
def replaced(sentence: str) -> Replaced | None:
    """What a sentence puts in the place of what; None when it does not plainly do that."""
    plain = " ".join(sentence.replace("’", "'").split())
    if len(plain) > 160 or plain.endswith(("?", "？")):
        return None
    plain = plain.rstrip(_END)
    for pattern in _ENGLISH:
        if found := re.fullmatch(pattern, plain, re.IGNORECASE):
            parts = found.groupdict()
            about = parts.get("about")
            before = _I_AM if parts.get("self") else about or _SO
            return _checked(Replaced(found["old"], found["new"], before, same=bool(about)))
    for pattern in _CHINESE:
        if found := re.fullmatch(pattern, plain):
            noun = found["noun"]
            of = f"我(?:们|家)?的?{re.escape(noun)}(?:的{_NAMES_ZH})?" if noun else f"我(?:的{_NAMES_ZH})?"
            of = f"我(?:的{_NAMES_ZH})?" if noun and re.fullmatch(_NAMES_ZH, noun) else of
            return _checked(Replaced(found["old"], found["new"], f"{of if found['who'] else '.*'}{_IS_ZH}"))
    return None


def _checked(found: Replaced) -> Replaced | None:
    return found if normal(found.old) != normal(found.new) else None


def mend(sentence: str, rows: Iterable[Item]) -> Mend | None:
    """The one memory of these that a sentence corrects, with what it says then; None when there is none, or several."""
    found = replaced(sentence)
    if found is None:
        return None
    near = [Mend(row, text, sentence) for row in rows if (text := _rewritten(found, row.text))]
    return near[0] if len(near) == 1 else None


def _rewritten(found: Replaced, text: str) -> str:
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


def mends(message: Message, origin: Origin, of_scope: Callable[[str], Iterable[Item]]) -> list[Mend]:
    """What a message corrects of what holds of the person who speaks, and of what that person told this chat. Raises
    BadInput for a malformed chat or sender."""
    said = _said(message)
    told = of_speaker(origin, of_scope) if any(map(replaced, said)) else []
    rows = [row for row in told if row.kind != "episodic"]
    return [known for one in said if (known := mend(one, rows)) is not None] if rows else []


def _said(message: Message) -> list[str]:
    """The sentences of a message, and what it asks to be remembered, each once."""
    if not any(sign in message.own for sign in ("not", "n't", "n’t", "不")):
        return []
    asked = (one.text for one in message.said)
    return list(dict.fromkeys((*message.sentences, *asked)))


def mended(given: Sequence[Candidate], found: Sequence[Mend]) -> list[Candidate]:
    """The candidates of a message; one that corrects a memory says it in the words of that memory, also where the
    sentence alone would say nothing (`it's Rob, not Bob`)."""
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


def target_of(row: object) -> str:
    """The id of the item that a proposal would delete; empty for every other row."""
    held = row.meta.get("inbox") if isinstance(row, Item) and not row.enabled else None
    return str(held.get("forgets", "")) if isinstance(held, dict) else ""


def named(clauses: Iterable[Sequence[wishes.Name]], rows: Collection[Item]) -> list[Item]:
    """The memories that hold most of the words of a clause, rare ones counted twice, or half of them with a rare one:
    of several words the memory that holds the most, of equal ones the shortest and newest; of a single word all. Words
    that such wishes have often need not be there, and name nothing alone beside others."""
    found: dict[str, Item] = {}
    for names in clauses:
        own = [name for name in names if not name.is_usual]
        near: list[tuple[int, int, str, Item]] = []
        for row, shared in zip(rows, wishes.standing_in(names, [row.text for row in rows]), strict=True):
            has, lacks = _weight(shared), _weight(name for name in own if name not in shared)
            is_sure = has > lacks or (has == lacks and (is_wide(names[0].word) or any(one.is_rare for one in shared)))
            if shared and is_sure and not (own and all(one.is_usual for one in shared)):
                near.append((has, -len(row.text), row.updated_at, row))
        near.sort(key=lambda one: one[:3], reverse=True)
        found |= {row.id: row for *_, row in (near if len(own or names) == 1 else near[:1])}
    return list(found.values())


def _weight(names: Iterable[wishes.Name]) -> int:
    return sum(1 + name.is_rare for name in names)


def proposals(
    message: Message,
    origin: Origin,
    settings: Settings,
    of_scope: Callable[[str], Iterable[Item]],
    known: Known,
    now: datetime | None = None,
) -> Captured:
    """The proposals to delete what a message of a person asks to be forgotten: for each the memories of this
    chat or this person that are meant. Raises BadInput for a malformed chat or sender."""
    audience = origin.audience
    if not reads("user", settings) or audience.channel not in settings.capture_channels:
        return Captured()
    if len(message.text) > MAX_MESSAGE:
        return Captured()
    asked = [clauses for one in message.forgetting if (clauses := wishes.named(one))]
    keys = dict.fromkeys(key for key in (audience.chat_key, audience.user_key) if key) if asked else ()
    active = [row for key in keys for row in of_scope(key) if row.enabled and not row.is_deleted]
    found = [row for clauses in asked for row in named(clauses, active)]
    rows: dict[str, Row] = {}
    for row in found:
        if len(rows) < settings.capture_max_entries_per_turn:
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


def accepted(proposal: Item, items: Mapping[str, Item]) -> list[tuple[Item, Item]]:
    """The rows before and after a proposal is accepted: it goes, and the memory that it names, if that is still there,
    with those in whose place that one stands: they say what was so before.

    Raises BadInput when the memory says something else by now.
    """
    target = items.get(target_of(proposal))
    gone = [(proposal, proposal._replace(is_deleted=True))]
    if target is None or target.is_deleted:
        return gone
    if f"{LABEL}{target.text}" != proposal.text:
        fix = f"reject this, or delete {target.id} as it is now"
        raise BadInput("that memory says something else by now", proposal.id, fix)
    before = superseded.earlier(target, items)
    return [*gone, *((row, row._replace(is_deleted=True)) for row in (target, *before))]
