"""What a folder, a cron line and an address must be to be used as a setting.

Owns these checks. Must not know which setting asks.
"""

from __future__ import annotations

import os.path
import re
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

LONGEST_NAME = 40
"""Characters of the name of a workspace."""
_POSTGRES = re.compile(r"postgres(ql)?(\+psycopg)?://")
_WORDS = re.compile(r"\s*[a-z_]+\s*=")
"""How an address begins that is written as libpq's own words are: `host=… dbname=…`."""
_ODD_PASSWORD = re.compile(r"[^@/:\[]*:(?!\d*[/,?])[^@]+@")
"""A name and a password with a sign in it that ends the host of an address."""
_SHOWN = re.compile(r"(?P<before>//)[^/\s:]*:\S*(?=@)|(?P<word>password\s*=\s*)(?:'[^']*'|[^&\s'\"]+)", re.IGNORECASE)


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


def address_trouble(value: str, *, user: bool = False, port: bool = False) -> str:
    """Why nobody can be asked at an address; "" when somebody can, or when there is none. Repeats no word of it: it may
    hold a password. `user`: it may name one; `port`: it has to name one."""
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "it is no address"
    if not usable:
        return "it must begin with http:// or https:// and a host"
    if "@" in parts.netloc and not user:
        return "a name or a password does not belong into it"
    return "it must name a port" if port and parts.port is None else ""


def is_postgres(value: str) -> bool:
    """Whether an address can be one of a PostgreSQL database; asked without its driver, which may not be installed."""
    return bool(_POSTGRES.match(value) or _WORDS.match(value))


def holds_password(value: str) -> bool:
    """Whether the address of a PostgreSQL database has a password in it."""
    begin = _POSTGRES.match(value)
    if begin is None:
        return re.search(r"\bpassword\s*=\s*(?!'')\S", value) is not None
    rest = value[begin.end() :]
    user = rest.partition("/")[0].rpartition("@")[0]
    asked = dict(parse_qsl(rest.partition("?")[2]))
    return bool(user.partition(":")[2] or _ODD_PASSWORD.match(rest) or asked.get("password"))


def without_password(text: str) -> str:
    """An address as it may be shown."""
    if is_postgres(text) and not holds_password(text) and "password" not in text.lower():
        return text
    return _SHOWN.sub(lambda found: f"{found['before'] or found['word']}…", text)


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
