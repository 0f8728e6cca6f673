"""Facts out of dialogue (seed 003 `crystallize`): proposed with their evidence, compared with what is known, kept.

Owns what becomes of a proposal: whether it is new, known, or contradicts; in which scope; whether a person has to look
first; that a run is one operation, and that the place up to which sessions were read moves only after it. One run at a
time. Must not know how a proposal is found, nor how a person is asked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from nanomem_tui.agents.layout import zone_of
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import BadInput, InvalidConfig, NanomemError, Refused, shown_error
from nanomem_tui.core.schedule import cron_next
from nanomem_tui.core.settings import OFF
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.facts import dialogue as dialogues
from nanomem_tui.memory.facts import proposals
from nanomem_tui.memory.facts.dialogue import Dialogue, Place
from nanomem_tui.memory.facts.facts import FactValue
from nanomem_tui.memory.facts.proposals import KIND, MAX_VALUE, Judged, Over, Proposal, refusal
from nanomem_tui.model.client import Usage

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Actor, Operation
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.memory.facts.extract import Extracted
    from nanomem_tui.memory.facts.facts import Facts as facts_Facts
    from nanomem_tui.memory.sessions.sessions import Sessions
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.values import Fact


MARKER = "crystallize:v1"
SOURCE = "crystallized"
NAMES = ("rules", "model")
CONFIDENCE = {"rules": 0.9, "model": 0.8}
Answer = Literal["keep", "inbox", "reject", "leave"]


def _nobody(_step: str) -> None:
    """Nobody watches."""


class Plan(NamedTuple):
    """What a run would do. `judged`: every proposal with its verdict; those to decide on have a number, from 1.

    `refused`: what the extractor said and is no fact, with the reason; `left_out`: proposals of a message that a later
    one took the place of, told as such.
    """

    extractor: str
    dialogue: Dialogue
    judged: tuple[Judged, ...] = ()
    refused: tuple[tuple[Proposal, str], ...] = ()
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    over: tuple[Over, ...] = ()
    """Facts that are known and, as people say, are so no longer: that they go waits in the inbox."""

    @property
    def open(self) -> list[Judged]:
        """Those to decide on."""
        return [one for one in self.judged if one.number]

    @property
    def is_new(self) -> bool:
        """Whether anything is new: neither known nor waiting in the inbox."""
        return bool(self.over) or any(one.verdict != "waiting" for one in self.open)


class Decision(NamedTuple):
    """What is to become of a proposal; `value`: in other words of a person."""

    judged: Judged
    answer: Answer
    value: str | None = None


class Crystallized(NamedTuple):
    """What a run came to: the operation (None: nothing was to be kept), and by number what became of each proposal:
    the answer, and the id of the fact or of what waits."""

    plan: Plan
    operation: Operation | None = None
    done: Mapping[int, tuple[Answer, str]] = {}

    def number_of(self, answer: Answer) -> int:
        """How many of the proposals became that."""
        return sum(given == answer for given, _ in self.done.values())


class Crystallizer:
    """Facts out of the sessions of one workspace. `spent`: told what questions to a model took."""

    def __init__(
        self, store: MemoryStore, paths: Paths, sessions: Callable[[], Sessions], facts: facts_Facts,
        spent: Callable[[Usage], None],
    ) -> None:  # fmt: skip
        self._store = store
        self._paths = paths
        self._sessions = sessions
        self._facts = facts
        self._spent = spent

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs from going on at the same time, by a lock on the folder of the workspace, in which no file is
        made. Raises Refused when one does."""
        folder = self._paths.workspace
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not atomic.try_lock(handle):
                raise Refused("facts are being crystallized by another process", "", "wait for it to end")
            yield
        finally:
            os.close(handle)

    def places(self) -> dict[str, Place] | None:
        """How far each session was read; None: no run was made here. Raises the store's errors."""
        kept = self._store.marker(MARKER)
        if kept is None:
            return None
        try:
            return dialogues.places_of(json.loads(kept))
        except (ValueError, RecursionError):
            return None

    def plan(
        self,
        extractor: str | None = None,
        *,
        session: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        everything: bool = False,
        new_only: bool = False,
        ask_again: bool = False,
        watch: Callable[[str], None] = _nobody,
    ) -> Plan:
        """What a run would do: the last `limit` messages (default: the setting; `everything`: all) are read.

        `new_only`: those that no run read; `ask_again`: ask a model also about messages that it has read. Asks a model
        where the extractor is one, and writes nothing but its answers and what they took. Raises NotFound for a
        session, BadInput for an extractor, InvalidConfig, ModelError.
        """
        settings = self._store.settings
        name = extractor or settings.crystallize_extractor
        if name not in NAMES:
            raise BadInput(f"no extractor is called {name!r}", "--extractor", "rules or model")
        watch("reading sessions")
        found = dialogues.read(
            self._sessions(),
            settings.capture_channels,
            limit=None if everything else limit or settings.crystallize_messages,
            session=session,
            since=since,
            places=self.places(),
            new_only=new_only,
        )
        extracted = self._extracted(name, found, watch, again=ask_again)
        from nanomem_tui.memory.facts import extract

        ends = extract.over(found.told)
        judged, over = proposals.judged(extracted.proposals, found.told, self._store, self._facts, ends)
        return Plan(name, found, tuple(judged), extracted.refused, extracted.usage, extracted.notes, tuple(over))

    def keep(self, plan: Plan, decisions: Sequence[Decision], *, by_person: bool = True) -> Crystallized:
        """Do what was decided, as one operation, then move the places up to which sessions were read.

        A proposal that cannot be kept any more, because the fact changed meanwhile, goes to the inbox. What is left
        undecided stays to be read again. Raises BadInput for words of a person that can be no value (nothing is done
        then), and the store's errors.
        """
        self._store.see_others()
        values: list[FactValue] = []
        waits: list[tuple[Judged, str, bool]] = []
        done: dict[int, tuple[Answer, str]] = {}
        changed: dict[int, Judged] = {}
        for decision in decisions:
            one, answer = decision.judged, decision.answer
            if decision.value is not None and answer == "keep":
                changed[one.number] = one._replace(proposal=one.proposal._replace(value=decision.value.strip()))
            if answer == "keep" and not proposals.stands(one, self._facts):
                waits.append((one, "the fact was changed meanwhile", False))
                done[one.number] = ("inbox", proposals.waiting_id(one))
            elif answer == "keep":
                values.append(self._value(decision, plan, by_person=by_person))
                done[one.number] = ("keep", "")
            elif answer in ("inbox", "reject"):
                waits.append((one, one.why or one.unnamed or proposals.UNSEEN, answer == "reject"))
                done[one.number] = (answer, proposals.waiting_id(one))
            else:
                done[one.number] = ("leave", "")
        kept = [one.judged for one in decisions if done[one.judged.number][0] == "keep"]
        forgets = proposals.forgets(plan.over, self._store)
        changes = [*proposals.changes(waits, kept, self._store), *forgets]
        operation: Operation | None = None
        facts: list[Fact] = []
        if values or changes:
            actor: Actor = "human" if by_person else "dream"
            label = _label(len(values), done, len(forgets))
            operation, facts = self._facts.set_many(values, actor=actor, kind=KIND, label=label, beside=changes)
        for one in kept:
            done[one.number] = ("keep", _id_of(one, facts))
        if all(answer != "leave" for answer, _ in done.values()):
            self._move(plan.dialogue.places)
        judged = tuple(changed.get(one.number, one) for one in plan.judged)
        return Crystallized(plan._replace(judged=judged), operation, done)

    def by_itself(self, plan: Plan) -> Crystallized:
        """What a schedule does with a plan: keep what no person has to look at; the rest waits in the inbox, as does
        what waits there already."""
        held = {one.number for one in plan.open if one.why or one.unnamed or one.verdict == "waiting"}
        decisions = [Decision(one, "inbox" if one.number in held else "keep") for one in plan.open]
        return self.keep(plan, decisions, by_person=False)

    def _value(self, decision: Decision, plan: Plan, *, by_person: bool) -> FactValue:
        one, proposal = decision.judged, decision.judged.proposal
        value = proposal.value
        if decision.value is not None and decision.value != value:
            value = decision.value.strip()
            why = refusal(proposal._replace(value=value))
            if why:
                raise BadInput(
                    f"that can be no value: {why}", f"{proposal.key}", f"give at most {MAX_VALUE} characters"
                )
        return FactValue(
            proposal.category, proposal.key, value, proposal.domain or None, proposal.sub_category or None,
            scope_type=one.scope.type, channel=one.scope.channel, chat_id=one.scope.chat_id,
            sender_id=one.scope.sender_id, session_key=proposal.evidence.session_key,
            source_message_id=proposal.evidence.id, source_role="user",
            source=SOURCE if value == proposal.value else "manual", confidence=CONFIDENCE[plan.extractor],
            said_at=proposal.evidence.at if value == proposal.value else "",
            earlier=_earlier(one, plan, "human" if by_person else "dream"),
        )  # fmt: skip

    def _extracted(self, name: str, found: Dialogue, watch: Callable[[str], None], *, again: bool) -> Extracted:
        from nanomem_tui.memory.facts import extract

        if name == "rules":
            from nanomem_tui.memory.facts import extract

            return extract.Extracted(tuple(extract.proposals(found.told)))
        from nanomem_tui.model.client import ModelClient
        from nanomem_tui.model.settings import model_config

        try:
            config = extract.cooled(model_config(self._paths, self._store.settings))
        except InvalidConfig as error:
            raise InvalidConfig(error.what, error.where, error.fix.replace("--dreamer", "--extractor")) from None

        file = self._paths.data / FOLDER / f"{self._store.workspace_id}.json"
        kept = AnswersKept(file, config.model, extract.INSTRUCTIONS)
        return extract.ModelExtractor(ModelClient(config, self._spent), kept, again=again).extract(found.told, watch)

    def _move(self, places: Mapping[str, Place]) -> None:
        """Keep how far the sessions are read. A failure is no failure of the run: they are read again."""
        known = self.places()
        after = {**(known or {}), **places}
        if after == known or not (after or self._store.has_database):
            return
        kept: dict[str, Any] = {key: place.to_json() for key, place in sorted(after.items())}
        with contextlib.suppress(NanomemError):
            self._store.set_marker(MARKER, json.dumps(kept, ensure_ascii=False))


def _earlier(one: Judged, plan: Plan, actor: Actor) -> tuple[dict[str, str], ...]:
    """The values that a fact had among these messages before the one that is kept, oldest first."""
    before = [
        other.proposal
        for other in takewhile(lambda other: other.number != one.number, plan.judged)
        if other.verdict in ("superseded", "over") and other.identity == one.identity
        and other.proposal.evidence.at and not (other.why or other.unnamed)
    ]  # fmt: skip
    return tuple(
        {"value": it.value, "since": it.evidence.at, "actor": actor, "session_key": it.evidence.session_key,
         "source_message_id": it.evidence.id}
        for it in before
    )  # fmt: skip


def _id_of(one: Judged, facts: Sequence[Fact]) -> str:
    return next((fact.id for fact in facts if proposals.is_of(one, fact)), "")


def _label(kept: int, done: Mapping[int, tuple[Answer, str]], forgets: int) -> str:
    """`crystallize: 3 facts kept, 1 to the inbox`."""
    waiting, rejected = (sum(answer == name for answer, _ in done.values()) for name in ("inbox", "reject"))
    waiting += forgets
    parts = [f"{counted(kept, 'fact')} kept" if kept or not (waiting or rejected) else ""]
    parts += [f"{waiting:,} to the inbox" if waiting else "", f"{rejected:,} rejected" if rejected else ""]
    return f"crystallize: {', '.join(filter(None, parts))}"


# -- What a model said of messages that it has read, so that no run pays for the same message twice -------------------

FOLDER = "crystallize"
"""The folder of these files in nanomem's own."""
MOST = 10_000
"""Messages that are kept, the newest answers."""
Facts = Sequence[Mapping[str, Any]]


class AnswersKept:
    """The answers of one model about the messages of one workspace. `asked_as`: the instructions that it was given;
    other instructions or another model are other answers."""

    def __init__(self, file: Path, model: str, asked_as: str) -> None:
        self._file = file
        self._head = f"{model}\0{asked_as}\0"
        self._known: dict[str, Facts] = _read(file)

    def of(self, shown: str) -> Facts | None:
        """Return the facts that the model named of a message, None where it was not asked about it."""
        return self._known.get(self._key(shown))

    def keep(self, answers: Mapping[str, Facts]) -> None:
        """Keep the facts of messages, by what was shown of them. A failure costs nothing but the next question."""
        for shown, facts in answers.items():
            self._known.pop(key := self._key(shown), None)
            self._known[key] = [dict(fact) for fact in facts]
        self._known = dict(list(self._known.items())[-MOST:])
        with contextlib.suppress(OSError, NanomemError):
            atomic.make_folder(self._file.parent)
            atomic.write_atomic(self._file, json.dumps(self._known, ensure_ascii=False).encode())

    def _key(self, shown: str) -> str:
        return hashlib.sha256(f"{self._head}{shown}".encode("utf-8", "surrogatepass")).hexdigest()


def _read(file: Path) -> dict[str, Facts]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        value = files.loads(files.read(file))
        if isinstance(value, dict):
            return {key: facts for key, facts in value.items() if isinstance(facts, list) and all(map(_is_fact, facts))}
    return {}


def _is_fact(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("category", "key", "value"))


# Facts that are looked for by themselves, at the times of `crystallize_schedule`: whether one is due, and what it
# did.

RETRY, LATEST = timedelta(minutes=1), timedelta(hours=1)
"""How long after a first failure the next try is; twice as long after each more, and never longer than the second."""
BUSY = timedelta(minutes=1)
_SAID = 300  # characters of an error

Kind = Literal["off", "waiting", "busy", "nothing", "crystallized", "failed", "stopped"]


class Host(Protocol):
    """What the schedule asks of a workspace."""

    @property
    def paths(self) -> Paths:
        """Where things are."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    @property
    def crystallizer(self) -> Crystallizer:
        """Who finds facts."""


class Outcome(NamedTuple):
    """What a step came to, in words too; `next_at` is when the next one is worth a look (None: when it is off)."""

    kind: Kind
    said: str
    next_at: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as the command line prints it."""
        return {"kind": self.kind, "said": self.said, "next_at": clock.iso(self.next_at) if self.next_at else None}


class _Stopped(Refused):
    """Whoever runs the schedule wants it to end."""


class _Memory(NamedTuple):
    """The last try: when (UTC ISO), how often it failed since the last success, and why."""

    at: str = ""
    failures: int = 0
    error: str = ""


class CrystallizeSchedule:
    """The schedule of one workspace."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._file = host.paths.data / "crystallize-schedule.json"

    def why_off(self) -> str:
        """Why nothing is looked for by itself; "" when something is."""
        settings = self._host.settings
        if not settings.crystallize_schedule:
            return "crystallize_schedule is not set"
        return OFF if not settings.memory_enabled else ""

    def next_at(self) -> datetime:
        """When the next run is due; a time that is over when it is due now."""
        memory, now = self._read(), clock.now()
        last = min(clock.parse(memory.at) or now, now)  # clocks are put back
        due = cron_next(self._host.settings.crystallize_schedule, last, zone_of(self._host.paths))
        if memory.failures:
            return min(due, last + min(RETRY * (1 << min(memory.failures - 1, 20)), LATEST))
        return due

    def status(self) -> dict[str, Any]:
        """`on`, `why`, `cron`, `next_at` and `last_at` (UTC ISO or None), `failures`, `error`."""
        why, memory = self.why_off(), self._read()
        return {
            "on": not why,
            "why": why or "crystallize_schedule is set",
            "cron": self._host.settings.crystallize_schedule or None,
            "next_at": None if why else clock.iso(self.next_at()),
            "last_at": memory.at or None,
            "failures": memory.failures,
            "error": memory.error or None,
        }

    def step(self, *, stopped: Callable[[], bool] = lambda: False, not_before: datetime | None = None) -> Outcome:
        """Look for facts when it is due. Never raises for a run that fails: that is told, and tried again later.

        `stopped` is asked while sessions are read and a model is asked: then nothing was changed. The first look sets
        the clock, so that a schedule begins with its next time. Raises the errors of the file system.
        """
        if why := self.why_off():
            return Outcome("off", why)
        if not self._read().at:
            atomic.make_folder(self._host.paths.data)
            self._write(_Memory(clock.iso(clock.now())))
        due = max(filter(None, (self.next_at(), not_before)))
        if clock.now() < due:
            return self._waiting(due)
        try:
            with self._host.crystallizer.alone():
                due = self.next_at()  # another schedule may have been quicker
                return self._waiting(due) if clock.now() < due else self._run(stopped)
        except Refused as error:
            return Outcome("busy", error.what, clock.now() + BUSY)

    def _waiting(self, due: datetime) -> Outcome:
        return Outcome("waiting", f"facts: not due before {clock.local_naive(due)[:16].replace('T', ' ')}", due)

    def _run(self, stopped: Callable[[], bool]) -> Outcome:
        def watch(_what: str) -> None:
            if stopped():
                raise _Stopped("it was stopped", "", "nothing was changed")

        memory = self._read()
        crystallizer = self._host.crystallizer
        try:
            done = crystallizer.by_itself(crystallizer.plan(new_only=crystallizer.places() is not None, watch=watch))
        except _Stopped as error:
            return Outcome("stopped", error.what)
        except Exception as error:  # noqa: BLE001 - what somebody said may break an extractor in any way
            known = shown_error(error)
            self._write(_Memory(clock.iso(clock.now()), memory.failures + 1, one_line(known.line(), _SAID)))
            due = self.next_at()
            return Outcome(
                "failed", f"{known.line()}; tried again at {clock.local_naive(due)[:16].replace('T', ' ')}", due
            )
        self._write(_Memory(clock.iso(clock.now())))
        return Outcome("crystallized" if done.operation else "nothing", told(done), self.next_at())

    def _read(self) -> _Memory:
        """What was written last; of a file that is broken, nothing: the schedule begins anew."""
        try:
            found = json.loads(files.read(self._file))
            at, failures, error = found["at"], found["failures"], found["error"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return _Memory()
        fits = isinstance(at, str) and isinstance(failures, int) and isinstance(error, str)
        return _Memory(at, max(0, failures), error) if fits else _Memory()

    def _write(self, memory: _Memory) -> None:
        atomic.write_atomic(self._file, json.dumps(memory._asdict(), ensure_ascii=False).encode("utf-8", "replace"))


def told(done: Crystallized) -> str:
    """What a run did, in a sentence."""
    read = f"read {counted(done.plan.dialogue.messages, 'message')}"
    if done.operation is None:
        return f"{read}: no new fact"
    return f"{read}: {done.operation.label.removeprefix('crystallize: ')}"
