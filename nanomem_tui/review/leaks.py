"""Scopes of one workspace for a person: what each holds, who sees it, which items leak, and moves between scopes.

Owns the list of chats and senders that turns, conversations or items name, and what a leak is. `memory.scopes` decides
who sees what, `memory.items.Moving` what stands in the way of a move.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import Operation
from nanomem_tui.language.statements import statement
from nanomem_tui.memory.items import Moving, Plan, Verb
from nanomem_tui.memory.scopes import (
    Audience,
    Groups,
    Layer,
    Scope,
    ScopeRow,
    Visibility,
    is_private,
    is_unseen,
    parse_scope,
    scope_name,
    scope_of_item,
    scope_of_key,
    visible_layers,
)
from nanomem_tui.memory.sessions.sessions import BESIDE
from nanomem_tui.review.findings import Marks, fingerprint
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.review.parts import ReviewedMemory


# Leaks: items that tell one chat of another. An item that every chat sees, or that is kept for one chat, and names a
# person or a chat of elsewhere; something private that every chat sees; an item that nobody sees at all.

LeakKind = Literal["names", "private", "group", "unseen"]
LEAKS: Mapping[LeakKind, str] = {
    "private": "private, and every chat sees it",
    "names": "names somebody of elsewhere",
    "group": "said in private, and groups are given it",
    "unseen": "no chat sees it",
}
"""What each kind means, what is worst first."""
LEAST_DIGITS = 5
"""Digits of an id that is a name wherever it stands: shorter numbers are amounts."""
WHOLE_TEXT = 20_000
"""Characters of an item that are read."""
GENERAL = frozenset(
    "admin agent all anonymous api assistant bot channel chat cli cron default dev direct everyone family friend "
    "friends general group guest heartbeat help home info main me my no none noreply office owner private public root "
    "self session support sysadmin system team test tester unknown user users web webhook work yes you".split()
)
"""Names of chats and senders that say nothing of who it is."""
_WORD = re.compile(r"@?\w+(?:[.+\-'’]\w+)*")
_PIECE = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_INNER = re.compile(r"[.\-'’]")
_ROLE = re.compile(
    r"(?i)(?:abuse|accounts?|admin|billing|contact|hello|help|hr|info|jobs|no-?reply|office|orders?|postmaster|press|"
    r"sales|security|support|team|webmaster)@"
)
_NO_PLACE = "(?![村镇鎮市区區县縣路街站寺町駅])"
"""What a place has behind a name that is a person's elsewhere."""


class Leak(NamedTuple):
    """One leak: the item, what kind, why in words, how sure (0 to 1), and the name of the scope where it would belong,
    empty where that is not known."""

    item: Item
    kind: LeakKind
    why: str
    sure: float
    belongs: str = ""

    @property
    def id(self) -> str:
        """The item's and the kind."""
        return f"{self.kind}:{self.item.id}"


class NamedPerson(NamedTuple):
    """A sender or a chat that the workspace knows: the name, the scope that is theirs, and the keys of the chats and
    users where they are at home."""

    name: str
    scope: Scope
    homes: frozenset[str]


class KnownNames:
    """The senders and chats that a workspace knows, by the names they are written with."""

    def __init__(self, items: Iterable[Item], heard: Iterable[Audience] = ()) -> None:
        """`items`: those that live; `heard`: who took turns, in which chat."""
        self._homes: defaultdict[Scope, set[str]] = defaultdict(set)
        seen: set[tuple[str, str, str | None, str | None, str | None]] = set()
        for row in items:
            place = (row.scope_type, row.scope_key, row.channel, row.chat_id, row.sender_id)
            if place not in seen:
                seen.add(place)
                self._of_item(row)
        for audience in set(heard):
            self._meet(audience.channel, audience.chat_id, audience.sender_id)
        self.people = sum(scope.scope_type == "user" for scope in self._homes)
        self.chats = sum(scope.scope_type == "chat" for scope in self._homes)
        self._words: dict[str, list[NamedPerson]] = {}
        self._others: dict[str, list[NamedPerson]] = {}
        self._gather()

    def in_text(self, text: str) -> Iterator[NamedPerson]:
        """Everybody whose name stands in the text, each once."""
        text = text[:WHOLE_TEXT]
        folded = _folded(text)
        found: dict[Scope, NamedPerson] = {}
        if not self._heads.isdisjoint(_PIECE.findall(folded)):  # most texts hold no part of any name
            for match in _WORD.finditer(text):
                word = match.group()
                for part in dict.fromkeys((word, *_INNER.split(word))):
                    for one in self._words.get(_folded(part.lstrip("@")), ()):
                        if _is_name(part, one.name):
                            found.setdefault(one.scope, one)
        if self._pattern is not None:
            for match in self._pattern.finditer(folded):
                for one in self._others[match.group()]:
                    found.setdefault(one.scope, one)
        yield from found.values()

    def home_scopes(self) -> Mapping[Scope, frozenset[str]]:
        """Everybody, with where each is at home."""
        return {scope: frozenset(homes) for scope, homes in self._homes.items()}

    def homes(self, scope: Scope) -> frozenset[str]:
        """Return where somebody is at home."""
        return frozenset(self._homes.get(scope, ()))

    def _of_item(self, row: Item) -> None:
        scope = scope_of_item(row)
        if scope.channel is not None:
            self._homes[scope].add(scope.scope_key)
            if scope.chat_id is not None:
                self._meet(scope.channel, scope.chat_id, row.sender_id)
            elif row.chat_id is not None:
                self._meet(scope.channel, row.chat_id, scope.sender_id)
        elif row.scope_type == "global":
            self._meet(row.channel, row.chat_id, row.sender_id)

    def _meet(self, channel: str | None, chat_id: str | None, sender_id: str | None) -> None:
        if not channel:
            return
        chat = f"channel:{channel}:chat:{chat_id}"
        if chat_id:
            self._homes[scope_of_key("chat", chat)].add(chat)
        if sender_id:
            user = f"channel:{channel}:user:{sender_id}"
            self._homes[scope_of_key("user", user)] |= {user, chat} if chat_id else {user}

    def _gather(self) -> None:
        for scope, homes in self._homes.items():
            for name in _names_of(scope.sender_id or scope.chat_id or ""):
                one = NamedPerson(name, scope, frozenset(homes))
                table = self._words if _WORD.fullmatch(name) and _spaced(name) else self._others
                table.setdefault(_folded(name), []).append(one)
        self._heads = frozenset(piece for name in self._words for piece in _PIECE.findall(name)[:1])
        longest = sorted(self._others, key=len, reverse=True)
        guarded = (
            rf"(?<!\w){re.escape(name)}(?!\w)" if _spaced(name) else f"{re.escape(name)}{_NO_PLACE}" for name in longest
        )
        self._pattern = re.compile("|".join(guarded)) if longest else None


class LeakSearch:
    """Finds leaks; while nobody new is known, only rows that changed are judged anew."""

    def __init__(self) -> None:
        self._known: object = None
        self._rows: dict[str, Item] = {}
        self._leaks: dict[str, Leak] = {}

    def find(
        self,
        items: Sequence[Item],
        names: KnownNames,
        *,
        with_global: bool = True,
        private_in_groups: Collection[str] = (),
    ) -> list[Leak]:
        """Return the leaks among enabled items, the worst first."""
        known = names.home_scopes(), with_global, frozenset(private_in_groups)
        before = self._rows if known == self._known else {}
        rows: dict[str, Item] = {}
        found: dict[str, Leak] = {}
        for row in items:
            leak = self._leaks.get(row.id)
            if before.get(row.id) is not row:
                leak = find_leak(row, names, with_global=with_global, private_in_groups=private_in_groups)
            rows[row.id] = row
            if leak is not None:
                found[row.id] = leak
        self._known, self._rows, self._leaks = known, rows, found
        order = list(LEAKS)
        return sorted(
            found.values(), key=lambda leak: (order.index(leak.kind), -leak.sure, leak.item.created_at, leak.item.id)
        )


def find_leak(
    row: Item, names: KnownNames, *, with_global: bool = True, private_in_groups: Collection[str] = ()
) -> Leak | None:
    """Return what leaks of one item, the worst; None where nothing does."""
    if is_unseen(row):
        why = (
            f"{'an' if row.kind[:1] in 'aeiou' else 'a'} {row.kind} does not follow a person"
            if row.scope_type == "user"
            else "its scope names nobody"
        )
        return Leak(row, "unseen", f"no chat sees it: {why}", 1.0, _told_in(row))
    if row.scope_type == "global" and not with_global:
        return None
    if row.scope_type == "global" and names.people + names.chats > 1:
        private = _private(row)
        if private is not None:
            return private
    named = _naming(row, names)
    if named is None and row.scope_type == "user" and row.kind in private_in_groups and is_private(row):
        chat = scope_name("chat", f"channel:{row.channel}:chat:{row.chat_id}")
        return Leak(row, "group", f"said in private in {chat}; private_in_groups gives it in groups", 0.5, chat)
    return named


def _naming(row: Item, names: KnownNames) -> Leak | None:
    here = scope_of_item(row)
    named = sorted(names.in_text(row.text), key=lambda one: one.scope.scope_type != "user")  # a chat is called like its
    known = [one for one in named if _at_home(one, here, names)]
    meant = {_folded(one.name) for one in known}  # of several of one name the one who is known here
    for one in named:
        if _folded(one.name) in meant:
            continue
        who = "the chat" if one.scope.scope_type == "chat" else "the person"
        told = f"it names {who} {one.scope.name}"
        if here.scope_type == "global":
            if names.people + names.chats < 2:
                continue
            why, sure = f"{told}; every chat sees it", 0.7 if row.session_key else 0.5
        elif here.scope_type == "chat":
            why, sure = f"{told}, who is not known in {here.name}", 0.7
        else:
            why, sure = f"{told}, and follows {here.name} into every chat", 0.6
        return Leak(row, "names", why, sure, one.scope.name)
    return None


def _at_home(one: NamedPerson, here: Scope, names: KnownNames) -> bool:
    return one.scope == here or here.scope_key in one.homes or not one.homes.isdisjoint(names.homes(here))


def _private(row: Item) -> Leak | None:
    text = row.text[:WHOLE_TEXT]
    held = _contacts(text)
    home = _told_in(row)
    if held:
        article = "an" if held[0][0] in "aeiouAEIO" else "a"
        return Leak(row, "private", f"it holds {article} {held[0]}; every chat sees it", 0.9, home)
    if home and (words := statement.of_oneself(text)):
        return Leak(row, "private", f"“{words}” was said in {home}; every chat sees it", 0.6, home)
    return None


def _contacts(text: str) -> list[str]:
    """Return the addresses and numbers of a text, by what they are; not those of an office."""
    if "@" not in text and len(_DIGIT.findall(text)) < LEAST_DIGITS:
        return []
    from nanomem_tui.language import secrets

    return [one.kind for one in secrets.find(text, personal=True) if not _ROLE.match(text, one.start)]


def _told_in(row: Item) -> str:
    """Return the scope where an item was said: the person's or the chat's; empty when unknown."""
    if row.channel and row.sender_id and row.kind in ("preference", "fact"):
        return scope_name("user", f"channel:{row.channel}:user:{row.sender_id}")
    if row.channel and row.chat_id:
        return scope_name("chat", f"channel:{row.channel}:chat:{row.chat_id}")
    channel, colon, chat = (row.session_key or "").partition(":")
    return scope_name("chat", f"channel:{channel}:chat:{chat}") if colon and chat else ""


def _names_of(who: str) -> list[str]:
    parts = dict.fromkeys(part.strip().lstrip("@-+#") for part in who.split("|"))
    return [part for part in parts if _telling(part)]


def _telling(name: str) -> bool:
    letters = sum(c.isalpha() for c in name)
    if not letters:
        return sum(c.isdigit() for c in name) >= LEAST_DIGITS
    return _folded(name) not in GENERAL and len(name) >= (3 if _spaced(name) else 2)


def _is_name(written: str, name: str) -> bool:
    """Return whether a word is written as that name; common words need an @, letters a capital."""
    if not name.isalpha() or written.startswith("@"):
        return True
    from nanomem_tui.language.tokens import is_common

    return not is_common(name.casefold()) and not written.islower()


def _spaced(name: str) -> bool:
    return not any(unicodedata.east_asian_width(char) in "WF" or "\u0e00" <= char <= "\u0eff" for char in name)


def _folded(name: str) -> str:
    return name.casefold() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


SOME_TURNS = 2_000
"""The newest turns among which chats and senders are looked for."""


class _Rules(TypedDict):
    """What the settings say of who sees what."""

    with_global: bool
    private_in_groups: Collection[str]


class Scopes:
    """Reads and moves; every method may be called from any thread."""

    def __init__(self, ws: ReviewedMemory) -> None:
        self._ws = ws
        self._moving = Moving(ws.store, ws.perform)
        self._marks = Marks(ws.store)
        self._looking = threading.Lock()
        self._look = LeakSearch()
        self._leaks: tuple[int, list[Leak]] = (-1, [])

    # -- who sees what ------------------------------------------------------------------------------------------

    @property
    def with_global(self) -> bool:
        """Whether a chat sees what is global, by the settings."""
        return self._ws.settings.recall_profile != "seed001"

    @property
    def _rules(self) -> _Rules:
        return {"with_global": self.with_global, "private_in_groups": self._ws.settings.private_in_groups}

    def matrix(self) -> list[ScopeRow]:
        """Return every scope with what it holds and who sees it: global, chats, persons."""
        snapshot = self._ws.store.load()
        with snapshot.lock:
            lessons = [row for row in snapshot.lessons.values() if not row.is_deleted and not row.waits]
        return self._groups().matrix(self.askers(), lessons, **self._rules)

    def sees(self, audiences: Sequence[Audience]) -> list[Visibility]:
        """Return what each asker sees, in numbers. Raises BadInput."""
        groups = self._groups()
        return [groups.sees(audience, **self._rules) for audience in audiences]

    def seen_by(self, audience: Audience) -> list[tuple[Item, Layer]]:
        """Return every item that an asker sees, with its layer, the newest first. Raises BadInput."""
        layer_of = visible_layers(audience, **self._rules)
        return [(row, layer) for row in self._ws.items.all() if row.enabled and (layer := layer_of(row)) is not None]

    def askers(self) -> list[Audience]:
        """Return every chat and sender that is known, the chat alone before its senders."""
        found: dict[Audience, None] = {}
        for audience in self._heard():
            for one in (audience._replace(sender_id=None), audience) if audience.chat_id else (audience,):
                if _possible(one):
                    found[one] = None
        return sorted(found, key=lambda one: tuple(part or "" for part in one))

    # -- scopes by name -----------------------------------------------------------------------------------------

    def named(self, text: str) -> Scope:
        """Return the scope that a person names. Raises BadInput."""
        return parse_scope(text, self._ws.id)

    def all_scopes(self) -> list[Scope]:
        """Return every scope that something is in or could be: global, then the chats and persons that are known."""
        found = {
            scope.scope_key: scope for item in self._living() if (scope := scope_of_item(item)).channel is not None
        }
        for audience in self.askers():
            for kind, key in (("chat", audience.chat_key), ("user", audience.user_key if audience.sender_id else None)):
                if key is not None:
                    found.setdefault(key, self.named(key)._replace(scope_type=kind))
        return [self.named("global"), *sorted(found.values(), key=lambda one: (one.scope_type, one.name))]

    # -- leaks --------------------------------------------------------------------------------------------------

    def leaks(self) -> list[Leak]:
        """Return what leaks, the worst first, without what a person keeps or has put off."""
        found, marks, now = self.found_leaks(), self._marks.all(), clock.iso(clock.now())
        marked = {one.item.id: mark for one in found if (mark := marks.get(leak_id(one))) is not None}
        return [
            one
            for one in found
            if one.item.id not in marked or not marked[one.item.id].stands(leak_fingerprint(one), now)
        ]  # fmt: skip

    def found_leaks(self) -> list[Leak]:
        """Return all leaks, the worst first; found once per change."""
        counter = self._ws.store.load("item").counter
        with self._looking:
            if self._leaks[0] != counter:
                names = KnownNames(self._living(), self._heard())
                rows = [row for row in self._living() if row.enabled]
                self._leaks = counter, self._look.find(rows, names, **self._rules)
            return self._leaks[1]

    def leak_of(self, item_id: str) -> Leak | None:
        """Return what leaks of an item, as it is now."""
        return next((one for one in self.found_leaks() if one.item.id == item_id), None)

    # -- moving -------------------------------------------------------------------------------------------------

    def plan(self, ids: Sequence[str], scope: Scope, verb: Verb = "move") -> Plan:
        """Return what would become of items that are moved or copied; see `items.Moving`."""
        return self._moving.plan(ids, scope, verb)

    def move(self, ids: Sequence[str], scope: Scope, *, merge: bool = False) -> tuple[Operation, Plan]:
        """Move items to a scope, as one operation; see `items.Moving`."""
        return self._moving.do(ids, scope, "move", merge=merge)

    def changes(self, ids: Sequence[str], scope: Scope) -> list[Change]:
        """Return what moves items to a scope, merged where the words are there; see `items.Moving`."""
        return self._moving.changes(ids, scope)

    def copy(self, ids: Sequence[str], scope: Scope) -> tuple[Operation, Plan]:
        """Copy items to a scope, as one operation; see `items.Moving`."""
        return self._moving.do(ids, scope, "copy")

    # -- helpers ------------------------------------------------------------------------------------------------

    def _living(self) -> list[Item]:
        snapshot = self._ws.store.load("item")
        with snapshot.lock:
            return [row for row in snapshot.items.values() if not row.is_deleted]

    def _groups(self) -> Groups:
        return Groups(self._living())

    def _heard(self) -> Iterable[Audience]:
        """Return who is known: from turns, conversations and items."""
        found: dict[Audience, None] = {}
        for turn in self._ws.traces.injections.turns(SOME_TURNS):
            if turn.channel:
                found[Audience(turn.channel, turn.chat_id, turn.sender_id)] = None
        for info in self._ws.sessions.list():
            if not info.key.endswith(BESIDE):
                found[_of_session(info.key)] = None
        places = {
            (row.scope_type, row.scope_key, row.channel, row.chat_id, row.sender_id): row for row in self._living()
        }
        for row in places.values():
            scope = scope_of_item(row)
            if row.channel:
                found[Audience(row.channel, row.chat_id, row.sender_id)] = None
            if scope.channel:
                found[Audience(scope.channel, scope.chat_id, scope.sender_id)] = None
        return [one for one in found if not one.is_owner and one.channel]


def _of_session(key: str) -> Audience:
    channel, colon, chat = key.partition(":")
    return Audience(channel, chat) if colon and chat else Audience()


def _possible(audience: Audience) -> bool:
    try:
        return bool(audience.chat_key or audience.user_key)
    except BadInput:
        return False


def leak_id(leak: Leak) -> str:
    """Return the id of the finding of a leak."""
    return f"leak:{leak.item.id}"


def leak_fingerprint(leak: Leak) -> str:
    """Return what changes when the leak is another one."""
    return fingerprint(leak.item.text, *leak_basis(leak))


def leak_basis(leak: Leak) -> tuple[str, ...]:
    """Return what a leak is judged on beside its words."""
    return leak.kind, leak.item.scope_key, leak.belongs
