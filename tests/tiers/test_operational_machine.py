"""Any order of pushes, aging, clocks that jump, kills and second processes agrees with a plain list: nothing is lost,
nothing is there twice, and the order is kept."""

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nanomem_tui.core import clock
from nanomem_tui.workspace import Workspace
from tests.tiers.happened import kill, opened, small_home

pytestmark = pytest.mark.slow

LIMIT = 8
HOUR = 3600.0


class Happening(RuleBasedStateMachine):
    """Two processes on one workspace. `said`: what was acknowledged; `of`: by which process, in its order."""

    @initialize()
    def start(self):
        self.base = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("nanomem_tui.tiers.operational.BATCH", 3)
        self.now = datetime(2026, 3, 1, 10, tzinfo=UTC)
        self.workspace = small_home(self.base)
        self.said: list[str] = []
        self.of: dict[int, list[str]] = {0: [], 1: []}
        self.critical: set[str] = set()
        self.pushed: dict[str, float] = {}
        self.real = 0.0  # seconds that went by, whatever the clock says
        self.jumped = False
        self.ends: list[Workspace] = [self.fresh(), self.fresh()]

    def fresh(self):
        return opened(self.workspace, operational_entries=LIMIT)

    def teardown(self):
        if hasattr(self, "base"):
            for ws in self.ends:
                ws.close()
            self.patch.undo()
            shutil.rmtree(self.base)

    @rule(who=st.integers(0, 1), category=st.sampled_from(["event", "metric", "tool_result"]), grave=st.booleans())
    def push(self, who, category, grave):
        word = str(len(self.said))
        data = {
            "event": {"word": word}, "metric": {"name": word, "value": 1, "word": word},
            "tool_result": {"tool": "t", "word": word},
        }[category]  # fmt: skip
        self.now += timedelta(milliseconds=5)
        with clock.at(self.now):
            self.ends[who].operational.push(category, data, critical=grave)
        self.said.append(word)
        self.of[who].append(word)
        self.pushed[word] = self.real
        if grave:
            self.critical.add(word)

    @rule(who=st.integers(0, 1))
    def age(self, who):
        with clock.at(self.now):
            self.ends[who].operational.age()

    @rule(seconds=st.sampled_from([0.001, 1.0, 700.0, 1900.0, 4000.0]))
    def wait(self, seconds):
        self.now += timedelta(seconds=seconds)
        self.real += seconds

    @rule(hours=st.sampled_from([-50, -2, 3]))
    def jump(self, hours):
        self.now += timedelta(hours=hours)
        self.jumped = True

    @rule(who=st.integers(0, 1))
    def killed(self, who):
        kill(self.ends[who])
        self.ends[who].tier_database.close()
        self.ends[who] = self.fresh()
        self.of = {0: [], 1: []}  # who goes on behind it is another process: only what comes now has an order

    @rule(who=st.integers(0, 1))
    def ended(self, who):
        self.ends[who].close()
        self.ends[who] = self.fresh()
        self.of = {0: [], 1: []}

    @invariant()
    def everything_is_somewhere_once(self):
        for ws in self.ends if hasattr(self, "ends") else ():
            with clock.at(self.now):
                entries = ws.operational.recent(None)
            now = [entry.data["word"] for entry in reversed(entries)]
            events = [record.fields["data"]["word"] for record in ws.records.list_records("event")]
            metrics = [record.fields["name"] for record in ws.records.list_records("metric")]
            assert len(now) == len(set(now))
            assert len(events) == len(set(events))
            assert len(metrics) == len(set(metrics))
            assert set(now) | set(events) | set(metrics) == set(self.said)
            aged = (set(events) | set(metrics)) - self.critical
            assert not aged & set(now), "in one place, but for what is critical"
            assert self.critical <= set(events)
            for own in self.of.values():
                there = set(now)
                assert [word for word in now if word in set(own)] == [word for word in own if word in there]

    @invariant()
    def nothing_leaves_too_early(self):
        if not hasattr(self, "ends") or self.jumped:
            return
        with clock.at(self.now):
            now = {entry.data["word"] for entry in self.ends[0].operational.recent(None)}
        newest = self.said[-LIMIT:]
        early = [word for word in newest if word not in now and self.real - self.pushed[word] < HOUR - 1]
        assert not early


Happening.TestCase.settings = settings(settings(), stateful_step_count=25, phases=[Phase.generate])
test_any_order_of_happenings = Happening.TestCase
