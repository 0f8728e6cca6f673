"""Dreams by themselves: when they are due, when they are off, and that neither a failure nor an entry stops them."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nanomem_tui.agents import releases as agents_layout
from nanomem_tui.agents.releases import Layout
from nanomem_tui.core import clock, paths
from nanomem_tui.core.errors import ModelRefused, ModelUnavailable
from nanomem_tui.core.settings import Settings, cron_trouble
from nanomem_tui.dreams.edits import LineEdit
from nanomem_tui.dreams.entries import Proposal
from nanomem_tui.dreams.rules import RulesDreamer
from nanomem_tui.dreams.schedule import DreamSchedule, backoff
from nanomem_tui.dreams.service import Dreams
from nanomem_tui.store.files.presence import Presence
from tests.dreams.pipeline import Bench
from tests.store.git_samples import needs_git

pytestmark = needs_git

NOBODY = Layout("plain Markdown", None, "lossy", None, True, False)
HOUR = timedelta(hours=1)


@dataclass
class Clocked:
    """A workspace with a schedule, at a time that tests move."""

    on: Bench
    layout: Layout = NOBODY
    settings: Settings = field(default_factory=Settings)
    presence: Presence = field(default_factory=Presence)
    now: datetime = field(default_factory=lambda: datetime.now(UTC) + 24 * HOUR)
    leads: bool = True

    @property
    def paths(self):
        return self.on.paths

    @property
    def dream(self):
        return self.on.dreams

    def agent(self):
        return self.presence

    def leading(self, work):
        return nullcontext(self.leads)

    @property
    def schedule(self):
        return DreamSchedule(self)

    def step(self, **options):
        with clock.at(self.now):
            return self.schedule.step(**options).kind

    def later(self, by):
        self.now += by

    def set(self, **settings):
        self.settings = self.settings._replace(**settings)
        self.on.settings = self.settings

    @property
    def cursor(self):
        return self.dream.queue().cursor


@pytest.fixture
def at(tmp_path):
    """An empty workspace in which nobody else dreams."""
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    return Clocked(Bench(paths.find_workspace(tmp_path / "workspace")))


@pytest.fixture
def dreamers(at, monkeypatch):
    """`dreamers("model", who)`: who dreams under a name; the default one is `model` from then on."""
    known: dict[str, Any] = {"rules": RulesDreamer()}

    def put(name, who):
        known[name] = who

    monkeypatch.setattr(Dreams, "dreamer", lambda self, name=None: known[name or "model"])
    return put


class Choking:
    """A Dreamer that fails whenever a batch holds an entry with `poison` in it."""

    def __init__(self, error, name="model"):
        self.name, self.error = name, error
        self.sizes: list[int] = []

    def propose(self, entries, *_, **__):
        self.sizes.append(len(entries))
        if any("poison" in entry.content for entry in entries):
            raise self.error
        return Proposal(tuple(LineEdit("add", "USER.md", new=f"- {e.content}", evidence=(e.cursor,)) for e in entries))


def test_a_dream_is_made_when_it_is_due_and_again_an_interval_later(at):
    at.on.remember("- [durable] User likes tea")
    assert at.step() == "dreamt"
    assert at.on.done[-1].meta["started_by"] == "schedule"
    at.on.remember("- [durable] User likes rain")
    for _ in range(3):
        assert at.step() == "waiting"
    at.later(2 * HOUR - timedelta(seconds=1))
    assert at.step() == "waiting"
    at.later(timedelta(seconds=2))
    assert at.step() == "dreamt"
    at.later(2 * HOUR + timedelta(seconds=1))
    assert at.step() == "nothing"


def test_a_home_in_which_nothing_waits_stays_as_it_is(at):
    before = sorted(at.paths.workspace.parent.rglob("*"))
    for _ in range(3):
        assert at.step() == "nothing"
        at.later(3 * HOUR)
    assert sorted(at.paths.workspace.parent.rglob("*")) == before


def test_a_cursor_ahead_of_all_entries_is_a_failure_that_says_so_until_it_is_mended(at):
    at.on.remember("- [durable] User likes tea")
    at.paths.dream_cursor.write_text("9")
    assert at.step() == "failed"
    assert "8 ahead of the last entry (1)" in at.schedule.status()["error"]
    at.paths.dream_cursor.write_text("0")
    at.later(3 * HOUR)
    assert at.step() == "dreamt"
    assert at.schedule.status()["failures"] == 0


def test_the_interval_is_the_one_of_the_settings(at):
    at.set(dream_interval_h=0.5)
    at.on.remember("- [durable] User likes tea")
    at.step()
    at.on.remember("- [durable] User likes rain")
    at.later(timedelta(minutes=29))
    assert at.step() == "waiting"
    at.later(timedelta(minutes=2))
    assert at.step() == "dreamt"


def test_a_dream_of_somebody_else_counts(at):
    at.now = datetime.now(UTC)
    at.on.remember("- [durable] User likes tea")
    at.on.dreams.run()
    at.on.remember("- [durable] User likes rain")
    assert at.step() == "waiting"
    assert at.step(not_before=at.now + HOUR) == "waiting"
    at.later(3 * HOUR)
    assert at.step(not_before=at.now + HOUR) == "waiting"
    assert at.step() == "dreamt"


def test_a_batch_that_leads_to_no_change_advances(at):
    at.on.remember("- [ephemeral] it rains", "(nothing)", "")
    assert at.step() == "dreamt"
    assert (at.cursor, at.dream.queue().waiting) == (3, ())


def test_a_cron_line_says_when_in_the_zone_of_the_agent(at, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"agents": {"defaults": {"timezone": "Asia/Tokyo"}}}))
    at.on.paths = paths.find_workspace(tmp_path / "workspace")
    at.set(dream_cron="30 4 * * *", dream_schedule="on")
    at.now = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
    at.on.remember("- [durable] User likes tea")
    at.paths.data.mkdir(parents=True, exist_ok=True)
    with clock.at(at.now):
        assert at.schedule.next_at() == datetime(2027, 3, 1, 19, 30, tzinfo=UTC)
    at.now = datetime(2027, 3, 1, 19, 29, tzinfo=UTC)
    assert at.step() == "waiting"


def test_a_missed_time_of_a_cron_line_is_made_up_for_once(at):
    at.set(dream_cron="0 4 * * *")
    at.on.remember("- [durable] User likes tea")
    at.on.dreams.run()
    at.on.remember("- [durable] User likes rain")
    at.later(72 * HOUR)
    assert [at.step(), at.step()] == ["dreamt", "waiting"]


@pytest.mark.parametrize("line", ["x", "61 * * * *", "* * * * * *", "0 0 31 2 *"])
def test_a_cron_line_that_nobody_understands_is_told_and_the_interval_counts(at, line):
    assert cron_trouble(line)
    assert not cron_trouble("*/5 1-3 * * MON")
    at.set(dream_cron=line)
    assert (at.schedule.plan().on, at.schedule.plan().cron) == (True, "")
    assert "is not understood" in at.schedule.plan().why


# Off, and saying so


def home(tmp_path, config):
    """An agent's home; `config` its `agents.defaults`, None without configuration."""
    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (tmp_path / "home" / "run").mkdir()
    if config is not None:
        (tmp_path / "home" / "config.json").write_text(json.dumps({"agents": {"defaults": config}}))
    return paths.find_workspace(workspace)


@pytest.mark.parametrize(
    ("release", "config", "setting", "on", "said"),
    [
        ("nanobot 0.3.5", {}, "auto", False, "the agent's own Dream is enabled"),
        ("nanobot 0.3.5", {"dream": {"enabled": True}}, "auto", False, "dream_schedule on"),
        ("nanobot 0.3.5", {"dream": {"enabled": False}}, "auto", True, "no agent dreams here"),
        ("nanobot 0.3.5", {"dream": {"enabled": True}}, "on", True, "dream_schedule is on"),
        ("nanobot 0.3.5", {"dream": {"enabled": False}}, "off", False, "dream_schedule is off"),
        ("nanobot 0.3.5", {"workspace": "~/.nanobot/workspace"}, "auto", False, "enabled"),
        ("nanobot 0.3.5", {"workspace": "/"}, "auto", True, "no agent"),
        ("nanobot 0.3.5", {"workspace": "/gone/elsewhere"}, "auto", False, "enabled"),
        ("nanobot 0.3.5", None, "auto", False, "no configuration of it says otherwise"),
        ("nanobot 0.3.0", {"dream": {"enabled": False}}, "auto", True, "no agent dreams here"),
        ("nanobot 0.2.2", {"dream": {"enabled": False}}, "auto", True, "no agent dreams here"),
        ("nanobot 0.2.2", {}, "auto", False, "the agent's own Dream is enabled"),
        ("nanobot 0.1.5", {"dream": {"enabled": False}}, "auto", False, "only 0.2.1 reads agents.defaults.dream"),
        ("nanobot 0.1.5", {}, "auto", False, "dreams by itself"),
        ("nanobot 0.1.4", {}, "auto", True, "no agent"),
        ("ram-first", {}, "auto", True, "no agent"),
        ("plain Markdown", None, "off", False, "off"),
    ],
)
def test_whether_it_is_on(tmp_path, release, config, setting, on, said):
    at = Clocked(Bench(home(tmp_path, config)), NOBODY._replace(release=release))
    at.set(dream_schedule=setting)
    at.on.remember("- [durable] User likes tea")
    plan = at.schedule.plan()
    assert (plan.on, said in plan.why) == (on, True), plan.why
    assert at.step() == ("dreamt" if on else "off")
    assert at.cursor == int(on)
    assert at.schedule.status()["on"] is on


def test_an_agent_that_runs_here_counts_whatever_the_configuration_names(tmp_path):
    at = Clocked(Bench(home(tmp_path, {"workspace": "/"})), NOBODY._replace(release="nanobot 0.3.5"))
    at.presence = Presence(True, 7, "nanobot gateway")
    assert (at.schedule.plan().on, "nanobot gateway runs here" in at.schedule.plan().why) == (False, True)


def test_the_samples_dream_by_themselves(sample_copy):
    for name, on in (("nb035", False), ("v0_1_5", False), ("ramfirst", True)):
        found = paths.find_workspace(sample_copy(name) / "home" / ".nanobot" / "workspace")
        at = Clocked(Bench(found), agents_layout.detect(found))
        assert at.schedule.plan().on is on, at.schedule.plan().why


# Never two at once


@contextmanager
def held(file):
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@pytest.mark.parametrize("name", ["dream-schedule.lock", "dream.lock"])
def test_another_schedule_or_dream_is_waited_for(at, name):
    at.on.remember("- [durable] User likes tea")
    with held(at.paths.data / name):
        assert at.step() == "busy"
        assert (at.cursor, at.schedule.status()["failures"]) == (0, 0)
    assert at.step() == "dreamt"


def test_who_does_not_lead_waits_for_who_does(at):
    """Another machine that shares the memory dreams just now."""
    at.on.remember("- [durable] User likes tea")
    at.leads = False
    assert at.step() == "busy"
    assert at.cursor == 0
    at.leads = True
    assert at.step() == "dreamt"


def test_a_dream_of_the_agent_is_waited_for(at):
    at.on.remember("- [durable] User likes tea")
    at.set(dream_schedule="on")
    at.on.presence = Presence(True, 7, "nanobot gateway", dreaming=True)
    assert at.step() == "busy"
    at.on.presence = Presence()
    assert at.step() == "dreamt"


def test_it_ends_between_two_steps_and_changes_nothing(at):
    at.on.remember("- [durable] User likes tea")
    asked: list[int] = []

    def stopped():
        asked.append(1)
        return len(asked) > 1

    assert at.step(stopped=stopped) == "stopped"
    assert (at.cursor, at.on.done, at.schedule.status()["failures"]) == (0, [], 0)
    assert at.step() == "dreamt"


# Failures


def test_a_failure_is_tried_again_later_each_time_and_never_later_than_the_interval(at, dreamers):
    dreamers("model", Choking(ModelUnavailable("nobody answers")))
    at.on.remember("- poison")
    waited = []
    for _ in range(9):
        assert at.step() == "failed"
        with clock.at(at.now):
            due = at.schedule.next_at()
        waited.append(round((due - at.now).total_seconds() / 60))
        at.later(due - at.now - timedelta(seconds=1))
        assert at.step() == "waiting"
        at.later(timedelta(seconds=2))
    assert waited == [1, 2, 4, 8, 16, 32, 64, 120, 120]
    assert backoff(10_000, 2 * HOUR) == 2 * HOUR
    status = at.schedule.status()
    assert (status["failures"], "nobody answers" in status["error"], at.cursor) == (9, True, 0)
    dreamers("model", Choking(ModelUnavailable("x")))
    at.on.paths.history.write_text(at.on.paths.history.read_text().replace("poison", "tea"))
    at.later(3 * HOUR)
    assert at.step() == "dreamt"
    assert at.schedule.status()["failures"] == 0


@pytest.mark.parametrize("error", [ModelRefused("a filter"), ValueError("a mistake of ours"), RecursionError()])
def test_a_poisoned_entry_is_left_to_the_rules_and_the_others_to_the_model(at, dreamers, error):
    model = Choking(error)
    dreamers("model", model)
    at.on.remember(*(f"- entry {n}" for n in range(1, 12)), "- [durable] User has a poison cabinet", "- last")
    kinds = []
    while at.cursor < 13:
        kinds.append(at.step())
        at.later(3 * HOUR)
        assert len(kinds) < 40, "it must come to an end"
    text = at.on.texts()["USER.md"] or ""
    assert all(f"- entry {n}\n" in text for n in range(1, 12))
    assert text.endswith("- last\n")
    assert "poison cabinet" in "".join(filter(None, at.on.texts().values())), "the rules read it"
    assert at.schedule.status()["passed"] == []
    assert min(model.sizes) == 1


def test_an_entry_that_breaks_every_dreamer_is_passed_over_and_told(at, dreamers):
    dreamers("model", Choking(ModelRefused("a filter")))
    dreamers("rules", Choking(ValueError("a mistake of ours"), "rules"))
    at.on.remember("- poison", "- tea")
    before = at.on.paths.history.read_bytes()
    kinds = []
    while at.cursor < 2:
        kinds.append(at.step())
        at.later(3 * HOUR)
        assert len(kinds) < 20, "it must come to an end"
    assert kinds.count("passed") == 1
    assert at.schedule.status()["passed"] == [1]
    assert "passed over entry 1" in "".join(commit.subject for commit in at.dream.commits())
    assert at.on.paths.history.read_bytes() == before
    assert "- tea" in (at.on.texts()["USER.md"] or "")


def test_a_file_that_cannot_be_read_makes_no_entry_go_unread(at):
    at.on.remember("- [durable] User likes tea")
    (at.paths.workspace / "USER.md").write_bytes(b"\xff\xf8 no text")
    for _ in range(12):
        assert at.step() == "failed"
        at.later(3 * HOUR)
    assert at.cursor == 0
    (at.paths.workspace / "USER.md").write_text("# User\n")
    assert at.step() == "dreamt"


def test_lines_that_cannot_be_read_are_kept_and_passed(at):
    at.on.remember("- [durable] User likes tea")
    with at.paths.history.open("ab") as file:
        file.write(b'{"cursor": 2, "timestamp": "\xff\n{"broken\n')
    at.on.remember("- [durable] User likes rain", first=3)
    with clock.at(at.now):
        outcome = at.schedule.step()
    assert (outcome.kind, at.cursor) == ("dreamt", 3)
    assert "2 lines of history.jsonl cannot be read (2, 3)" in outcome.said
    kept = {path.read_bytes() for path in at.paths.quarantine.iterdir()}
    assert kept == {b'{"cursor": 2, "timestamp": "\xff\n', b'{"broken\n'}
    at.later(3 * HOUR)
    assert at.step() == "nothing"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"at": 3}', b"\xff", b'{"at": "x", "failures": "y"}'])
def test_a_broken_memory_of_the_schedule_is_begun_anew(at, data):
    at.on.remember("- [durable] User likes tea")
    at.paths.data.mkdir(parents=True)
    (at.paths.data / "dream-schedule.json").write_bytes(data)
    assert at.step() == "dreamt"
    assert json.loads((at.paths.data / "dream-schedule.json").read_bytes())["failures"] == 0


def test_a_clock_that_was_put_back_does_not_stop_it_for_years(at):
    at.on.remember("- [durable] User likes tea")
    at.step()
    at.on.remember("- [durable] User likes rain")
    at.now -= 400 * 24 * HOUR
    assert at.step() == "waiting"
    at.later(0 * HOUR)
    with clock.at(at.now):
        assert at.schedule.next_at() <= at.now + 2 * HOUR
