"""The values of a turn, its input and its result, and their JSON; every check of foreign input.

Pure. Must not know a store: `engine` does the work.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import tzinfo
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import is_utf8
from nanomem_tui.language import secrets
from nanomem_tui.memory.recall import said_on as recall_said_on
from nanomem_tui.memory.recall.recall import CutItem, Recalled
from nanomem_tui.memory.scopes import Audience, state_key
from nanomem_tui.memory.turns import prompt as turns_working
from nanomem_tui.memory.turns.prompt import Exchange
from nanomem_tui.memory.turns.traces import checked_key, logged_words
from nanomem_tui.store.values import Hit, Item, Lesson, Row

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.excerpts import Excerpt


# -- The fields of a request as JSON gives them: each read and checked, and those that nobody knows named -------------

MAX_TEXT = 500_000
"""Characters of a message, a reply or an answer that are read; the rest is cut off, and the turn says so."""
TURN_FIELDS_MAX_TOLD = 5
"""Unknown fields that are told one by one."""
WHOSE = ("session_key", "channel", "chat_id", "sender_id")
"""The fields that say whose a memory is."""
IDS = frozenset({*WHOSE, "message_id", "participant"})
"""The fields that may be numbers; words never are."""
OTHER_NAMES = {"userid": "sender_id", "sender": "sender_id", "fromid": "sender_id", "conversationid": "chat_id"}
"""What other programs call a field that says whose a memory is."""
_TITLE = re.compile(r"\s\S")
"""What the title of a chat or a name has and an id has not: only there may somebody have written a secret."""
NEAR = 0.8
"""How alike two names are, of 1, that one may be a slip of the other."""
SHOWN = 40


def check_fields(body: Mapping[str, Any], known: Collection[str], where: str = "", *, strict: bool = True) -> list[str]:
    """Return what to tell about the fields of `body` that nobody knows."""
    told = []
    for name in (name for name in body if name not in known):
        nearest, certain = _nearest(name, known)
        shown, meant = f"{where}{name[:SHOWN]}", f"`{nearest}` is meant" if nearest else ""
        if strict and nearest and (certain or nearest in WHOSE):
            raise BadInput("an unknown field", shown, f"write `{nearest}`")
        told.append(f"unknown field {shown}, left out" + (f"; perhaps {meant}" if meant else ""))
    more = len(told) - TURN_FIELDS_MAX_TOLD
    return told if more <= 0 else [*told[:TURN_FIELDS_MAX_TOLD], f"{more} unknown fields more, left out"]


def _nearest(name: str, known: Collection[str]) -> tuple[str, bool]:
    """Return the known field that a name is near to, and whether it can be nothing else; empty when there is none."""
    bare = _bare(name)
    plain = {_bare(one): one for one in known}
    if bare in plain:
        return plain[bare], True
    if OTHER_NAMES.get(bare) in known:
        return OTHER_NAMES[bare], True
    found = difflib.get_close_matches(bare[:SHOWN], plain, 1, 0.6)
    ratio = difflib.SequenceMatcher(None, bare[:SHOWN], found[0]).ratio() if found else 0.0
    nearest = plain[found[0]] if found else ""
    return ("", False) if nearest in WHOSE and ratio < NEAR else (nearest, False)


def _bare(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def clipped_fields(body: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """Return the fields of which only the beginning is read."""
    return tuple(name for name in names if isinstance(body.get(name), str) and len(body[name]) > MAX_TEXT)


def text_field(body: Mapping[str, Any], name: str, limit: int, *, clip: bool = False) -> str:
    """A text field. One that is too long is refused, or with `clip` its beginning is taken."""
    value = body.get(name)
    if value is None:
        return ""
    if name in IDS and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # ids are numbers in many channels
    if not isinstance(value, str):
        raise BadInput("not a text", name, "give it in quotation marks")
    if clip:
        value = value[:limit]
    if len(value) > limit:
        raise BadInput(f"a text of {len(value):,} characters", name, f"give at most {limit:,}")
    if name in IDS and _TITLE.search(value):
        value = secrets.mask(value)
    if not is_utf8(value):
        raise BadInput("text with a lone surrogate, which is no UTF-8", name, "remove it")
    return value


def texts_field(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts. Raises BadInput."""
    value = body.get(name) or []
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > 1_000:
        raise BadInput("not a list of texts", name, 'give ["…"]')
    return tuple(text_field({name: entry}, name, MAX_TEXT) for entry in value)


def flag_field(body: Mapping[str, Any], name: str) -> bool:
    """True or false, false where nothing is given. Raises BadInput."""
    value = body.get(name)
    if value not in (None, True, False):
        raise BadInput("neither true nor false", name)
    return bool(value)


def time_field(body: Mapping[str, Any]) -> str:
    """Return the field `at` as UTC ISO, empty where nothing is given. Raises BadInput."""
    given = text_field(body, "at", 60)
    if not given:
        return ""
    moment = clock.parse(given)
    if moment is None:
        raise BadInput("no time", "at", "give ISO 8601, like 2026-03-01T10:00:00+00:00")
    return clock.iso(moment)


MAX_TOLD = 200
"""Characters of what was dropped that are told again."""
_WORDS = ("text", "key", "trigger", "bad_action", "better_action", "promoted_global_key", "meta")
"""The fields of an item or a lesson that hold words of somebody."""
MAX_TOOLS = 500
MAX_PROBLEMS = 20
LEAVABLE = frozenset({"notes", "older", "turns", "pending"})
REPLY = ("text", "message_id", "participant")
FIELDS = (
    "do", *WHOSE, "message_id", "speaker", "text", "media", "at", "reply_to", "leave_out", "limit", "max_chars",
    "turn", "assistant", "tools", "pending_actions", "done_actions", "declined",
)  # fmt: skip
"""Every field of a request: an agent may give those of a begin again at its end."""
MAX_RESULT = 20_000
"""Characters of a tool's result that are looked at."""


class TurnInput(NamedTuple):
    """What arrived: for whom, who said it, what, and what it replies to. `at` is UTC ISO, empty for now; `said_on` the
    day (`YYYY-MM-DD`) in the zone of who said it, empty where that is the agent's.

    `leave_out`: parts of the block (`LEAVABLE`) that the agent puts before its model itself. `clipped`: the fields
    whose beginning alone is here. `problems`: what of the request was not understood.
    """

    session_key: str
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None
    message_id: str = ""
    speaker: str = "user"
    text: str = ""
    reply_text: str = ""
    reply_message_id: str = ""
    reply_participant: str = ""
    media: tuple[str, ...] = ()
    at: str = ""
    leave_out: tuple[str, ...] = ()
    clipped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    said_on: str = ""

    @property
    def audience(self) -> Audience:
        """Who sees what is recalled."""
        return Audience(self.channel, self.chat_id, self.sender_id)

    @property
    def state_key(self) -> str:
        """Under which key this session's turns, pending items and lessons are kept. Raises BadInput."""
        if not self.session_key or self.channel is None or self.chat_id is None:
            return self.session_key
        return state_key(self.session_key, self.channel, self.chat_id)


class ToolUse(NamedTuple):
    """One call of a tool and what came of it; `error` is empty when it went well."""

    name: str
    arguments: str = ""
    result: str = ""
    error: str = ""


class TurnEnd(NamedTuple):
    """How a turn ended. `turn` is the id that its begin gave, empty for a turn that is told as a whole (`input`)."""

    turn: str = ""
    input: TurnInput | None = None
    assistant: str = ""
    tools: tuple[ToolUse, ...] = ()
    pending_actions: tuple[str, ...] = ()
    done_actions: tuple[str, ...] = ()
    declined: bool = False
    clipped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Spent(NamedTuple):
    """Characters that a part of the block takes, and may take."""

    used: int
    limit: int


class Begun(NamedTuple):
    """What a turn starts with: its id and the block of memory, with what is in the block and what was cut.

    `found` is the answer of recall that the block was made from; None for a turn that asked nothing. `related`: facts
    of it that recall did not give, and that are near in meaning. `budget`: characters of the block that the retrieved
    memory (`memory`) and what stands beside it (`context`) take, and may take. `zone`: the agent's. `older`: turns of
    the same chat that fell out of the window and are in the block. `problem`: why nothing of the turn can be kept, or
    nothing is given, empty when all is well. `problems`: what of the request was not understood.
    """

    turn: str
    block: str = ""
    hits: tuple[Hit, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    working: tuple[Exchange, ...] = ()
    pending: tuple[str, ...] = ()
    cut: tuple[CutItem, ...] = ()
    found: Recalled | None = None
    problem: str = ""
    clipped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    related: tuple[Hit, ...] = ()
    budget: Mapping[str, Spent] = MappingProxyType({})
    zone: tzinfo | None = None
    older: tuple[Excerpt, ...] = ()

    @property
    def block_hits(self) -> tuple[Hit, ...]:
        """Every item of the block."""
        return (*self.hits, *self.related)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `turn begin` prints."""
        return {
            "turn": self.turn,
            "block": self.block,
            "hits": [hit_json(hit, self.zone) for hit in self.hits],
            "related": [hit_json(hit, self.zone) for hit in self.related],
            "lessons": [row_json(lesson) for lesson in self.lessons],
            "working": [turn._asdict() for turn in self.working],
            "older": [excerpt.to_json() for excerpt in self.older],
            "pending": list(self.pending),
            "cut": [cut_json(cut) for cut in self.cut],
            "chars": len(self.block),
            "budget": {name: spent._asdict() for name, spent in self.budget.items()},
            **({"problem": self.problem} if self.problem else {}),
            **clipped_json(self.clipped),
            **({"problems": list(self.problems)} if self.problems else {}),
        }


class Saved(NamedTuple):
    """An item that a turn saved; `merged`: the text was known, the item there was confirmed."""

    item: Item
    merged: bool = False


class Dropped(NamedTuple):
    """A candidate that was not saved, why, and the kind of reason: safety, weak (confidence, importance), known (it is
    remembered already) or other."""

    text: str
    why: str
    kind: str = "other"


class Quarantined(NamedTuple):
    """What waits in the inbox for a person, an item or a lesson, and why; `again`: it waited there already."""

    item: Row
    why: str
    again: bool = False

    @property
    def is_unsafe(self) -> bool:
        """Whether it was kept from memory just now; not a wish that something be forgotten, which is none."""
        return not self.again and "forgets" not in self.item.meta["inbox"]

    @property
    def text(self) -> str:
        """Its words; of a lesson what it would have the model do."""
        return self.item.text if isinstance(self.item, Item) else self.item.better_action


class Taught(NamedTuple):
    """A lesson that a turn changed or decided about; `what`: learned, confirmed, reinforced, promoted, dropped, or
    followed and recurred for one that was shown."""

    lesson: Lesson
    what: str

    @property
    def is_change(self) -> bool:
        """Whether the lesson says something else now, or is more or less sure."""
        return self.what not in ("followed", "recurred")


class Ended(NamedTuple):
    """What came of a turn; `problems`: what of its end was not understood, or had no effect."""

    turn: str
    saved: tuple[Saved, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    lessons: tuple[Taught, ...] = ()
    operation: str = ""
    counters: Mapping[str, int] = {}
    clipped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def learned(self) -> list[str]:
        """The ids of the lessons that it changed."""
        return [taught.lesson.id for taught in self.lessons if taught.is_change]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `turn end` prints."""
        return {
            "turn": self.turn,
            "operation": self.operation or None,
            "saved": [
                {"id": item.id, "text": secrets.mask(item.text), "kind": item.kind, "merged": merged}
                for item, merged in self.saved
            ],
            "dropped": [{"text": shortened(secrets.mask_start(drop.text)), "why": drop.why} for drop in self.dropped],
            "quarantined": [
                {"id": held.item.id, "text": secrets.mask(held.text), "why": held.why} for held in self.quarantined
            ],
            "lessons": [
                {"id": lesson.id, "trigger": secrets.mask(lesson.trigger), "what": what}
                for lesson, what in self.lessons
            ],
            "counters": dict(self.counters),
            **clipped_json(self.clipped),
            **({"problems": list(self.problems)} if self.problems else {}),
        }


def clipped_json(names: Sequence[str]) -> dict[str, Any]:
    """Return what says that only the beginning of some fields was read; nothing where all of it was."""
    return {"clipped": dict.fromkeys(names, MAX_TEXT)} if names else {}


def shortened(text: str) -> str:
    """Return the beginning of a text, as much as is worth telling again."""
    return text if len(text) <= MAX_TOLD else f"{text[: MAX_TOLD - 1]}…"


def row_json(row: Row) -> dict[str, Any]:
    """An item or a lesson as an agent is told of it: as the block has it, without its secrets."""
    body = row.to_json()
    return body | {name: secrets.mask_value(body[name]) for name in _WORDS if body.get(name)}


def hit_json(hit: Hit, zone: tzinfo | None = None) -> dict[str, Any]:
    """Return a hit as the block gives it, with its layer, score and parts; `zone`: the agent's."""
    given, about = (
        secrets.mask(tell(hit.item, zone)) for tell in (recall_said_on.resolve_dates, recall_said_on.filed_under)
    )
    shown = {"given": given, "about": about}
    return {**row_json(hit.item), **shown, "layer": hit.layer, "score": round(hit.score, 6), "parts": dict(hit.parts)}


def cut_json(cut: CutItem) -> dict[str, Any]:
    """Return what was cut, and why."""
    item, score = cut.hit.item, round(cut.hit.score, 6)
    return {"id": item.id, "text": secrets.mask(item.text), "score": score, "why": cut.why}


# -- reading -----------------------------------------------------------------------------------------------------------


def turn_input(body: Mapping[str, Any]) -> TurnInput:
    """Return the beginning of a turn from JSON. Raises BadInput that names the field."""
    problems = check_fields(body, FIELDS)
    key = text_field(body, "session_key", 600)
    channel, chat_id = (text_field(body, name, 600) or None for name in ("channel", "chat_id"))
    if channel is None and chat_id is None and ":" in key:
        channel, chat_id = key.split(":", 1)
    if not key.strip() and channel and chat_id:
        key = f"{channel}:{chat_id}"
    if not channel or not chat_id:
        raise BadInput("a turn needs a channel and a chat", "channel, chat_id", "or a session_key like telegram:12345")
    text = check_message(text_field(body, "text", MAX_TEXT, clip=True), "text")
    reply = body.get("reply_to") or {}
    if not isinstance(reply, Mapping):
        raise BadInput("not an object", "reply_to", 'give {"text": …}')
    problems += check_fields(reply, REPLY, "reply_to.", strict=False)
    sender = text_field(body, "sender_id", 600)
    speaker = turns_working.speaker_name(text_field(body, "speaker", 600), sender)
    found = TurnInput(
        session_key=checked_key(key),
        channel=channel,
        chat_id=chat_id,
        sender_id=sender or None,
        message_id=text_field(body, "message_id", 600),
        speaker=turns_working.USER
        if speaker == turns_working.SYSTEM and sender
        else speaker,  # the agent's own notes have no sender
        text=text,
        reply_text=text_field(reply, "text", MAX_TEXT, clip=True),
        reply_message_id=text_field(reply, "message_id", 600),
        reply_participant=text_field(reply, "participant", 600),
        media=texts_field(body, "media"),
        at=time_field(body),
        leave_out=_parts(body),
        clipped=clipped_fields(body, "text"),
        problems=tuple(problems),
        said_on=recall_said_on.day_of_offset_time(text_field(body, "at", 60)),
    )
    # A malformed channel, chat or sender, and the session of another chat, are refused here.
    _ = found.audience.chat_key, found.audience.user_key, checked_key(found.state_key)
    return found


def turn_end(body: Mapping[str, Any], *, whole: bool = False) -> TurnEnd:
    """Return the end of a turn from JSON, named by `turn` or described; `whole`: told at once."""
    turn = text_field(body, "turn", 200)
    problems = check_fields(body, FIELDS)
    has_fields = any(body.get(name) for name in ("text", "session_key", "channel"))
    if whole or not turn:
        described: TurnInput | None = turn_input(body)
    else:
        described = turn_input(body) if has_fields and body.get("text") else None
    problems = list(described.problems) if described is not None else problems
    tools = _tools(body)
    for number, entry in enumerate(body.get("tools") or ()):
        problems += check_fields(entry, ToolUse._fields, f"tools[{number}].", strict=False)
    return TurnEnd(
        turn="" if whole else turn,
        input=described,
        assistant=text_field(body, "assistant", MAX_TEXT, clip=True),
        tools=tools,
        pending_actions=texts_field(body, "pending_actions"),
        done_actions=texts_field(body, "done_actions"),
        declined=flag_field(body, "declined"),
        clipped=clipped_fields(body, "text", "assistant"),
        problems=tuple(problems[:MAX_PROBLEMS]),
    )


def check_message(text: str, where: str = "message") -> str:
    """Return the words of a message as they are. Raises BadInput when there are none, or too many."""
    if not text.strip():
        raise BadInput("the message is empty", where, "give the words of the user")
    if len(text) > MAX_TEXT:
        raise BadInput(f"a message of {len(text):,} characters", where, f"give at most {MAX_TEXT:,}")
    return text


def _tools(body: Mapping[str, Any]) -> tuple[ToolUse, ...]:
    value = body.get("tools") or []
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_TOOLS:
        raise BadInput(f"not a list of at most {MAX_TOOLS} tool calls", "tools", 'give [{"name": …, "result": …}]')
    found = []
    for number, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            raise BadInput("not an object", f"tools[{number}]", 'give {"name": …, "result": …}')
        fields = (_loose(entry.get(name)) for name in ToolUse._fields)
        found.append(ToolUse(*fields))
    return tuple(found)


def _loose(value: Any) -> str:
    """Text of a tool, whatever it gave: an object as JSON, None as nothing, cut in the middle when it is long."""
    if isinstance(value, str):
        text = value
    elif value is None or value is False:
        return ""
    else:
        import json

        text = json.dumps(value, ensure_ascii=False, default=str)
    half = MAX_RESULT // 2
    return text if len(text) <= MAX_RESULT else text[:half] + text[-half:]


def _parts(body: Mapping[str, Any]) -> tuple[str, ...]:
    found = texts_field(body, "leave_out")
    if not LEAVABLE.issuperset(found):
        raise BadInput(
            "no part of the block that can be left out", "leave_out", f"one of {', '.join(sorted(LEAVABLE))}"
        )
    return found


# -- which turn --------------------------------------------------------------------------------------------------------


def same_chat(end: TurnEnd, began: TurnInput) -> None:
    """Raise BadInput for an end that is told of another chat than its turn began in."""
    if end.input is not None and end.input.state_key != began.state_key:
        raise BadInput("that turn began in another chat or session", end.turn, "give the fields of its begin, or none")


def same_message(given: TurnInput, state_key: str, message_id: str, text: str) -> bool:
    """Return whether a described message is that of a begun turn: by its id where both have one, else by its words."""
    if given.state_key != state_key:
        return False
    if given.message_id and message_id:
        return given.message_id == message_id
    return not text or given.text[: len(text)] == text or logged_words(given.text)[: len(text)] == text
