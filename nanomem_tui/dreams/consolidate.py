"""The Consolidator: when a session outgrows its budget, its oldest safe slice is summarised into the archive.

Owns the order of things, which is that of the promise: the entries of the archive are durable before the session's
offsets move, both are one operation, and whoever is killed in between finds the entries again by the slice that they
name: nothing is archived twice. Refused while an agent runs, which has the session in memory. The transcript keeps
every message. What a summary says is made in `summary` and `summary_model`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.agents.transcript_edits import (
    Slice,
    apply_splices,
    archivable,
    consolidation_splices,
    last_summary,
    merged_summary,
    oldest_slice,
    safe_ends,
    tokens,
)
from nanomem_tui.agents.transcripts import Message, Session, parse_session
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.core.files import Stamp, read_log, stamp_of
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.dreams.summary import LeftOut, RulesSummariser, Summariser, Summary, entries_of
from nanomem_tui.memory.sessions.layer import refusal, splice_values
from nanomem_tui.model.client import Usage
from nanomem_tui.store.files.history import append_changes, read_archive

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.memory.sessions.sessions import SessionInfo, Sessions
    from nanomem_tui.store.files.presence import Presence

KIND = "session.consolidate"
SLICE = "slice"
"""The key of an entry that names the messages it was made of: `first-end:digest`."""
_OWN = "dream:"  # the agent's own Dreams are sessions too
_MAX_KEPT = 200
TRIES = 3
"""How often a session that goes on meanwhile is tried by itself, until the next time."""


def _nobody(_step: object) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What consolidating a session would do, or did.

    Messages `start` to `end` are archived as `entries` (their cursors are 0 until it is done); `tokens` of the session
    were not archived before, `left` are not after it. `summary` replaces what is archived in the agent's prompt.
    `refused` says why it may not be done now, `nothing` why there is nothing to do; "" when neither.
    """

    key: str
    path: Path
    sha256: str
    messages: int
    start: int
    end: int
    tokens: int
    left: int
    budget: int
    dreamer: str
    marker: str = ""
    archived: int = 0
    entries: tuple[HistoryEntry, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    summary: str = ""
    raw: bool = False
    note: str = ""
    usage: Usage = field(default_factory=Usage)
    refused: str = ""
    nothing: str = ""

    def to_json(self) -> dict[str, Any]:
        """The counts and entries as a JSON object."""
        names = ("messages", "start", "end", "archived", "tokens", "left", "budget", "dreamer", "raw", "note")
        return {
            "id": self.key,
            **{name: getattr(self, name) for name in names},
            "entries": [
                {"cursor": entry.cursor or None, "timestamp": entry.timestamp, "text": entry.content}
                for entry in self.entries
            ],
            "left_out": [one._asdict() for one in self.left_out],
            "usage": self.usage.to_json(),
            "refused": self.refused,
            "nothing": self.nothing,
        }


class Consolidator:
    """Consolidates the sessions of one workspace. `settle` finishes what a killed process of ours had begun; `spent` is
    told what questions to a model took; `ours` is where transcripts of ours lie; `is_undone` tells
    whether the last consolidation of a session was undone."""

    def __init__(
        self,
        paths: Paths,
        sessions: Sessions,
        perform: Perform,
        agent: Callable[[], Presence],
        settings: Settings,
        settle: Callable[[], object],
        spent: Callable[[Usage], None] = _nobody,
        ours: Path | None = None,
        is_undone: Callable[[str], bool] = lambda key: False,
    ) -> None:
        self._ours = ours
        self._is_undone = is_undone
        self._left_alone: dict[Path, Stamp] = {}
        self._paths = paths
        self._sessions = sessions
        self._perform = perform
        self._agent = agent
        self._settings = settings
        self._settle = settle
        self._spent = spent

    def plan(
        self, key: str, *, budget: int | None = None, dreamer: str | None = None, watch: Callable[[str], None] = _nobody
    ) -> Consolidation:
        """What `apply` would do to the session of `key`; asks a model where the Dreamer is one, and writes nothing but
        what that took.

        `budget` in tokens; `dreamer` is `rules` or `model`; both come from the settings unless given. Raises NotFound,
        BadInput, InvalidConfig when no model is set up, whatever `watch` raises.
        """
        return self._planned(self._info(key), budget, dreamer, watch)

    def plan_all(
        self, *, budget: int | None = None, dreamer: str | None = None, watch: Callable[[str], None] = _nobody
    ) -> list[Consolidation]:
        """What `apply` would do to each session that the agent finds and that is over its budget, refused ones too.

        A model that fails is asked no more: what comes behind that session waits.
        """
        infos = [info for info in self._sessions.list() if not info.hidden_reason and not info.key.startswith(_OWN)]
        least = self._budget(budget) * self._settings.consolidate_chars_per_token
        plans: list[Consolidation] = []
        for info in [info for info in infos if info.size > least / 2]:
            plan = self._planned(info, budget, dreamer, watch)
            plans += [] if plan.nothing else [plan]
            if plan.raw:
                break
        return plans

    def consolidate_due(
        self, keys: Sequence[str] = (), *, stopped: Callable[[], bool] = lambda: False
    ) -> list[tuple[Operation, Consolidation]]:
        """Consolidate each session of ours that is over its budget; where `consolidate_schedule` is `all` the agent's
        too, while no agent runs. One operation for each, which no plain `undo` takes for a person's.

        `keys`: of these alone. One whose last consolidation was undone stays as it is until a person consolidates it. A
        session that went on meanwhile, or that a model could not summarise, waits for the next time. Raises the store's
        errors, and Refused while another process consolidates.
        """
        if self._settings.consolidate_schedule == "off":
            return []
        self.recover()
        done: list[tuple[Operation, Consolidation]] = []
        least = self._budget(None) * self._settings.consolidate_chars_per_token / 2
        for info in self._sessions.list():
            path = Path(info.path)
            is_wanted = path.parent == self._ours or self._settings.consolidate_schedule == "all"
            if stopped() or not is_wanted or info.hidden_reason or info.key.startswith(_OWN):
                continue
            if (keys and info.key not in keys) or info.size < least:
                continue
            if self._left_alone.get(path) == (stamp := stamp_of(path.stat())):
                continue
            if self._is_undone(info.key):
                self._left_alone[path] = stamp
                continue
            for _ in range(TRIES):
                plan = self._planned(info, None, None, _nobody)
                if plan.nothing:
                    self._left_alone[path] = stamp
                if plan.nothing or plan.refused or plan.raw:
                    break
                with contextlib.suppress(Conflict):  # the session went on meanwhile
                    done.append(self.apply(plan, actor="compaction"))
                    break
        return done

    def apply(self, plan: Consolidation, *, actor: Actor = "human") -> tuple[Operation, Consolidation]:
        """Do what a plan says, as one operation; and the plan with the cursors that its entries got.

        Raises Refused while an agent runs or another process consolidates, NothingToDo, Conflict when the session went
        on since the plan was made.
        """
        if plan.refused:
            raise Refused(plan.refused, plan.key, "stop the agent first; nothing was changed")
        if plan.nothing:
            raise NothingToDo(plan.nothing, plan.key)
        with self._alone():
            self._settle()
            data = read_log(plan.path)
            if atomic.sha256(data) != plan.sha256:
                raise Conflict("the session went on meanwhile", plan.key, "nothing was changed; run it again")
            operation, done = self._operation(plan, data, actor)
            return self._perform(operation), done

    def consolidate(self, key: str, *, budget: int | None = None, dreamer: str | None = None) -> Operation:
        """Plan and do it. Raises what `plan` and `apply` raise."""
        self.recover()
        return self.apply(self.plan(key, budget=budget, dreamer=dreamer))[0]

    def archive_first(self, key: str, removed: int, *, actor: Actor) -> Operation | None:
        """Summarise at least the first `removed` messages of a transcript of ours by the rules, before they go; None
        where they are archived already. Raises Refused while another process consolidates, and Conflict."""
        info = self._info(key)
        path = Path(info.path)
        data = read_log(path)
        session = parse_session(data, self._paths.relative(path), key)
        start = session.last_archived
        ends = safe_ends(session.messages, start)
        end = next((end for end in ends if end >= removed), ends[-1] if ends else start)
        if start >= removed or end == start:
            return None
        rate = self._settings.consolidate_chars_per_token
        now = round(sum(tokens(message, rate) for message in session.messages[start:]))
        plan = Consolidation(
            key=key, path=path, sha256=atomic.sha256(data), messages=len(session.messages), start=start, end=end,
            tokens=now, left=now, budget=now, dreamer="rules",
        )  # fmt: skip
        cut = Slice(start, end, now, now)
        plan = self._summarised(plan, data, session, cut, RulesSummariser(self._settings), _nobody)
        return self.apply(plan, actor=actor)[0]

    def recover(self) -> None:
        """Finish what a killed process of ours had begun; without it a plan may be of yesterday. Raises Refused while
        another process consolidates."""
        if self._paths.data.is_dir():  # else nothing was ever begun
            with self._alone():
                self._settle()

    # -- planning -------------------------------------------------------------------------------------------------

    def _info(self, key: str) -> SessionInfo:
        """The session of that key: where two files claim it, that which the agent finds, then the newest."""
        found = [info for info in self._sessions.list() if info.key == key]
        if not found:
            raise NotFound("no such session", key, "`nanomem session list` shows them all")
        if all(info.imported for info in found):
            raise Refused(found[0].hidden_reason, key, "nothing was changed")
        return min(found, key=lambda info: bool(info.hidden_reason))

    def _budget(self, budget: int | None) -> int:
        if budget is not None and budget < 1:
            raise BadInput("a budget is at least one token", str(budget))
        return budget or self._settings.consolidate_budget_tokens

    def _planned(
        self, info: SessionInfo, budget: int | None, dreamer: str | None, watch: Callable[[str], None]
    ) -> Consolidation:
        path = Path(info.path)
        refused = info.hidden_reason or refusal(path, self._agent())
        if info.key.startswith(_OWN):
            refused = "a Dream of the agent, which read the archive: it would be archived again"
        data = read_log(path)
        session = parse_session(data, self._paths.relative(path), info.key)
        summariser = self._summariser(dreamer)
        limit = self._budget(budget)
        start, rate = session.last_archived, self._settings.consolidate_chars_per_token
        cut = oldest_slice(session.messages, start, limit, rate)
        now = round(sum(tokens(message, rate) for message in session.messages[start:]))
        plan = Consolidation(
            key=info.key, path=path, sha256=atomic.sha256(data), messages=len(session.messages), start=start, end=start,
            tokens=now, left=now, budget=limit, dreamer=summariser.name, refused=refused,
            nothing=_nothing(session, cut),
        )  # fmt: skip
        if cut is None or plan.nothing:
            return plan
        if refused and summariser.name == "model":  # nobody pays for what must not be done
            return replace(plan, end=cut.end, left=cut.left)
        return self._summarised(plan, data, session, cut, summariser, watch)

    def _summarised(
        self,
        plan: Consolidation,
        data: bytes,
        session: Session,
        cut: Slice,
        summariser: Summariser,
        watch: Callable[[str], None],
    ) -> Consolidation:
        ends = [end for end in safe_ends(session.messages, cut.start) if end <= cut.end]
        wanted = session.messages[cut.start : cut.end]
        summary = summariser.summarise(wanted, ends, watch)
        rate = self._settings.consolidate_chars_per_token
        done = session.messages[cut.start : summary.end]
        marker = f"{cut.start}-{summary.end}:{_digest(done)}"
        otherwise = clock.local_naive(clock.parse(session.updated_at) or clock.now())[:16].replace("T", " ")
        entries = entries_of(summary, done, plan.key, otherwise, {SLICE: marker})
        stays = merged_summary(last_summary(session.metadata), summary.text)
        after = parse_session(
            apply_splices(data, consolidation_splices(data, summary.end, stays, otherwise)), "", plan.key
        )
        return replace(
            plan,
            end=summary.end,
            left=round(sum(tokens(message, rate) for message in after.messages[after.last_archived :])),
            marker=marker,
            archived=len(archivable(done)),
            entries=tuple(entries),
            left_out=summary.left_out,
            summary=stays,
            raw=bool(summary.raw),
            note=_note(summary),
            usage=summary.usage,
        )

    def _summariser(self, name: str | None) -> Summariser:
        """The one of that name, or of the settings. Raises InvalidConfig, BadInput."""
        name = name or self._settings.dreamer
        if name == "rules":
            return RulesSummariser(self._settings)
        if name != "model":
            raise BadInput(f"no Dreamer is called {name!r}", "", "rules or model")
        from nanomem_tui.dreams.summary import ModelSummariser
        from nanomem_tui.model.client import ModelClient
        from nanomem_tui.model.settings import model_config

        client = ModelClient(model_config(self._paths, self._settings), self._spent)
        return ModelSummariser(client, self._settings)

    # -- doing ----------------------------------------------------------------------------------------------------

    def _operation(self, plan: Consolidation, data: bytes, actor: Actor) -> tuple[Operation, Consolidation]:
        archive = read_archive(self._paths, sign=plan.marker.encode())
        known = [e for e in archive.entries if e.session_key == plan.key and e.extra.get(SLICE) == plan.marker]
        summary, counter = plan.summary, archive.counter
        if known:  # archived by a process that did not come so far as to move the offsets
            entries, counter = known, str(known[0].cursor - 1) if known[0].cursor > 1 else None
            session = parse_session(data, "", plan.key)
            summary = merged_summary(last_summary(session.metadata), "\n".join(entry.content for entry in known))
        else:
            first = archive.latest + 1
            entries = [entry._replace(cursor=first + number) for number, entry in enumerate(plan.entries)]
        splices = consolidation_splices(data, plan.end, summary, clock.local_naive(clock.now()))
        boundary = sum(b"_hidden_history" in splice.data for splice in splices[1:])
        before, after = splice_values(plan.path.name, data, splices, (plan.messages, plan.messages + boundary))
        changes = [*append_changes(entries, counter), Change("session", plan.key, before, after)]
        raw = ", as they are" if plan.raw else ""
        label = f"archive {counted(plan.archived, 'message')} of session {plan.key}{raw}"
        meta: dict[str, Any] = {
            "dreamer": plan.dreamer, "start": plan.start, "end": plan.end, "raw": plan.raw,
            "left_out": [one._asdict() for one in plan.left_out[:_MAX_KEPT]],
        }  # fmt: skip
        if plan.usage.calls:
            meta["usage"] = plan.usage.to_json()
        return new_operation(KIND, label, changes, actor=actor, meta=meta), replace(plan, entries=tuple(entries))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        atomic.make_folder(self._paths.data)
        lock = self._paths.data / "consolidate.lock"
        try:
            with atomic.locked(lock, wait=0):
                yield
        except Refused as error:
            if error.where == str(lock):
                raise Refused("another process consolidates sessions", "", "wait until it is done") from error
            raise


def _nothing(session: Session, cut: Slice | None) -> str:
    """Why there is nothing to archive; "" when there is."""
    if cut is None:
        return "the session is within its budget"
    if cut.end == cut.start:
        return "all of it is one turn, which stays whole"
    return "" if session.has_metadata else "it has no metadata line: there is no place to note what was archived"


def _note(summary: Summary) -> str:
    cut = "the dump is longer than an entry may be, and says that it was cut"
    return "; ".join(filter(None, [summary.note, cut if summary.raw.endswith("(truncated)") else ""]))


def _digest(messages: Sequence[Message]) -> str:
    """Which messages these are, whatever the agent does to their bytes."""
    rows: list[Mapping[str, Any]] = [message.raw for message in messages]
    text = json.dumps(rows, sort_keys=True, default=str)
    return atomic.sha256(text.encode("utf-8", "replace"))[:12]
