"""A labelled memory: some five hundred items of junk, each with why it is junk and what is right to do with it, and two
hundred good ones that nobody wants to be asked about.

The words are in `junk_data/`: a head line `# kind | decisions | fields` and one item a line, with its own fields behind
`@@`. Keys and passwords are put together here, so that none stands in a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core import clock
from nanomem_tui.core.operations import new_operation
from nanomem_tui.language.secrets import Secret
from nanomem_tui.review.finders.rows import Rows
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace, open_workspace

DATA = Path(__file__).resolve().parent / "junk_data"
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
PARTS = ("danger", "restated", "dated", "idle", "good", "second", "leaks")
HELD_OUT = ("held_out",)
SESSIONS = ("telegram:501", "slack:C0ENG", "feishu:ou_nora", "cli:direct", "discord:887")
"""The sessions that are there; items name others too."""


class Labelled(NamedTuple):
    """An item with its label: the kind of junk that it is (`good`: none), and the decisions that are right, the best
    first."""

    item: Item
    kind: str
    decisions: tuple[str, ...]


@lru_cache(2)
def labelled(parts: tuple[str, ...] = PARTS) -> tuple[Labelled, ...]:
    """The items of these parts, in the order of the files."""
    lines = [line for part in parts for line in _lines((DATA / f"{part}.txt").read_text(encoding="utf-8"))]
    words = cycle(("Korhoen", "Merel", "Zilver", "Anker", "Baken", "Vuurtoren"))
    sessions = cycle(SESSIONS)
    return tuple(_made(number, line, next(words), next(sessions)) for number, line in enumerate(lines))


def secrets_of(text: str) -> list[Secret]:
    """The secrets that the finders see in an item that says this."""
    return list(Rows(cast("Any", None)).secrets(Item("it", text)))


def write_home(folder: Path, parts: tuple[str, ...] = PARTS) -> Path:
    """A workspace with these items, the boot files and the sessions; returns its folder."""
    home = folder / "workspace"
    (home / "memory").mkdir(parents=True)
    (home / "sessions").mkdir()
    boot = (DATA / "boot.txt").read_text(encoding="utf-8")
    for name, text in re.findall(r"^=== (\S+)\n(.*?)(?=^===|\Z)", boot, re.MULTILINE | re.DOTALL):
        (home / name).write_text(text, encoding="utf-8")
    for key in SESSIONS:
        (home / "sessions" / key_to_name(key)).write_text(f'{{"_type": "metadata", "key": "{key}"}}\n')
    with clock.at(NOW), open_workspace(home) as ws:
        put(ws, parts)
    return home


def put(ws: Workspace, parts: tuple[str, ...] = PARTS) -> None:
    """Put these items into a workspace, as one operation of the agent, which no undo of a person takes back."""
    days = [
        Item(f"ltm_day_{n}", f"number {n} of the diary", pinned=True, created_at=_ago(n), updated_at=_ago(n))
        for n in range(2, 1200, 5)  # a memory that is used: its time does not stand still
    ]
    changes = [change_of("item", None, row) for row in (*(one.item for one in labelled(parts)), *days)]
    ws.perform(new_operation("test.put", "a labelled memory", changes, actor="agent"))


def _lines(text: str) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Kind, text and fields of each item."""
    kind, given = "", dict[str, str]()
    for line in text.splitlines():
        if line.startswith("# "):
            kind, decide, fields = (part.strip() for part in line[2:].split("|", 2))
            given = {"decide": decide.replace(" ", ","), **_fields(fields)}
        elif line.strip():
            words, _, own = line.partition(" @@ ")
            yield kind, words.strip(), {**given, **_fields(own)}


def _fields(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split())


def _made(number: int, line: tuple[str, str, Mapping[str, str]], word: str, session: str) -> Labelled:
    kind, text, fields = line
    made = _ago(float(fields["age"]) + number % 7 / 24)
    key = fields.get("session", session)
    scope = fields.get("scope", "user" if fields["kind"] in ("preference", "fact") else "chat")
    channel, _, chat = key.partition(":")
    sender = fields.get("sender", "nora")
    whose = sender if "sender" in fields and scope == "user" else chat
    place = "workspace:labelled:global" if scope == "global" else f"channel:{channel}:{scope}:{whose}"
    item = Item(
        id=f"ltm_{1_700_000_000_000 + number}_{number}", text=_filled(text, word), kind=fields["kind"],
        scope_type=scope,
        scope_key=place, channel=channel, chat_id=chat, session_key=key,
        sender_id=sender, source=fields["source"], source_role="user", created_at=made, updated_at=made,
        last_accessed_at=_ago(float(fields["used"])) if "used" in fields else None, hits=int(fields["hits"]),
        importance=float(fields.get("importance", 0.7)), pinned=fields.get("pinned") == "yes",
    )  # fmt: skip
    return Labelled(item, kind, tuple(fields["decide"].split(",")))


def _ago(days: float) -> str:
    return clock.iso(NOW - timedelta(days=days))


def _filled(text: str, word: str) -> str:
    """The text with what is put together here in place of its names in braces."""
    return re.sub(r"\{(\w+)((?: \d+)*)\}", lambda found: _part(found[1], found[2].split(), word), text)


def _part(name: str, numbers: list[str], word: str) -> str:
    if name == "word":
        return word
    if name in KEYS:
        return KEYS[name]
    start, count = (0, *map(int, numbers))[-2:]
    lines = LONG[name]
    return " ".join(islice(cycle(lines), start % len(lines), start % len(lines) + count))


_RANDOM = "q8Wz3Kd7Lx2Vb9Nm4Tp6Rj1Hs5Gc0Fy8Ua3Ei7Oq2"
KEYS: Mapping[str, Any] = {
    "ghp": f"ghp_{_RANDOM[:36]}",
    "openai": f"sk-proj-{_RANDOM}",
    "anthropic": f"sk-ant-api03-{_RANDOM}",
    "aws": "AKIA" + "J7Q2M5X8R4T6W9Z3",
    "awssecret": f"{_RANDOM[:20]}/{_RANDOM[:19]}",
    "slack": f"xoxb-2210{'4417'}55-{_RANDOM[:24]}",
    "webhook": f"https://hooks.slack.com/services/T04{'QX7'}/B09/{_RANDOM[:24]}",
    "stripe": f"sk_live_{_RANDOM[:24]}",
    "google": f"AIza{_RANDOM[:35]}",
    "hf": f"hf_{_RANDOM[:34]}",
    "npm": f"npm_{_RANDOM[:36]}",
    "telegram": f"7120934455:AA{_RANDOM[:33]}",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ0ZXN0{_RANDOM[:8]}.{_RANDOM[:30]}",
}
LONG: Mapping[str, tuple[str, ...]] = {
    "notes": tuple(
        "The museum wants the pilot to begin before the tide tables change. Pim showed three drafts of the icons. "
        "Olga asked who pays for the second sensor batch. The port authority sends its numbers as a spreadsheet. Marek "
        "measured a loss of four packets in a thousand. Nobody knew why the cable on quay six was cut. The ticket "
        "office closes half an hour before the museum. Ines proposed to split the schema in two. The first half holds "
        "what a visitor sees. The second half is for the harbour master. Sem will write the importer with a test for "
        "each column. The old dump has rows without a date. Those rows are kept in a table of their own. The demo is "
        "shown on the grey laptop. A projector stands in the cupboard behind the bar. Two people asked for a Frisian "
        "version. The texts are translated by the museum. Sensors report every fifteen minutes, at night every hour. "
        "Batteries last eight months at that rate. A spare set lies in the lock house. The flat should have a balcony "
        "and a bath. The kitchen of the second one was too dark. The third was above a bar. The fourth had a garden "
        "but no lift. Storms are forecast by the model of the coast guard. Its licence allows use in public "
        "displays. The dashboard shows the last six hours. Visitors may scroll back one week. The audio guide reads "
        "the level aloud. Volunteers were trained in two groups.".split(". ")
    ),
    "log": tuple(
        f"2026-05-0{n % 9 + 1} 03:{n:02}:17 ERROR collector[{700 + n}]: write failed: {{code=E{n}}} retry in {n} s;"
        for n in range(1, 20)
    ),
    "code": (
        "```python\nfor row in rows:\n    check(row)\n",
        "def parse(line):\n    return line.split(';')\n",
        "if not found: raise KeyError(name)\n",
        "retries: 3\ntimeout: 30\nhosts:\n  - tide.internal\n  - heron.internal\n",
        "SELECT level, at FROM tide WHERE at > now() - interval '6 hours';\n",
    ),
    "zh": (
        "博物馆希望在潮汐表更新之前开始试点。",
        "港务局每周一发来一份表格，格式和去年的不一样。",
        "传感器白天每十五分钟上报一次，夜里每小时一次。",
        "电池按这个频率大约能用八个月，备用的放在船闸的小屋里。",
        "讲解词由博物馆自己翻译，还要一个弗里斯兰语的版本。",
        "老数据里有些行没有日期，先单独放一张表。",
        "演示用灰色的笔记本，投影仪在吧台后面的柜子里。",
        "志愿者分两组培训，第二组下午开始，材料各印三十份。",
    ),
}
