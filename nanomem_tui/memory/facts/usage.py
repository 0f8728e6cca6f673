"""Token usage of language models by day, model and source: ours from our rows, the agent's from its own log.

Owns the sums and the cost. The agent's calls are read in place and never copied; every figure says whose it is. Counts
stand as they were recorded: a total may differ from the tokens asked and answered together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.agents import databases
from nanomem_tui.core import clock, config
from nanomem_tui.core.errors import BadInput, NanomemError, Problem
from nanomem_tui.core.operations import Actor, Operation, new_key, new_operation
from nanomem_tui.core.settings import Price, price_of
from nanomem_tui.core.text import quoted
from nanomem_tui.memory.facts.journal import Records
from nanomem_tui.memory.transfer import foreign
from nanomem_tui.model.settings import price_of_model
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record, dumped

if TYPE_CHECKING:
    from nanomem_tui.model.client import Usage as Spent
    from nanomem_tui.store.memory_store import MemoryStore

Origin = Literal["nanomem", "agent", "import"]
By = Literal["day", "model", "source", "origin"]
BY: tuple[By, ...] = ("day", "model", "source", "origin")
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "requests")
KIND, OURS = "usage", "nanomem"
LONGEST = 36_500
"""Days: beyond that there is nothing."""


class UsageRow(NamedTuple):
    """What one day (local, `YYYY-MM-DD`), model and source used, and whose row it is: `nanomem`, `agent` (its own log)
    or `import` (the log of another system).

    `failed`: so many requests gave no answer; `estimated`: so many of the tokens are a guess. `cost` is None where no
    price is known.
    """

    day: str
    model: str
    source: str
    origin: Origin
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    requests: int
    failed: int = 0
    estimated: int = 0
    cost: float | None = None


class UsageSum(NamedTuple):
    """Rows added up under one name. `cost`: of what a price is known for, None where none is; `unpriced`: the models
    that have none."""

    name: str
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    requests: int
    failed: int
    estimated: int
    cost: float | None
    unpriced: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the cost is that of all of it."""
        return not self.unpriced


class Usage:
    """The use of tokens of one workspace, by us and by its agent."""

    def __init__(self, store: MemoryStore, perform: Callable[[Operation], Operation]) -> None:
        self._store = store
        self._perform = perform
        self._settings = store.settings
        self._records = Records(store, perform, KIND, "row of token use", "nanomem usage")
        self._theirs: tuple[object, databases.Report] = (None, databases.Report())

    # -- looking --------------------------------------------------------------------------------------------------

    def rows(self, days: int | None = None) -> list[UsageRow]:
        """Return every row, ours and the agent's, newest day first; `days`: of so many days, the last one is today."""
        since = _since(days)
        ours = [self._own(row) for row in self._records.rows() if row.about >= since]
        calls = self._log(since).calls
        prices = {model: price_of(model, self._settings.model_prices) for model in {one.model for one in calls}}
        theirs = [_agents(one, prices[one.model]) for one in calls]
        found = sorted([*_merged(ours), *theirs], key=lambda row: (row.origin, row.model, row.source))
        return sorted(found, key=lambda row: row.day, reverse=True)

    def by(self, name: By, days: int | None = None) -> list[UsageSum]:
        """Return the rows added up by day (newest first), or by model, source or origin (most tokens first)."""
        return add_up(self.rows(days), name)

    def read_prices(self) -> None:
        """Take the prices that the settings have now; where those cannot be read, they stay as they are."""
        with contextlib.suppress(NanomemError):
            self._settings = config.load(self._store.paths).settings

    def problems(self) -> tuple[Problem, ...]:
        """Return what could not be read of the agent's log when it was looked at last."""
        return self._theirs[1].problems

    def _log(self, since: str) -> databases.Report:
        path = self._store.paths.token_log
        if path is None:
            self._theirs = (None, databases.Report())
            return self._theirs[1]
        stamps = since, foreign.database_state(path)
        if self._theirs[0] != stamps:
            self._theirs = (stamps, databases.read_llm_usage(path, self._store.paths.relative(path), since))
        return self._theirs[1]

    def _own(self, row: Record) -> UsageRow:
        meta, settings = row.meta, self._settings
        origin: Origin = "nanomem" if row.source == OURS else "import"
        asked, answered, both, requests = (_count(meta.get(name)) for name in COUNTS)
        model = str(meta.get("model") or "")
        told = meta.get("cost")
        if isinstance(told, int | float) and not meta.get("unpriced"):
            cost: float | None = float(told)
        else:
            price = price_of(model, settings.model_prices)
            price = price_of_model(settings, model) if price is None and origin == "nanomem" else price
            cost = _cost(asked, answered, both, price)
        return UsageRow(
            row.about, model, str(meta.get("source") or ""), origin, asked, answered, both, requests,
            estimated=_count(meta.get("estimated")), cost=cost,
        )  # fmt: skip

    # -- adding ---------------------------------------------------------------------------------------------------

    def add(
        self,
        source: str,
        model: str,
        prompt_tokens: int,
        completion_tokens: int,
        total_tokens: int | None = None,
        requests: int = 1,
        *,
        cost: float | None = None,
        estimated: int = 0,
        actor: Actor = "agent",
    ) -> Operation:
        """Add to the row of today, this model and this source; processes that add at the same time wait for each other.

        `total_tokens` is the sum where nobody tells it; `cost` what the endpoint said, in the money of the prices.
        Raises BadInput and the store's errors.
        """
        model, source = model.strip(), source.strip()
        if not model or not source:
            raise BadInput("token use belongs to a model and a source", "usage", "name both")
        total_tokens = prompt_tokens + completion_tokens if total_tokens is None else total_tokens
        counts = (prompt_tokens, completion_tokens, total_tokens, requests, estimated)
        if any(number < 0 for number in counts) or (cost is not None and cost < 0):
            raise BadInput("token use is counted from 0", "usage")
        more = dict(zip((*COUNTS, "estimated"), counts, strict=True))
        with self._store.deciding.alone():  # what another process added a moment ago is here now
            self._store.load("record")
            moment = clock.now()
            at, day = clock.iso(moment), clock.local_naive(moment)[:10]
            known = next((row for row in self._records.rows() if _is(row, day, model, source)), None)
            before = known.meta if known else {"model": model, "source": source}
            meta = {**before, **{name: _count(before.get(name)) + number for name, number in more.items()}}
            if cost is None:
                meta["unpriced"] = _count(before.get("unpriced")) + requests
            else:
                meta["cost"] = round(float(before.get("cost") or 0) + cost, 9)
            made = known or Record(new_key("usage"), KIND, day, source=OURS, created_at=at)
            after = made._replace(at=at, updated_at=at, meta_json=dumped(meta))
            label = f"count {total_tokens:,} tokens of {quoted(model, 60)}: {source}"
            return self._perform(new_operation("usage.add", label, [change_of("record", known, after)], actor=actor))

    def spent(self, source: str, used: Spent, actor: Actor = "dream") -> None:
        """Keep what questions to a model took. Never raises: the answer is worth more than the count of its tokens."""
        if used.calls < 1 or not used.model:
            return
        tokens = used.tokens_in + used.tokens_out
        with contextlib.suppress(NanomemError):
            self.add(
                source, used.model, used.tokens_in, used.tokens_out, requests=used.calls, cost=used.cost,
                estimated=tokens if used.estimated else 0, actor=actor,
            )  # fmt: skip


def sum_rows(rows: Sequence[UsageRow], name: str = "") -> UsageSum:
    """Rows added up."""
    known = [row.cost for row in rows if row.cost is not None]
    unpriced = sorted({row.model for row in rows if row.cost is None})
    return UsageSum(
        name,
        sum(row.prompt_tokens for row in rows),
        sum(row.completion_tokens for row in rows),
        sum(row.total_tokens for row in rows),
        sum(row.requests for row in rows),
        sum(row.failed for row in rows),
        sum(row.estimated for row in rows),
        sum(known) if known or not rows else None,
        tuple(unpriced),
    )


def add_up(rows: Iterable[UsageRow], by: By) -> list[UsageSum]:
    """Rows added up by day (in the order in which they come), or by model, source or origin (most tokens first)."""
    groups: dict[str, list[UsageRow]] = {}
    for row in rows:
        groups.setdefault(str(getattr(row, by)), []).append(row)
    sums = [sum_rows(group, name) for name, group in groups.items()]
    return sums if by == "day" else sorted(sums, key=lambda one: (-one.total_tokens, one.name))


def _agents(calls: databases.Calls, price: Price | None) -> UsageRow:
    cost = _cost(calls.prompt_tokens, calls.completion_tokens, calls.total_tokens, price)
    return UsageRow(*calls[:3], "agent", *calls[3:], cost=cost)


def _merged(rows: Iterable[UsageRow]) -> list[UsageRow]:
    """One row for each day, model, source and origin: two processes that both began may have made two."""
    found: dict[tuple[str, ...], UsageRow] = {}
    for row in rows:
        known = found.setdefault(row[:4], row)
        if known is not row:
            both = sum_rows([known, row])
            found[row[:4]] = UsageRow(*row[:4], *both[1:7], cost=both.cost if both.is_whole else None)
    return list(found.values())


def _is(row: Record, day: str, model: str, source: str) -> bool:
    if row.about != day or row.source != OURS:
        return False
    meta = row.meta
    return bool(meta.get("model") == model and meta.get("source") == source)


def _cost(asked: int, answered: int, both: int, price: Price | None) -> float | None:
    if not (asked or answered):
        return None if both else 0.0
    return None if price is None else price.cost(asked, answered)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _since(days: int | None) -> str:
    """Return the first of so many days, the last of which is today; "" for all."""
    if days is None:
        return ""
    if days < 1:
        raise BadInput("the number of days begins at 1", "--days")
    today = date.fromisoformat(clock.local_naive(clock.now())[:10])
    return (today - timedelta(days=min(days, LONGEST) - 1)).isoformat()
