"""Who sees which items: every scope with what it holds, and what one asker sees, through which layer.

Counts only; whether an item is visible is decided by `scopes.layers` alone. Pure: rows in, values out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.scope_names import Scope, of_key
from nanomem_tui.memory.scopes import Audience, Layer, layers
from nanomem_tui.store.values import KINDS, Item, Lesson

LAYERS: tuple[Layer, ...] = ("chat", "user", "global", "owner")
_ORDER = {"global": 0, "chat": 1, "user": 2}


class ScopeRow(NamedTuple):
    """One scope and what it holds: items that live, by kind; how many of them are switched off; how many wait in the
    inbox beside them; how many no chat sees; lessons of it. `seen_by`: the askers who see it."""

    scope: Scope
    kinds: Mapping[str, int]
    disabled: int = 0
    waiting: int = 0
    unseen: int = 0
    lessons: int = 0
    seen_by: tuple[Audience, ...] = ()

    @property
    def total(self) -> int:
        """Items that live."""
        return sum(self.kinds.values())


class Sees(NamedTuple):
    """What one asker sees: how many items through each layer, of which scopes, and how many there are."""

    audience: Audience
    by_layer: Mapping[str, int]
    by_scope: Mapping[str, int]
    total: int

    @property
    def number(self) -> int:
        """Items that the asker sees."""
        return sum(self.by_layer.values())


class Groups:
    """Items counted by all that their visibility depends on, so that 100,000 of them are judged by few examples."""

    def __init__(self, items: Iterable[Item]) -> None:
        """`items`: those that are not deleted."""
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._examples: dict[tuple[object, ...], Item] = {}
        for row in items:
            waits = row.waits
            key = (row.scope_type, row.scope_key, row.kind, row.chat_id, bool(row.sender_id), bool(row.enabled), waits)
            self._counts[key] += 1
            if key not in self._examples:
                self._examples[key] = row

    def sees(self, audience: Audience, *, with_global: bool = True, private_in_groups: Collection[str] = ()) -> Sees:
        """What an asker sees; the owner sees all. Raises BadInput."""
        layer_of = layers(audience, with_global=with_global, private_in_groups=private_in_groups)
        by_layer, by_scope, total = Counter[str](), Counter[str](), 0
        for key, number in self._counts.items():
            example = self._examples[key]
            if not example.enabled:
                continue
            total += number
            layer = layer_of(example)
            if layer is not None:
                by_layer[layer] += number
                by_scope[of_key(example.scope_type, example.scope_key).name] += number
        ordered: dict[str, int] = {name: by_layer[name] for name in LAYERS if by_layer[name]}
        return Sees(audience, ordered, dict(by_scope), total)

    def matrix(
        self,
        askers: Sequence[Audience],
        lessons: Iterable[Lesson] = (),
        *,
        with_global: bool = True,
        private_in_groups: Collection[str] = (),
    ) -> list[ScopeRow]:
        """Every scope with what it holds, global first, then chats, then persons, each by name."""
        kinds: dict[tuple[str, str], Counter[str]] = {}
        other: dict[tuple[str, str], Counter[str]] = {}
        for key, number in self._counts.items():
            example = self._examples[key]
            place = _place(example.scope_type, example.scope_key)
            of_kind, of_place = kinds.setdefault(place, Counter()), other.setdefault(place, Counter())
            if example.waits:
                of_place["waiting"] += number
                continue
            of_kind[example.kind] += number
            of_place["disabled"] += 0 if example.enabled else number
            of_place["unseen"] += number if is_unseen(example) else 0
        taught = Counter(_place_of(lesson) for lesson in lessons)
        for place in taught:
            kinds.setdefault(place, Counter())
            other.setdefault(place, Counter())
        seen = self._seen_by(askers, with_global=with_global, private_in_groups=private_in_groups)
        rows = [
            ScopeRow(of_key(*place), _in_order(kinds[place]), found["disabled"], found["waiting"], found["unseen"],
                     taught[place], tuple(seen.get(place, ())))
            for place, found in other.items()
        ]  # fmt: skip
        return sorted(rows, key=lambda row: (_ORDER.get(row.scope.scope_type, 3), row.scope.name))

    def _seen_by(
        self, askers: Sequence[Audience], *, with_global: bool, private_in_groups: Collection[str]
    ) -> dict[tuple[str, str], dict[Audience, None]]:
        found: dict[tuple[str, str], dict[Audience, None]] = {}
        examples = [one for one in self._examples.values() if one.enabled]
        for audience in askers:
            layer_of = layers(audience, with_global=with_global, private_in_groups=private_in_groups)
            for example in examples:
                if layer_of(example) is not None:
                    found.setdefault(_place(example.scope_type, example.scope_key), {})[audience] = None
        return found


def is_unseen(item: Item) -> bool:
    """Whether no chat and no person sees an item, whoever asks: its scope contradicts itself, or its kind does not
    follow a person."""
    return _unseen(item.scope_type, item.scope_key, item.kind, item.chat_id, item.sender_id)


@lru_cache(4096)
def _unseen(scope_type: str, scope_key: str, kind: str, chat_id: str | None, sender_id: str | None) -> bool:
    scope = of_key(scope_type, scope_key)
    if scope_type == "global":
        return scope_key.startswith("channel:")
    example = Item("", "", kind, scope_type, scope_key, scope.channel, chat_id, sender_id)
    chat = chat_id if scope_type == "user" else scope.chat_id
    try:
        return scope.channel is None or layers(Audience(scope.channel, chat, scope.sender_id))(example) is None
    except BadInput:
        return True


def _place(scope_type: str, scope_key: str) -> tuple[str, str]:
    """All that every chat sees is one scope, whichever agent gave it its key."""
    whole = scope_type == "global" and not scope_key.startswith("channel:")
    return (scope_type, "") if whole else (scope_type, scope_key)


def _place_of(lesson: Lesson) -> tuple[str, str]:
    if lesson.scope == "global":
        return "global", ""
    channel, colon, chat = lesson.session_key.partition(":")
    return ("chat", f"channel:{channel}:chat:{chat}") if colon and chat else ("session", lesson.session_key)


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    known = {kind: counts[kind] for kind in KINDS if counts.get(kind)}
    return known | {kind: counts[kind] for kind in sorted(counts) if kind not in known and counts[kind]}
