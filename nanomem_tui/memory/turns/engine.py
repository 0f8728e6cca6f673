"""The engine that an agent calls on every turn: `begin_turn` gives the block of memory, `end_turn` keeps what came.

Owns the order of a turn. At its begin: the input is checked, the turn log gets its PRE block, then the block is made
and logged. At its end: one operation with everything that is kept, then the POST block, the transcript, counters and
expiry. A turn that the agent declines leaves nothing. `keeping` decides what is kept, `prompt` how a block looks.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from datetime import tzinfo
from types import MappingProxyType
from typing import TYPE_CHECKING

from nanomem_tui.agents.turn_log import MAX_ACTIONS, parse_wal
from nanomem_tui.core import clock
from nanomem_tui.core.errors import (
    AccessDenied,
    BadInput,
    DiskFull,
    NanomemError,
    NotFound,
    NothingToDo,
    Problem,
    StoreError,
)
from nanomem_tui.core.files import read_file
from nanomem_tui.core.operations import Operation, new_key
from nanomem_tui.core.settings import OFF, Settings
from nanomem_tui.core.text import one_line
from nanomem_tui.language import corrections, dates, message, secrets
from nanomem_tui.memory import lessons as memory_lessons
from nanomem_tui.memory import retention
from nanomem_tui.memory.recall import recall as recall_recall
from nanomem_tui.memory.recall import said_on
from nanomem_tui.memory.recall.recall import CutItem, Question, Recall
from nanomem_tui.memory.safety import same_words
from nanomem_tui.memory.transfer import backfill
from nanomem_tui.memory.turns import prompt
from nanomem_tui.memory.turns.prompt import Exchange, NotesHeader, WorkingMemory, from_messages, from_state
from nanomem_tui.memory.turns.request import (
    MAX_PROBLEMS,
    Begun,
    Dropped,
    Ended,
    Spent,
    TurnEnd,
    TurnInput,
    same_chat,
    same_message,
)
from nanomem_tui.memory.turns.traces import Injected, Traces, WalWriter, state_folder
from nanomem_tui.memory.turns.turn_operation import PreviousTurn, TurnPlanner, redact_begin, redact_end
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Hit

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.excerpts import Excerpt, ExcerptSearch


# The turns that began and did not end yet: those of this process, and those of the injection log of others.

PENDING_LIMIT = 20
"""Pending items that are kept for a session."""
OPEN_TURNS = 1_000
"""Turns that began here and are remembered until they end."""


class OpenTurns:
    """The open turns of one workspace."""

    def __init__(self, store: MemoryStore, traces: Traces, wal: WalWriter | None) -> None:
        self._store = store
        self._traces = traces
        self._wal = wal
        self._open: OrderedDict[str, tuple[TurnInput, Begun]] = OrderedDict()

    def add(self, given: TurnInput, begun: Begun) -> None:
        """A turn began here."""
        self._open[begun.turn] = (given, begun)
        if len(self._open) > OPEN_TURNS:
            self._open.popitem(last=False)

    def remove(self, turn: str) -> None:
        """A turn ended, whoever began it."""
        self._open.pop(turn, None)

    def find(self, end: TurnEnd) -> tuple[TurnInput, Begun]:
        """Return the turn that ends: by its id here or in the log, or the last open one of the described message."""
        known = self._open.get(end.turn) or (self._described(end.input) if not end.turn and end.input else None)
        if known is not None:
            self._check_open(known[1].turn, known[0].state_key, self._traces.injections.get(known[1].turn))
            same_chat(end, known[0])
            began = known[0]
            return (end.input._replace(at=began.at, said_on=began.said_on) if end.input else began), known[1]
        logged = self._traces.injections.get(end.turn) if end.turn else self._logged(end.input)
        if logged is None:
            self._traces.injections.check()
            raise NotFound("no such turn", end.turn or "it never began", "give the id that its begin printed")
        self._check_open(logged.turn, logged.state_key, logged)
        rows = self._store.load("item")
        self._store.refresh()  # it began in another process, with rows that may be new to this one
        hits = (Hit(rows.items[key], 0.0, {}) for key in logged.items if key in rows.items)
        lessons = (rows.lessons[key] for key in logged.lessons if key in rows.lessons)
        began = TurnInput(
            logged.session_key, logged.channel, logged.chat_id, logged.sender_id, logged.message_id or "",
            logged.speaker or "user", logged.user,
        )  # fmt: skip
        same_chat(end, began)
        given = (end.input or began)._replace(at=logged.at, said_on=logged.said_on)
        return given, Begun(logged.turn, "", tuple(hits), tuple(lessons))

    def _check_open(self, turn: str, state_key: str, logged: Injected | None) -> None:
        if closed := self._closed(turn, state_key, logged):
            self.remove(turn)
            what, at = closed
            raise NothingToDo(what, turn, f"at {at}" if at else "")

    def _closed(self, turn: str, state_key: str, logged: Injected | None) -> tuple[str, str] | None:
        """Return how and when (UTC ISO) a turn was closed in any process; None while it is open."""
        if logged is not None and logged.declined_at:
            return "that turn was declined", logged.declined_at
        if logged is not None and logged.ended_at:
            return "that turn has ended", logged.ended_at
        if self._wal is not None and state_key and self._wal.has_end(state_key, turn):
            return "that turn has ended", ""
        return None

    def _described(self, given: TurnInput | None) -> tuple[TurnInput, Begun] | None:
        """Return the last open turn of this process that began with this message."""
        for began, shown in reversed(self._open.values()):
            if given is None or not same_message(given, began.state_key, began.message_id, began.text):
                continue
            if not self._closed(shown.turn, began.state_key, self._traces.injections.get(shown.turn)):
                return began, shown
        return None

    def _logged(self, given: TurnInput | None) -> Injected | None:
        for turn in self._traces.injections.turns(OPEN_TURNS):
            if (
                given is not None
                and same_message(given, turn.state_key, turn.message_id or "", turn.user)
                and not self._closed(turn.turn, turn.state_key, turn)
            ):
                return turn
        return None


Keep = Callable[[Operation, bool], Operation]
"""Performs an operation; True: it is acknowledged only once it survives a power cut."""


class Engine:
    """The turns of one workspace. Every method may be called from any thread; turns are taken one at a time."""

    def __init__(
        self,
        store: MemoryStore,
        settings: Settings,
        recall: Recall,
        keep: Keep,
        traces: Traces,
        compact_session: Callable[[str], object] = lambda _key: None,
        reach: Callable[[], ExcerptSearch] | None = None,
    ) -> None:
        """`compact_session`: cuts a full transcript of ours; `reach`: gives excerpts of conversations, or None."""
        self._store = store
        self._settings = settings
        self._recall = recall
        self._keep = keep
        self._compact_session = compact_session
        self._reach = reach
        self.traces = traces
        self._planner = TurnPlanner(store, settings, traces.pending)
        folder = state_folder(store.paths, settings.wal_state_dir)
        self._wal = WalWriter(folder) if settings.wal_enabled else None
        self.working = WorkingMemory(settings.short_term_turns, PENDING_LIMIT, self._restore)
        self._open = OpenTurns(store, traces, self._wal)
        self._lock = threading.RLock()
        self._filled = False
        self._notes = NotesHeader(store.paths)
        self._problems: list[Problem] = []

    # -- the beginning --------------------------------------------------------------------------------------------

    def begin_turn(self, given: TurnInput) -> Begun:
        """Write the PRE block and make the block of memory; `problem` says where nothing can be written."""
        if not self._settings.memory_enabled:
            return Begun("", problem=OFF)
        with self._lock:
            self._ready()
            given = self._dated(given)
            turn = new_key("turn")
            self._catch_up(given.state_key)
            told, problem = self._for_traces(given)
            problem = self._traced(lambda: self._pre(told, turn)) or problem
            self._first()
            begun = self._block(turn, given, _question(given))
            problem = self._traced(lambda: self.traces.injections.began(self._injected(told, begun))) or problem
            begun = begun._replace(problem=problem)
            self.working.began(given.state_key, given.at, given.speaker, told.text, turn, given.sender_id or "")
            self._left(given.state_key)
            self._open.add(given, begun)
            self._count_begin(begun)
            return begun

    def preview(self, given: TurnInput, *, limit: int | None = None, max_chars: int | None = None) -> Begun:
        """Return the block that a turn would get, without any trace of it."""
        return self._answer_block(given, _question(given)._replace(limit=limit, max_chars=max_chars))

    def ask(self, question: Question) -> Begun:
        """Return the block for anybody's question, by any profile and weights, without a trace."""
        channel, chat_id, sender_id = question.audience
        key = f"{channel}:{chat_id}" if channel and chat_id else ""
        given = TurnInput(key, channel, chat_id, sender_id, text=question.text, reply_text=question.reply_to)
        return self._answer_block(given, question)

    def _answer_block(self, given: TurnInput, question: Question) -> Begun:
        if not self._settings.memory_enabled:
            return Begun("", problem=OFF)
        with self._lock:
            self._ready()
            return self._block("", given, question)

    def _ready(self) -> None:
        self._store.load("item")
        self._store.refresh()

    def _first(self) -> None:
        """Before the first turn of all: what was written into Markdown before there was a store becomes items."""
        if not self._filled:
            self._filled = True
            store, perform = self._store, self._durably
            self._try("the backfill", lambda: backfill.run_once(store, store.paths, self._settings, perform))

    def _dated(self, given: TurnInput) -> TurnInput:
        """A turn with its time, and the day in the zone in which it was said; one to come counts as now."""
        at = given.at or clock.iso(clock.now())
        is_past = clock.iso(clock.past_time(at)) == at
        day = given.said_on if given.said_on and is_past else said_on.day_of_time(at, self.zone)
        return given._replace(at=at, said_on=day)

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the agent's configuration, in which a day is meant where nothing else tells."""
        return said_on.agent_zone(self._store.paths)

    def _for_traces(self, given: TurnInput) -> tuple[TurnInput, str]:
        """A turn as its traces may have it; without its words, and why, where what is forgotten cannot be read."""
        try:
            return redact_begin(given, self._store.paths), ""
        except NanomemError as error:
            return given._replace(text=""), f"the words of this turn leave no trace: {error.line()}"

    def _traced(self, work: Callable[[], object]) -> str:
        """Leave a trace of a turn; why that was not possible, or nothing."""
        try:
            work()
        except BadInput:
            raise
        except NanomemError as error:
            return f"no trace of this turn can be kept, nor will its end: {error.line()}"
        return ""

    def _durably(self, operation: Operation) -> Operation:
        return self._keep(operation, True)

    def _pre(self, given: TurnInput, turn: str) -> None:
        if self._wal is not None:
            fields = {
                "speaker": given.speaker,
                "sender_id": given.sender_id,
                "message_id": given.message_id,
                "media": ", ".join(given.media),
                "user": given.text,
                "reply_to_message_id": given.reply_message_id,
                "reply_to_participant": given.reply_participant,
            }
            written = {name: value for name, value in fields.items() if value or name == "user"}
            where = (given.state_key, given.channel or "", given.chat_id or "", given.at)
            self._wal.pre(*where, written, turn)  # type: ignore[arg-type]

    def _block(self, turn: str, given: TurnInput, question: Question) -> Begun:
        budget = self._settings.recall_max_prompt_chars if question.max_chars is None else question.max_chars
        found = self._recall.ask(question)
        related = self._recall.related(question, found)
        rows = list(self._store.snapshot.lessons.values())
        lessons = memory_lessons.rank(rows, given.text, self._settings, clock.now(), session_key=given.state_key)
        turns = self._former_exchanges(given) if given.session_key else ()
        pending = self._pending(given) if given.session_key else ()
        beyond = self._beyond_window(given, turns) if given.session_key else ()
        overruled = recall_recall.find_overruled((hit.item for hit in (*found.hits, *related)), lessons)
        items = [hit.item for hit in found.hits if hit.item.id not in overruled]
        made = prompt.memory_block(
            items,
            lessons,
            "" if "notes" in given.leave_out else self._notes.read(),
            () if "turns" in given.leave_out else [self._resolved(one) for one in turns],
            () if "pending" in given.leave_out else pending,
            max_chars=budget,
            context_chars=prompt.CONTEXT_CHARS,
            related=[hit.item for hit in related if hit.item.id not in overruled],
            excerpts=prompt.Excerpts([excerpt.line for excerpt in beyond]),
            zone=self.zone,
        )
        left = {item.id for item in made.left_out}
        kept = [hit for hit in found.hits if hit.item.id not in left and hit.item.id not in overruled]
        why = f"over the budget of {budget} characters"
        cut = [CutItem(hit, why) for hit in found.hits if hit.item.id in left]
        cut += [CutItem(hit, overruled[hit.item.id]) for hit in found.hits if hit.item.id in overruled]
        cuts = (*cut, *found.cut)
        begun = Begun(turn, made.text, tuple(kept), made.lessons, turns, pending, cuts, found)
        near = tuple(hit for hit in related if hit.item in made.related)
        spent = {
            "memory": Spent(made.memory_chars, budget),
            "context": Spent(made.context_chars, prompt.CONTEXT_CHARS),
        }
        begun = begun._replace(budget=MappingProxyType(spent), zone=self.zone)
        told = tuple(excerpt for excerpt in beyond if excerpt.line in made.excerpts)
        return begun._replace(clipped=given.clipped, problems=given.problems, related=near, older=told)

    def _beyond_window(self, given: TurnInput, window: Sequence[Exchange]) -> Sequence[Excerpt]:
        """Return earlier turns with a bearing on the message; none where they cannot be read."""
        found: list[Excerpt] = []
        if self._reach is not None and "older" not in given.leave_out:
            reach, replays = self._reach(), "turns" in given.leave_out
            asked = (given.text, given.audience, given.session_key, window)
            self._try("earlier turns", lambda: found.extend(reach.beyond_window(*asked, replays=replays)))
        return found

    def _resolved(self, turn: Exchange) -> Exchange:
        """A turn with the date behind each relative one in its words, from the day in the zone in which it was said."""
        logged = self.traces.injections.get(turn.turn) if turn.turn else None
        day = (logged.said_on if logged else "") or (said_on.day_of_time(turn.at, self.zone) if turn.at else "")
        answer = None if turn.assistant is None else dates.annotated(turn.assistant, day)
        return turn._replace(user=dates.annotated(turn.user, day), assistant=answer)

    def _former_exchanges(self, given: TurnInput) -> tuple[Exchange, ...]:
        known = self.working.turns(given.state_key)
        marked = (one._replace(answer_checked=one.answer_checked and not self._echoes(one)) for one in known)
        return tuple(prompt.retell(one, given.audience, self._settings, self._store.workspace_id) for one in marked)

    def _echoes(self, turn: Exchange) -> bool:
        logged = self.traces.injections.get(turn.turn) if turn.turn else None
        return logged is not None and logged.echoes

    def _pending(self, given: TurnInput) -> tuple[str, ...]:
        key, logged = given.state_key, self.traces.injections.get
        waits, place = self.traces.pending.waiting_in(key), (given.audience, self._settings, self._store.workspace_id)
        recovered = prompt.unanswered(waits, lambda turn: ((one := logged(turn)) and one.sender_id) or "", *place)
        waiting = (*recovered, *self.working.pending(key))[-PENDING_LIMIT:]
        return tuple(map(prompt.plain_unjudged, waiting))

    def _injected(self, given: TurnInput, begun: Begun) -> Injected:
        return Injected(
            turn=begun.turn,
            at=given.at,
            session_key=given.session_key,
            channel=given.channel,
            chat_id=given.chat_id,
            sender_id=given.sender_id,
            message_id=given.message_id or None,
            speaker=given.speaker,
            user=given.text if self._wal is not None else "",
            items=tuple(hit.item.id for hit in begun.block_hits),
            related=tuple(hit.item.id for hit in begun.related),
            lessons=tuple(lesson.id for lesson in begun.lessons),
            chars=len(begun.block),
            said_on=given.said_on,
            older=tuple(excerpt.id for excerpt in begun.older),
        )

    def _count_begin(self, begun: Begun) -> None:
        count = self.traces.counters.add
        count("turns_begun")
        count("memory_recall_hit" if begun.hits else "memory_recall_miss")
        count("memory_prompt_chars", len(begun.block))
        count("lessons_shown", len(begun.lessons))

    # -- the end --------------------------------------------------------------------------------------------------

    def end_turn(self, end: TurnEnd) -> Ended:
        """Keep what came of a turn."""
        if not self._settings.memory_enabled:
            return Ended(end.turn, dropped=_drop_all(end, OFF), problems=(OFF,))
        with self._lock, self.traces.injections.ending():
            given, shown = self._open.find(end)
            if end.declined:
                return self._declined(end, given, shown.turn)
            self._ready()
            self._catch_up(given.state_key)
            end = self._with_todos(end, given)
            told = redact_end(end, self._store.paths), redact_begin(given, self._store.paths)
            ended = self._keep_turn(end, given, shown)
            self._open.remove(shown.turn)
            problems = (*end.problems, *ended.problems, *self._after(*told, ended))
            self._left(given.state_key)
            return ended._replace(clipped=end.clipped, problems=problems, counters=self.traces.counters.read())

    def whole_turn(self, end: TurnEnd) -> Ended:
        """A turn that is told when it is over: nothing was put before the model."""
        given = end.input
        if given is None:
            raise NotFound("no such turn", end.turn, "give the fields of its begin")
        if not self._settings.memory_enabled:
            return Ended("", dropped=_drop_all(end, OFF), problems=(OFF,))
        with self._lock:
            if end.declined:
                return self._declined(end, given, "")
            self._ready()
            given = self._dated(given)
            shown = Begun(new_key("turn"))
            self._catch_up(given.state_key)
            told = redact_begin(given, self._store.paths)
            self._pre(told, shown.turn)
            self._left(given.state_key)
            self._first()
            self.traces.injections.began(self._injected(told, shown))
            self.traces.counters.add("turns_begun")
            self._open.add(given, shown)
            return self.end_turn(end._replace(turn=shown.turn))

    def _declined(self, end: TurnEnd, given: TurnInput, turn: str) -> Ended:
        """Nothing of a turn that the agent declined stays, but that it is counted."""
        self.traces.counters.add("turns_declined")
        if turn:
            self._open.remove(turn)
            self._try("the injection log", lambda: self.traces.injections.declined(turn, clock.iso(clock.now())))
            self.working.forget(given.state_key, given.at, turn)
            if self._wal is not None:
                wal, where = self._wal, (given.state_key, given.channel or "", given.chat_id or "", given.at, turn)
                self._try("the session state", lambda: wal.take_back(*where))
                self._left(given.state_key)
        lost = [name for name in ("pending_actions", "done_actions") if getattr(end, name)]
        problems = (*end.problems, *(f"{name} of a declined turn are not kept" for name in lost))
        dropped = (Dropped(given.text, "the agent declined the turn"),) if given.text else ()
        return Ended(
            turn, dropped=dropped, counters=self.traces.counters.read(), clipped=end.clipped, problems=problems
        )

    def _keep_turn(self, end: TurnEnd, given: TurnInput, shown: Begun) -> Ended:
        """One operation with all that is kept; nothing in between changes the rows it starts from."""
        with self._store.snapshot.lock:
            kept = self._planner.plan(end, given, shown, self._before(given, shown))
            if kept.operation is None:
                return kept.ended
            try:
                done = self._keep(kept.operation, kept.durable)
            except (StoreError, DiskFull, AccessDenied) as error:
                if not self._store.stays:
                    raise
                self._store.hold(kept.operation)
                waits = f"{error.what}: what this turn keeps waits in RAM until it can be written"
                return kept.ended._replace(problems=(*kept.ended.problems, waits))
            if not done.id:
                return kept.ended
            self.traces.counters.add("ledger_operations")
            self.traces.counters.add("ledger_durable", int(kept.durable))
            return kept.ended._replace(operation=done.id)

    def _with_todos(self, end: TurnEnd, given: TurnInput) -> TurnEnd:
        """Return the end with to-dos that the message asks for or calls done, relative dates resolved."""
        waits = tuple(dates.annotated(item, given.said_on) for item in end.pending_actions)
        end = end._replace(pending_actions=waits)
        if given.speaker == prompt.SYSTEM:
            return end
        asked = dates.annotated(message.asked(given.text), given.said_on)
        told = any(same_words(item) in same_words(asked) for item in end.pending_actions)  # by the agent
        recovered = (one.text for one in self.traces.pending.waiting_in(given.state_key))
        done = message.finished(given.text, (*recovered, *self.working.pending(given.state_key)))
        return end._replace(
            pending_actions=(*end.pending_actions, *([asked] if asked and not told else [])),
            done_actions=(*end.done_actions, *([done] if done and done not in end.done_actions else [])),
        )

    def _before(self, given: TurnInput, shown: Begun) -> PreviousTurn:
        """Return the turn that ended before this one in its session."""
        turns = [turn for turn in reversed(self.working.turns(given.state_key)) if turn.turn != shown.turn]
        ended = [turn for turn in turns if turn.assistant is not None]  # None: it is still open
        said = bool(ended) and not corrections.says_nothing(ended[0].assistant or "")
        lessons = self.traces.injections.lessons_before(given.state_key, shown.turn) if said else ()
        last = next((turn for turn in ended if turn.assistant), None)
        if last is None:
            return PreviousTurn("", lessons)
        return PreviousTurn(last.assistant or "", lessons, self._echoes(last))

    def _after(self, end: TurnEnd, given: TurnInput, ended: Ended) -> list[str]:
        """Write what follows the acknowledged operation; return what had no effect."""
        now = clock.iso(clock.now())
        fell = self.working.add_pending(given.state_key, end.pending_actions)
        done = self.working.done(given.state_key, end.done_actions)
        self._try("the session state", lambda: self._post(end, given, now, ended.turn, done))
        came = ([kept.item.id for kept in ended.saved], ended.learned, [held.item.id for held in ended.quarantined])
        results = [tool.error or tool.result for tool in end.tools]
        results += [one.assistant or "" for one in self.working.turns(given.state_key) if self._echoes(one)]
        said_again = bool(results) and prompt.repeats_tool_result(end.assistant, results, given.text)
        log = self.traces.injections
        self._try("the injection log", lambda: log.ended(ended.turn, now, *came, echoes=said_again))
        who = (given.speaker, given.text, ended.turn, given.sender_id or "")
        self.working.ended(given.state_key, given.at, end.assistant, *who)
        self._try("the session", lambda: self._transcript(end, given))
        self._count_end(ended)
        self._try("hygiene", self._hygiene)
        self._try("the counters", self.traces.counters.save)
        recovered = self.traces.pending
        unknown = (one for one in end.done_actions if one not in done and not recovered.is_told(given.state_key, one))
        limit = PENDING_LIMIT
        told = [f"pending_actions: kept are {limit}, this fell out: {one_line(one, 80)}" for one in fell]
        told += [f"done_actions: nothing like this was pending: {one_line(secrets.mask(one), 80)}" for one in unknown]
        return told[:MAX_PROBLEMS]

    def _post(self, end: TurnEnd, given: TurnInput, now: str, turn: str, done: Sequence[str]) -> None:
        """The POST block; what was pending here comes first of what is done, the rest may be so in another process."""
        if self._wal is not None:
            answer = end.assistant if end.assistant.strip() else None
            told = tuple(dict.fromkeys((*done, *end.done_actions)))
            kept = end.pending_actions[-max(PENDING_LIMIT, MAX_ACTIONS) :]
            self._wal.post(given.state_key, now, answer, kept, turn, told)

    def _transcript(self, end: TurnEnd, given: TurnInput) -> None:
        sessions = self.traces.sessions
        if sessions is None:
            return
        session = sessions.get_or_create(given.session_key)
        moment = clock.parse(given.at) or clock.now()
        fields = {
            name: value for name, value in (("sender_id", given.sender_id), ("media", list(given.media))) if value
        }
        session.add_message(given.speaker if given.speaker == "system" else "user", given.text,
                            timestamp=clock.local_naive(moment), **fields)  # fmt: skip
        for number, tool in enumerate(end.tools):
            key = f"{given.at}-{number}"
            call = {"id": key, "type": "function", "function": {"name": tool.name, "arguments": tool.arguments or "{}"}}
            session.add_message("assistant", "", tool_calls=[call])
            session.add_message("tool", tool.error or tool.result, tool_call_id=key, name=tool.name)
        if end.assistant.strip():
            session.add_message("assistant", end.assistant)
        session.save()
        if session.is_full:
            self._compact_session(session.key)
            session.was_compacted()
            self.traces.counters.add("sessions_compacted", 1)

    def _hygiene(self) -> None:
        retention.prune_hourly(self._store, self._settings, None, lambda operation: self._keep(operation, False))

    def _count_end(self, ended: Ended) -> None:
        count = self.traces.counters.add
        kinds = Counter(dropped.kind for dropped in ended.dropped)
        count("turns_ended")
        count("memory_capture_saved", sum(not kept.merged for kept in ended.saved))
        count("memory_capture_deduped", sum(kept.merged for kept in ended.saved) + kinds["known"])
        kept_back = sum(held.is_unsafe for held in ended.quarantined)
        count("memory_capture_dropped_safety", kinds["safety"] + kept_back)
        count("memory_capture_dropped_low_conf", kinds["weak"])
        count("lessons_learned", sum(taught.is_change for taught in ended.lessons))

    def _try(self, what: str, work: Callable[[], object]) -> None:
        """Do a step that may fail without failing the turn; what went wrong is a problem."""
        try:
            work()
        except NanomemError as error:
            self._problems = [*self._problems[-19:], Problem(f"{what}: {error.what}", error.where, fix=error.fix)]

    def problems(self) -> list[Problem]:
        """Return what went wrong beside turns that were taken."""
        return list(self._problems)

    # -- after a restart ------------------------------------------------------------------------------------------

    def _catch_up(self, session_key: str) -> None:
        if self._wal is not None:
            self.working.catch_up(session_key, self._wal.stamp(session_key))

    def _left(self, session_key: str) -> None:
        if self._wal is not None:
            self.working.left(session_key, self._wal.stamp(session_key))

    def _restore(self, session_key: str) -> tuple[list[Exchange], list[str]]:
        """Working memory of a session from its state file, else from its transcript."""
        if self._wal is not None:
            path = self._wal.file(session_key)
            if path.is_file():
                state = parse_wal(read_file(path), path.name)
                return from_state(state, self._settings.short_term_turns, PENDING_LIMIT)
        sessions = self.traces.sessions
        if sessions is None or not sessions.get_or_create(session_key).path.is_file():
            return [], []
        messages = sessions.get_or_create(session_key).read().messages
        return from_messages(messages, self._settings.short_term_turns), []


def _drop_all(end: TurnEnd, why: str) -> tuple[Dropped, ...]:
    return (Dropped(end.input.text, why),) if end.input is not None else ()


def _question(given: TurnInput) -> Question:
    return Question(given.text, given.reply_text, given.audience, session_key=given.session_key)
