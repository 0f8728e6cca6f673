"""A real nanobot-ai 0.3.5 on one home, driven in its own environment (`make peers`)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / ".peers" / "nanobot-0.3.5" / "bin" / "python"
DRIVER = Path(__file__).with_name("nanobot_driver.py")


@dataclass(frozen=True)
class Agent:
    """The agent on one home; every call is a new process, as after a restart."""

    sample: Path

    @property
    def home(self) -> Path:
        return self.sample / "home"

    @property
    def workspace(self) -> Path:
        return self.home / ".nanobot" / "workspace"

    def expected(self, name: str) -> str:
        """What this release printed when the sample was made."""
        return (self.sample / name).read_text(encoding="utf-8")

    def run(self, *arguments: str, script: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """One subcommand of the driver; its proxies lead nowhere, so a call to the network fails."""
        nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8", **nowhere}
        done = subprocess.run(
            [PEER, DRIVER, *arguments],
            input=json.dumps(list(script)),
            env=environment,
            cwd=self.home,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def reply(self, *arguments: str) -> str:
        return str(self.run(*arguments)["reply"]).rstrip("\n")

    def sees(self) -> str:
        """The system prompt of its next turn."""
        first = self.run("turn", "hello")["calls"][0]["messages"][0]
        assert first["role"] == "system"
        return str(first["content"])

    def sessions(self) -> dict[str, dict[str, Any]]:
        return {row["key"]: row for row in self.run("sessions")["sessions"]}

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.workspace), *arguments]
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
