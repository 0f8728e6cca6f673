"""What a folder, a cron line and an address must be to be used as a setting.

Owns these checks. Must not know which setting asks.
"""

from __future__ import annotations

import os.path
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

LONGEST_NAME = 40
"""Characters of the name of a workspace."""


def folder_trouble(value: str, workspace: Path | None) -> str:
    """Why session state cannot lie there; a path that is not relative is one of a certain workspace."""
    base = str(workspace or "/workspace")
    folder = os.path.normpath(os.path.join(base, value))
    if folder != base and folder.startswith(os.path.join(base, "")):
        return ""
    return "it must be a folder inside the workspace"


def cron_trouble(cron: str) -> str:
    """Why a cron expression cannot be used; "" when it can, or when there is none."""
    if not cron:
        return ""
    from cronsim import CronSim, CronSimError  # only where one is set

    if len(cron.split()) != 5:
        return "five fields are wanted"
    try:
        next(CronSim(cron, datetime(2026, 1, 1)))
    except (CronSimError, StopIteration) as error:
        return str(error) or "it names no time"
    return ""


def address_trouble(value: str) -> str:
    """Why nobody can be asked at an address; "" when somebody can, or when there is none. Repeats no word of it: it may
    hold a password."""
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "it is no address"
    if not usable:
        return "it must begin with http:// or https:// and a host"
    return "a name or a password does not belong into it" if "@" in parts.netloc else ""


def named_path(entry: str) -> tuple[str, str]:
    """The name ("" for none) and the path of an entry of `workspaces`: PATH, or NAME=PATH."""
    name, sign, path = entry.partition("=")
    named = bool(sign) and "/" not in name and not name.startswith("~")
    return (name.strip(), path.strip()) if named else ("", entry.strip())


def workspace_trouble(entry: str) -> str:
    """Why an entry of `workspaces` names no place that is the same from everywhere; "" when it does."""
    name, path = named_path(entry)
    if not path.startswith(("/", "~")):
        return "a whole path is wanted, from / or ~"
    return "" if len(name) <= LONGEST_NAME else f"the name has more than {LONGEST_NAME} characters"
