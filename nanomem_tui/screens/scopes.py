"""The Scopes screen, behind Items: leaks, what each scope holds, what each chat and person sees; and the dialog that
moves items to a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.items import Plan, Verb
from nanomem_tui.memory.scopes import HINT, Audience, Scope, ScopeRow, Visibility, parse_scope, scope_of_item
from nanomem_tui.review.leaks import LEAKS, Leak
from nanomem_tui.screens.base.console import ask_recall, show_filtered
from nanomem_tui.screens.base.editable_rows import LISTED, MANY, SAID, format_time
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.screens.recall.answer import PickScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace


SHOWN = 40
"""Items and askers that a detail lists."""
SHORT = {"preference": "Pref", "fact": "Fact", "decision": "Dec", "episodic": "Epis"}
Is = Literal["leak", "scope", "asks"]


class ScopeRowPlace(NamedTuple):
    """A row: something that leaks, a scope, or somebody who asks; the other two are None. `leaks`: how many there are
    in a scope."""

    leak: Leak | None = None
    scope: ScopeRow | None = None
    sees: Visibility | None = None
    leaks: int = 0

    @property
    def kind(self) -> Is:
        """Which of them it is."""
        return "leak" if self.leak is not None else "scope" if self.scope is not None else "asks"

    @property
    def id(self) -> str:
        """The same each time."""
        if self.leak is not None:
            return self.leak.id
        return f"{self.kind}:{self.name}"

    @property
    def name(self) -> str:
        """The words of a leak, the name of a scope, who asks."""
        if self.leak is not None:
            return self.leak.item.text
        if self.scope is not None:
            return self.scope.scope.name
        return "" if self.sees is None else asker_name(self.sees.audience)

    @property
    def number(self) -> int:
        """Items that are in a scope, or that are seen."""
        if self.scope is not None:
            return self.scope.total
        return self.sees.number if self.sees is not None else 0

    @property
    def note(self) -> str:
        """Why it leaks, who sees a scope, through which layers somebody sees."""
        if self.leak is not None:
            return self.leak.why
        if self.sees is not None:
            return ", ".join(f"{name} {number:,}" for name, number in self.sees.by_layer.items()) or "nothing"
        assert self.scope is not None
        said = [f"seen by {len(self.scope.seen_by):,}"]
        said += [counted(self.leaks, "leak")] if self.leaks else []
        return ", ".join(said + ([f"{self.scope.unseen:,} unseen"] if self.scope.unseen else []))


class ScopesScreen(WorkspaceScreen[ScopeRowPlace]):
    """Who sees what."""

    SCREEN = "scopes"
    TELLS_GONE = False  # what was moved goes to another row, and that is said
    EMPTY = "No items, and no chat is known yet."
    HELP = (
        "Who sees what. Signs before a row: ! something that leaks (an item that tells one chat of another, something "
        "private that every chat sees, an item that nobody sees), @ somebody who asks. The other rows are scopes, with "
        "their items by kind. S moves or copies the item, or all that a scope holds; A asks Recall as that chat or "
        "person; enter goes to the items. / is:leak, is:scope and is:asks show one kind of row."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "is": "text", "kind": "text", "scope": "text", "items": "number", "why": "text", "belongs": "text",
        "id": "text",
    }  # fmt: skip

    # The list

    def columns(self) -> Sequence[Column[ScopeRowPlace]]:
        """What it is, the counts by kind, and the reason."""
        kinds = [_of_kind(kind, title, at) for at, (kind, title) in enumerate(SHORT.items(), 3)]
        return (
            Column("is", "Type", lambda row: row.kind, width=5, priority=2, tone="accent", sort=lambda row: row.kind),
            Column("name", "Who or what", lambda row: row.name, min_width=20, sort=lambda row: row.name.casefold()),
            *kinds,
            Column("items", "Items", lambda row: f"{row.number:,}" if row.leak is None else "", width=7, align="right",
                   sort=lambda row: row.number),
            Column("note", "Why, and who sees it", lambda row: row.note, min_width=30, priority=1, tone="warn",
                   sort=lambda row: row.note),
        )  # fmt: skip

    def row_id(self, row: ScopeRowPlace) -> str:
        """The id."""
        return row.id

    def load(self) -> Iterable[Sequence[ScopeRowPlace]]:
        """The scopes and askers at once, then what leaks before them."""
        scopes = self.ws.scopes
        matrix, sees = scopes.matrix(), scopes.sees(scopes.askers())
        found = scopes.leaks()
        within: dict[str, int] = {}
        for leak in found:
            name = scope_of_item(leak.item).name
            within[name] = within.get(name, 0) + 1
        yield [
            *(ScopeRowPlace(leak=leak) for leak in found),
            *(ScopeRowPlace(scope=row, leaks=within.get(row.scope.name, 0)) for row in matrix),
            *(ScopeRowPlace(sees=one) for one in sees),
        ]

    def search_text(self, row: ScopeRowPlace) -> str:
        """Words are searched in what it is called and in the reason."""
        return f"{row.name}\n{row.note}"

    def field(self, row: ScopeRowPlace, name: str) -> Any:
        """The fields of the filter language."""
        leak = row.leak
        if name == "is":
            return row.kind
        if name == "kind":
            return leak.kind if leak is not None else set(row.scope.kinds) if row.scope is not None else None
        if name == "scope":
            return _scope_of(row).name if row.sees is None else None
        if name == "items":
            return row.number
        if name == "belongs":
            return leak.belongs if leak is not None else None
        return {"why": row.note, "id": {row.id, leak.item.id if leak is not None else ""}}[name]

    def sign(self, row: ScopeRowPlace) -> str:
        """What leaks, and who asks."""
        return {"leak": "!", "scope": "", "asks": "@"}[row.kind]

    def copy_text(self) -> str:
        """The names, or the words of what leaks."""
        return "\n".join(row.name for row in self.targets())

    # The detail

    def detail(self, row: ScopeRowPlace) -> Document:
        """A leak with its reason, a scope with who sees it, somebody with what is seen."""
        blocks = self._of_leak(row.leak) if row.leak is not None else None
        blocks = blocks or (self._of_scope(row) if row.scope is not None else self._of_asker(row.sees))
        return Document(tuple(blocks), copy=row.name)

    def _of_leak(self, leak: Leak) -> list[Block]:
        item = leak.item
        named = (
            ("belongs to", leak.belongs or "where it is said to, by you"),
            ("scope", scope_of_item(item).name),
            ("kind", item.kind),
            ("session", item.session_key),
            ("sender", item.sender_id),
            ("source", item.source),
            ("updated", format_time(item.updated_at)),
            ("id", item.id),
        )
        key, edit = self.key_of("split"), "enter shows it on Items, where e edits it and x switches it off"
        return [
            Body(item.text),
            Body(f"{leak.why[:1].upper()}{leak.why[1:]}.", "bad"),
            Body(f"{LEAKS[leak.kind].capitalize()}. {key} moves or copies it; {edit}.", "dim"),
            Heading("Fields"),
            *(Field(name, str(value)) for name, value in named if value),
        ]

    def _of_scope(self, row: ScopeRowPlace) -> list[Block]:
        found = row.scope
        assert found is not None
        scope = found.scope
        named = (
            ("items", ", ".join(f"{kind} {number:,}" for kind, number in found.kinds.items()) or "none"),
            ("switched off", found.disabled),
            ("in the inbox", found.waiting),
            ("seen by nobody", found.unseen),
            ("leaks", row.leaks),
            ("lessons", found.lessons),
            ("key", scope.scope_key),
        )
        blocks: list[Block] = [Spans(((scope.name, "heading"),), 2), Body(f"Seen by {scope.words}.", "dim")]
        blocks += [Field(name, str(value)) for name, value in named if value]
        blocks.append(Heading(f"Who sees it ({len(found.seen_by):,})"))
        blocks += [Spans(((asker_name(one), ""),), 2) for one in found.seen_by[:SHOWN]]
        blocks += _more(len(found.seen_by)) or ([] if found.seen_by else [Body("Nobody that is known.", "dim")])
        within = [item for item in self.ws.items.all() if _in(item, scope)]
        return [*blocks, *_items(f"Items ({len(within):,})", [(item, item.kind) for item in within])]

    def _of_asker(self, sees: Visibility | None) -> list[Block]:
        assert sees is not None
        seen = self.ws.scopes.seen_by(sees.audience)
        blocks: list[Block] = [
            Spans(((asker_name(sees.audience), "heading"),), 2),
            Body(f"Sees {sees.number:,} of {counted(sees.total, 'item')}. {self.key_of('asker')} asks as them.", "dim"),
            Heading("Through which layer"),
            *(Field(name, f"{number:,}") for name, number in sees.by_layer.items()),
            Heading("Of which scopes"),
            *(Field(name, f"{number:,}") for name, number in sees.by_scope.items()),
        ]
        return [*blocks, *_items("What is seen", [(item, layer) for item, layer in seen])]

    # Elsewhere

    def open_row(self, row: ScopeRowPlace) -> None:
        """Enter: to the item, to the items of the scope, or to Recall as who asks."""
        if row.leak is not None:
            self.console.go("items", row.leak.item.id)
        elif row.scope is not None:
            show_filtered(self.console, "items", f'scope:"{row.name}"')
        else:
            self.do_asker()

    def do_open(self) -> None:
        """Enter in the detail leads where it leads in the list."""
        row = self.table.cursor_row
        if row is not None:
            self.open_row(row)

    def do_asker(self) -> None:
        """Ask Recall as the chat or person at the cursor."""
        row = self.table.cursor_row
        if row is None:
            return
        audience = row.sees.audience if row.sees is not None else _asker_of(_scope_of(row))
        if audience is None:
            say(self, "Every chat sees that: choose who asks, with the cursor on a chat or a person", "warning")
            return
        ask_recall(self.console, audience)

    def do_split(self) -> None:
        """Move or copy what leaks, or all that a scope holds, to another scope."""
        rows = self.targets()
        ids = list(dict.fromkeys(key for row in rows for key in self._ids(row)))
        if not ids:
            raise BadInput("there is no item to move", rows[0].name if rows else "", "put the cursor on a leak")
        belongs = {row.leak.belongs for row in rows if row.leak is not None}
        whose = one_line(rows[0].name, 40) if len(ids) == 1 else counted(len(ids), "item")
        ask_where(self, ids, whose, belongs.pop() if len(belongs) == 1 else "")

    def _ids(self, row: ScopeRowPlace) -> list[str]:
        if row.leak is not None:
            return [row.leak.item.id]
        if row.scope is None:
            return []
        return [item.id for item in self.ws.items.all() if _in(item, row.scope.scope)]


def asker_name(audience: Audience) -> str:
    """Who asks, as it is typed on Recall: the chat and the sender; a person in no chat as `telegram:@ana`."""
    if audience.chat_id is None:
        return f"{audience.channel}:@{audience.sender_id}"
    chat = f"{audience.channel}:{audience.chat_id}"
    return f"{chat} {audience.sender_id}" if audience.sender_id else chat


def _of_kind(kind: str, title: str, priority: int) -> Column[ScopeRowPlace]:
    return Column(kind, title, lambda row: _count(row, kind), width=5, priority=priority, align="right", tone="dim")


def _count(row: ScopeRowPlace, kind: str) -> str:
    number = row.scope.kinds.get(kind, 0) if row.scope is not None else 0
    return f"{number:,}" if number else ""


def _scope_of(row: ScopeRowPlace) -> Scope:
    assert row.leak is not None or row.scope is not None
    return scope_of_item(row.leak.item) if row.leak is not None else cast("ScopeRow", row.scope).scope


def _asker_of(scope: Scope) -> Audience | None:
    """Who sees a scope and nothing else of its kind."""
    return None if scope.channel is None else Audience(scope.channel, scope.chat_id, scope.sender_id)


def _in(item: Item, scope: Scope) -> bool:
    """Whether an item is of a scope; what every chat sees is one, whichever key it has."""
    if item.scope_type != scope.scope_type:
        return False
    if scope.scope_type != "global" or scope.scope_key.startswith("channel:"):
        return item.scope_key == scope.scope_key
    return not item.scope_key.startswith("channel:")


def _items(title: str, rows: Sequence[tuple[Item, str]]) -> list[Block]:
    lines = [
        Spans(((f"{one_line(word, 10):<11}", "dim"), (one_line(item.text, 200), "")), 11)
        for item, word in rows[:SHOWN]
    ]  # fmt: skip
    return [Heading(title), *lines, *_more(len(rows))] if rows else []


def _more(number: int) -> list[Block]:
    return [Body(f"… and {number - SHOWN:,} more", "dim")] if number > SHOWN else []


# Moving or copying items to another scope: a dialog with the known scopes, a look at what stands in the way, one
# operation.


class Way(NamedTuple):
    """Where items may go, and how: moved or copied. `why`: a word on that scope."""

    verb: Verb
    scope: Scope
    why: str = ""

    @property
    def id(self) -> str:
        """The words by which it is found: `move to telegram:42`."""
        return f"{self.verb} to {self.scope.name}"


def ask_where(screen: WorkspaceScreen[Any], ids: Sequence[str], whose: str, belongs: str = "") -> None:
    """Ask to which scope the items go, and take them there. `belongs`: the name of the scope that is listed first."""

    async def chosen(way: Way | None) -> None:
        if way is not None:
            await _go(screen, ids, way)

    screen.ask(_dialog(lambda: screen.ws, f"Move or copy {whose}", belongs), chosen)


def _dialog(ws: Callable[[], Workspace], title: str, belongs: str) -> PickScreen[Way]:
    def load() -> list[Way]:
        space = ws()
        scopes = space.scopes.all_scopes()
        first = [space.scopes.named(belongs)] if belongs else []
        rest = [scope for scope in scopes if scope.scope_key not in {one.scope_key for one in first}]
        ways = [Way("move", scope, "where it belongs") for scope in first]
        ways += [Way("move", scope, scope.words) for scope in rest]
        return ways + [Way("copy", scope, scope.words) for scope in (*first, *rest)]

    def typed(text: str) -> Way | None:
        verb, name = _parted(text)
        try:
            scope = parse_scope(name, ws().id)
        except BadInput:
            return None
        return Way(verb, scope, scope.words)

    columns: list[Column[Way]] = [
        Column("way", "To", lambda way: way.id, min_width=24),
        Column("why", "Who sees it", lambda way: way.why, width=30, priority=1, tone="dim"),
    ]
    return PickScreen(title, columns, lambda way: way.id, lambda way: way.id, load, typed=typed, hint=HINT)


def _parted(text: str) -> tuple[Verb, str]:
    """How and where, of what was typed: `copy telegram:42`, `move to global`, or the scope alone."""
    words = text.split()
    verb: Verb = "copy" if words[:1] == ["copy"] else "move"
    words = words[1:] if words[:1] in (["copy"], ["move"]) else words
    return verb, " ".join(words[1:] if words[:1] == ["to"] else words)


async def _go(screen: WorkspaceScreen[Any], ids: Sequence[str], way: Way) -> None:
    """Do it at once; after a look at it where it is many items, or where something stands in the way."""
    plan: Plan = await screen.console.in_thread(lambda ws: ws.scopes.plan(ids, way.scope, way.verb))
    merge = bool(plan.mergeable) and way.verb == "move"

    async def do(_yes: bool = True) -> None:
        def work(ws: Workspace) -> Operation:
            if way.verb == "copy":
                return ws.scopes.copy(ids, way.scope)[0]
            return ws.scopes.move(ids, way.scope, merge=merge)[0]

        for operation in await screen.change(work):
            say(screen, f"{one_line(operation.label, SAID)} (u undoes it)")
        screen.table.clear_selection()

    if not plan.notes and len(plan.goes) <= MANY:
        await do()
        return
    number = len(plan.goes) + (len(plan.mergeable) if merge else 0)
    title = f"{way.verb.capitalize()} {counted(number, 'item')} to {plan.scope.name}"
    refused = "" if number else f"Nothing can go: {'; '.join(plan.notes)}."
    screen.confirm(title, _blocks(plan, merge=merge), do, opened_by=screen.key_of("split"), refused=refused)


def _blocks(plan: Plan, *, merge: bool) -> list[Block]:
    blocks: list[Block] = [
        Spans(((f"{plan.verb}   ", "good"), (one_line(row.text, 160), "")), 7) for row in plan.goes[:LISTED]
    ]
    if len(plan.goes) > LISTED:
        blocks.append(Body(f"… and {len(plan.goes) - LISTED:,} more", "dim"))
    merged = plan.mergeable if merge else ()
    for duplicate in merged[:LISTED]:
        text = one_line(duplicate.there.text, 120)
        blocks.append(
            Spans((("merge  ", "accent"), (text, ""), (f"  into {duplicate.there.id}, with its hits", "dim")), 7)
        )
    others = [duplicate for duplicate in plan.duplicates if duplicate not in merged]
    for duplicate in others[:LISTED]:
        text = one_line(duplicate.item.text, 120)
        blocks.append(Spans((("stays  ", "warn"), (text, ""), (f"  {one_line(duplicate.why, 100)}", "dim")), 7))
    if len(others) > LISTED:
        blocks.append(Body(f"… and {len(others) - LISTED:,} more stay", "dim"))
    blocks += [Body(f"{note[:1].upper()}{note[1:]}.", "warn") for note in plan.notes if not note.startswith("stays: ")]
    return blocks
