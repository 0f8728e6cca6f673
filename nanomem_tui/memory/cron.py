"""When a cron line comes next, in the time zone that the agent's configuration means. Reads one file."""

from __future__ import annotations

from datetime import datetime, tzinfo

from nanomem_tui import clock
from nanomem_tui.formats import agent_home
from nanomem_tui.paths import Paths


def cron_next(cron: str, after: datetime, zone: tzinfo | None) -> datetime:
    """The first time after `after` that a cron line names; `zone`: in which it is meant (None: that of here)."""
    from cronsim import CronSim

    local = after.astimezone(zone)
    return next(CronSim(cron, local)).astimezone(clock.now().tzinfo)


def zone_of(paths: Paths) -> tzinfo | None:
    """The time zone of the agent's configuration, in which its cron lines are meant; None for that of this machine."""
    name = agent_home.agent_settings(paths)[0].get("defaults", {}).get("timezone")
    if not isinstance(name, str) or not name:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None
