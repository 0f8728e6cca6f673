"""`nanomem dream schedule`: run Dreams by schedule in the foreground, or print the units that start it.

Facts are looked for in the same loop, where `crystallize_schedule` is set. Each round opens the workspace anew, so
that settings count as they are then, and nothing is held between two rounds.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.options import Command, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core import clock, errors

if TYPE_CHECKING:
    from nanomem_tui.dreams.schedule import Outcome, Plan
    from nanomem_tui.workspace import Workspace

LOOK_SECONDS = 60.0  # at most, between two looks at settings and agent
CRON_MINUTES = 10
_CODES = {"dreamt": 0, "passed": 0, "crystallized": 0, "failed": errors.NanomemError.exit_code}


@click.command("schedule", cls=Command)
@click.option("--once", is_flag=True, help="Look once: a Dream if one is due (else exit code 1), then end.")
@click.option("--print", "unit", type=click.Choice(["systemd", "cron"]), help="Print what starts it, and end.")
@pass_state
def schedule(state: State, once: bool, unit: str | None) -> int:
    """Dreams by themselves, every `dream_interval_h` hours, until it is told to end (SIGTERM, ctrl+c).

    Off while the agent dreams by itself, unless `dream_schedule` is on; what is decided later is seen within a minute.
    A Dream that fails is tried again after a minute, then after twice as long each time, at most an interval. Where
    `crystallize_schedule` is set, facts are looked for too (`nanomem crystallize`); what a person has to judge waits.

    \b
    Example:
      nanomem dream schedule
      nanomem dream schedule --print systemd > ~/.config/systemd/user/nanomem-dream.service
    """
    if unit is not None:
        return _print_unit(state, unit)
    with Ending() as ending:
        if once:
            outcome, facts = _run_step(state, ending, set())
            _tell(state, outcome, facts)
            return _code(outcome, facts)
        _until_ended(state, ending)
    return 0


def _code(outcome: Outcome, facts: Outcome) -> int:
    """A failure before what was done, that before nothing."""
    nothing = errors.NothingToDo.exit_code
    codes = {_CODES.get(one.kind, nothing) for one in (outcome, facts)}
    return next((code for code in (errors.NanomemError.exit_code, 0) if code in codes), nothing)


class Ending:
    """While it lasts SIGTERM, SIGINT and SIGHUP do not end the program, but ask it to."""

    SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        for number in self.SIGNALS:
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        os.write(self._write, b"x")

    def wait(self, seconds: float) -> bool:
        """Whether it was asked to end before so many seconds were over."""
        if not self.asked:
            select.select([self._read], [], [], max(seconds, 0.0))
        return self.asked


def _until_ended(state: State, ending: Ending) -> None:
    said: Sequence[tuple[str, str]] = ()
    noted: set[str] = set()
    facts: Outcome | None = None
    while not ending.asked:
        try:
            outcome, facts = _run_step(state, ending, noted)
        except (errors.NanomemError, OSError) as error:
            if not said:
                raise  # it never worked
            from nanomem_tui.dreams.schedule import Outcome

            outcome, facts = Outcome("failed", errors.shown_error(error).line()), None
        found = [(one.kind, one.said) for one in (outcome, facts) if one is not None]
        if found != said:
            changed = [one for one in (outcome, facts) if one is not None and (one.kind, one.said) not in said]
            _tell(state, outcome if outcome in changed or state.json else None, facts if facts in changed else None)
            said = found
        ending.wait(min(_seconds_until(one) for one in (outcome, facts or outcome)))
    _tell_end(state)


def _run_step(state: State, ending: Ending, said: set[str]) -> tuple[Outcome, Outcome]:
    """A step of both schedules; before them, once, what is wrong with the settings."""
    from nanomem_tui.dreams.schedule import CrystallizeSchedule, DreamSchedule
    from nanomem_tui.store import processes

    with state.open() as ws, processes.shared_use(ws.paths):
        plan = DreamSchedule(ws).plan()
        if plan.trouble not in ("", *said):
            output.notes([f"Note: {plan.trouble}"])
            said.add(plan.trouble)
        _consolidate(state, ws, ending)
        outcome = DreamSchedule(ws).step(stopped=lambda: ending.asked)
        return outcome, CrystallizeSchedule(ws).step(stopped=lambda: ending.asked)


def _consolidate(state: State, ws: Workspace, ending: Ending) -> None:
    """Archive the oldest part of sessions that are over their budget, and say so in a line each."""
    try:
        done = ws.consolidator.consolidate_due(stopped=lambda: ending.asked)
    except errors.Refused:  # another process is at it
        return
    for operation, _ in done:
        if state.json:
            output.json_line(_body("consolidated", operation.label))
        else:
            _line(operation.label)


def _seconds_until(outcome: Outcome) -> float:
    if outcome.kind in ("dreamt", "passed", "crystallized"):
        return 0  # the next look says when the next one is due
    if outcome.next_at is None:
        return LOOK_SECONDS
    return min(max((outcome.next_at - clock.now()).total_seconds(), 1.0), LOOK_SECONDS)


def _tell(state: State, outcome: Outcome | None, facts: Outcome | None) -> None:
    """A line for each; of a failure on stderr too, where cron looks. Facts that nobody looks for are not told."""
    if facts is not None and facts.kind == "off":
        facts = None
    if state.json:
        beside = {"crystallize": facts.to_json()} if facts else {}
        if outcome is not None:
            result = outcome.result.to_json() if outcome.result else None
            output.json_line({"at": clock.iso(clock.now()), **outcome.to_json(), "result": result, **beside})
    for one in (outcome, facts):
        if one is None:
            continue
        if one.kind == "failed":
            output.error_line(one.said)
        elif not state.json:
            words = one.said if one.kind in ("dreamt", "passed", "crystallized") else f"{one.kind}: {one.said}"
            _line(words)


def _tell_end(state: State) -> None:
    if state.json:
        output.json_line(_body("ended", "told to end"))
    else:
        _line("ended: told to end")


def _body(kind: str, said: str) -> dict[str, Any]:
    return {"at": clock.iso(clock.now()), "kind": kind, "said": said, "next_at": None, "result": None}


def _line(words: str) -> None:
    output.lines([f"{clock.local_minute(clock.now())} {words}"])


def _print_unit(state: State, unit: str) -> int:
    from nanomem_tui.dreams.schedule import DreamSchedule

    with state.open() as ws:
        plan = DreamSchedule(ws).plan()
        lines = _systemd(ws) if unit == "systemd" else _cron(ws, plan)
    if plan.trouble and plan.on:
        output.notes([f"Note: {plan.trouble}"])
    if not plan.on:
        output.notes([f"Note: as things are no Dream would run: {plan.why}"])
    state.show({"unit": unit, "text": "\n".join(lines) + "\n", "on": plan.on, "why": plan.why}, lines)
    return 0


def _command(ws: Workspace) -> list[str]:
    """The program as it was started, with the workspace by its full path. Raises BadInput for an unprintable one."""
    own = shutil.which(sys.argv[0]) if os.path.basename(sys.argv[0]) == "nanomem" else None
    program = [os.path.abspath(own)] if own else [sys.executable, "-m", "nanomem_tui"]
    words = [*program, "--workspace", str(ws.paths.workspace), "dream", "schedule"]
    if not all(word.isprintable() for word in words):
        raise errors.BadInput("a path that no unit can name", str(ws.paths.workspace), "give the folder another name")
    return words


def _systemd(ws: Workspace) -> list[str]:
    environment = [f"Environment={_quoted(f'NANOMEM_CONFIG={path}')}" for path in _own_config()]
    if ws.settings.dreamer == "model" and ws.settings.model_base_url:
        environment.append(f"# EnvironmentFile=: a file of yours (0600) that sets {ws.settings.model_key_env}")
    return [
        "# ~/.config/systemd/user/nanomem-dream.service",
        "# systemctl --user daemon-reload && systemctl --user enable --now nanomem-dream",
        "[Unit]",
        "Description=Dreams of an agent's memory, by nanomem",
        "",
        "[Service]",
        f"ExecStart={' '.join(_quoted(word).replace('$', '$$') for word in _command(ws))}",
        *environment,
        "Restart=on-failure",
        "RestartSec=60",
        "TimeoutStopSec=180",
        "UMask=0077",
        "Nice=10",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]


def _quoted(word: str) -> str:
    """A word of a unit between quotes, with what systemd would replace there doubled."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _cron(ws: Workspace, plan: Plan) -> list[str]:
    environment = [f"NANOMEM_CONFIG={path}" for path in _own_config()]
    words = [*(["env", *environment] if environment else []), *_command(ws), "--once"]
    line = " ".join(map(shlex.quote, words)).replace("%", "\\%")
    minutes = _with_facts(ws, _minutes(ws, plan))
    return [
        "# crontab -e; each look takes a moment, and a Dream runs when one is due",
        f"{minutes} * * * * {line} >/dev/null",
    ]


def _minutes(ws: Workspace, plan: Plan) -> str:
    """At which minutes of each hour cron has to look: those at which a Dream may be due."""
    from nanomem_tui.agents.releases import zone_of

    if not plan.cron:
        return f"*/{CRON_MINUTES}" if plan.every.total_seconds() / 60 >= 2 * CRON_MINUTES else "*"
    now = clock.now()
    there, here = (now.astimezone(zone).utcoffset() for zone in (zone_of(ws.paths), None))
    apart = ((there or timedelta()) - (here or timedelta())).total_seconds()
    return "*" if apart % 3600 else plan.cron.split()[0]


def _with_facts(ws: Workspace, minutes: str) -> str:
    """And the minutes at which facts may be due: named where the looks for Dreams do not come at them anyway."""
    if not (facts := ws.settings.crystallize_schedule.split()[:1]):
        return minutes
    looks, due = _minutes_of(minutes), _minutes_of(facts[0])
    if due <= looks or looks <= due:
        return minutes if due <= looks else facts[0]
    return ",".join(map(str, sorted(looks | due)))


def _minutes_of(field: str) -> set[int]:
    from cronsim import CronSim

    return set(CronSim(f"{field} * * * *", clock.now()).minutes)


def _own_config() -> Sequence[str]:
    """The settings file that the environment names, where it does."""
    chosen = os.environ.get("NANOMEM_CONFIG", "")
    return [os.path.abspath(os.path.expanduser(chosen))] if chosen else []
