"""What becomes of the work of a real agent beside ours, and of damaged files, each counted as (tried, broken), by the
parts that its tests use. For `trust.py`."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import _promises

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ROOT = Path(__file__).resolve().parents[1]
OLD, NEW = "0.1.5", "0.3.5"
"""The release whose sessions are hidden, and the one that hides them."""
SESSIONS = ("cli:direct", "telegram:4711", "telegram:-100123", "slack:T1_C2", "discord:99/12", "email:ana@example.org",
            "whatsapp:49 170", "feishu:群聊")  # fmt: skip
WRITE = """
import json, sys
from pathlib import Path
from nanobot.session.manager import SessionManager
sessions = SessionManager(Path(sys.argv[1]))
for key in json.loads(sys.argv[2]):
    session = sessions.get_or_create(key)
    session.add_message("user", f"this is {key}")
    sessions.save(session)
"""
LIST = """
import json, sys
from pathlib import Path
from nanobot.session.manager import SessionManager
sessions = SessionManager(Path(sys.argv[1]))
found = [row["key"] for row in sessions.list_sessions()]
print(json.dumps([key for key in found if sessions.get_or_create(key).messages]))
"""


def peer(release: str) -> Path:
    """The interpreter of a release of nanobot-ai (`make peers`)."""
    return ROOT / ".peers" / f"nanobot-{release}" / "bin" / "python"


def beside(folder: Path) -> tuple[int, int] | None:
    """Entries, messages, lines and items that releases of the agent and a person beside them were told are kept, and
    those that are not; None where no release is installed."""
    from tests.interop import test_full_speed

    told = lost = 0
    for release in test_full_speed.RELEASES:
        if not peer(release).exists():
            continue
        home = test_full_speed.furnished(Path(tempfile.mkdtemp(dir=folder)))
        before, os.environ["HOME"] = os.environ["HOME"], str(home)
        try:
            both = test_full_speed.beside(peer(release), home)
        finally:
            os.environ["HOME"] = before
        told += sum(map(len, both.wrote.values())) + len(both.person.items) + len(both.person.lines)
        lost += len(both.lost())
    return (told, lost) if told else None


def hidden(folder: Path) -> dict[str, tuple[int, int]] | None:
    """Conversations of an old release: those that the new one does not find, and does not find after a rescue; None
    where the two are not installed."""
    if not (peer(OLD).exists() and peer(NEW).exists()):
        return None
    from tests.interop import test_full_speed

    home = test_full_speed.furnished(Path(tempfile.mkdtemp(dir=folder)))
    workspace = home / ".nanobot" / "workspace"
    environment = {**os.environ, "HOME": str(home)}

    def run(*words: str | Path) -> str:
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True, cwd=ROOT)
        return done.stdout

    def missing() -> int:
        return len(set(SESSIONS) - set(json.loads(run(peer(NEW), "-c", LIST, workspace))))

    run(peer(OLD), "-c", WRITE, workspace, json.dumps(SESSIONS))
    upgraded = missing()
    run(sys.executable, "-m", "nanomem_tui", "--workspace", workspace, "session", "rescue", "--yes")
    return {"nanomem": (len(SESSIONS), missing()), "nanobot-ai history": (len(SESSIONS), upgraded)}


def damaged(folder: Path) -> tuple[int, int]:
    """Files of a memory, each damaged in each way, and those that cost more than is told, or were not put right."""
    from tests.crash import damages, test_every_file

    full = test_every_file.filled(Path(tempfile.mkdtemp(dir=folder)))
    tried = broken = 0
    for damage in damages.DAMAGES:
        number, wrong = test_every_file.try_every(full, Path(tempfile.mkdtemp(dir=folder)), damage, 0)
        tried += number
        broken += len({line.partition(":")[0] for line in wrong})
        for line in wrong:
            print(damage, line)
    return tried, broken


def backups(folder: Path, trials: int, random_: random.Random) -> tuple[int, int]:
    """Damaged backups, and those that were taken for whole though not all was as it went in."""
    from nanomem_tui import open_workspace
    from nanomem_tui.agents.releases import detect
    from nanomem_tui.core.errors import NanomemError
    from nanomem_tui.core.paths import find_workspace
    from nanomem_tui.store.moving import backup

    workspace = _promises.new_home(folder)
    with open_workspace(workspace) as ws:
        for number in range(60):
            ws.items.add(f"entry {number} is kept")
    paths = find_workspace(workspace)
    whole = backup.make_backup(paths, detect(paths)).path
    good = {entry.path: entry.sha256 for entry in backup.check_archive(whole)[0].entries}
    unseen = 0
    for _ in range(trials):
        content = bytearray(whole.read_bytes())
        at = random_.randrange(len(content))
        if random_.random() < 0.3:
            del content[at:]
        else:
            content[at] ^= random_.randrange(1, 256)
        bad = whole.with_name(f"bad-{whole.name}")
        bad.write_bytes(content)
        try:
            manifest, problems = backup.check_archive(bad)
        except NanomemError:
            continue
        unseen += not problems and {entry.path: entry.sha256 for entry in manifest.entries} != good
    return trials, unseen
