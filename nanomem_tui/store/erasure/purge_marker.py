"""The mark that lies in our folder while something is taken out of all that is stored: what is left of it tells that a
`forget` or a mask was interrupted, and which command ends it. Of texts it holds keyed hashes, as `forgotten.json` does.

Must not know how anything is taken out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.paths import Paths
from nanomem_tui.store.erasure import forgotten
from nanomem_tui.store.erasure.forgotten import NOTHING, Forgotten

FILE = "forgetting.json"
Things = Mapping[str, Iterable[str]]


class Mark(NamedTuple):
    """What did not come to its end. `kind`: forget or scrub; `receipt`: the id that its receipt is to have; `asked`:
    how many texts, ids, sessions or persons; `options`: what else of it was asked for; `parts`: words that stand inside
    longer ones were meant too, which no hash tells.

    `kept`: all that stays forgotten; `sought`: what else is looked for everywhere, `rows` in documents and in the
    archive, `said` in the archive: nothing may tell it any more once a part is gone."""

    kind: str
    receipt: str
    at: str
    asked: Mapping[str, int]
    options: tuple[str, ...] = ()
    parts: bool = False
    kept: Forgotten = NOTHING
    sought: Forgotten = NOTHING
    rows: Forgotten = NOTHING
    said: Forgotten = NOTHING

    @property
    def what(self) -> str:
        """What was interrupted, and when, in words."""
        day = clock.parse(self.at)
        when = f" on {clock.local_naive(day)[:16].replace('T', ' ')}" if day is not None else ""
        name = "a forget" if self.kind == "forget" else "masking secrets"
        return f"{name} was interrupted{when}: of what was to go some may be there still"

    @property
    def way(self) -> str:
        """What ends it."""
        options = "".join(f" {one}" for one in self.options)
        if self.kind != "forget":
            return f"`nanomem scrub --mask{options}` ends it"
        again = f"`nanomem forget --again{options}` ends it"
        longer = "; what stands inside longer words too goes by the same command as before alone"
        return f"{again}{longer if self.parts else ''}"

    def is_of(self, asked: Mapping[str, int], things: Things, *, parts: bool) -> bool:
        """Whether it is of just what is asked now. `things`: as `forgotten.add` takes them."""
        known = {(one.what, one.digest) for one in self.kept.marks}
        wanted = forgotten.with_more(NOTHING._replace(salt=self.kept.salt), "", things).marks
        same = dict(asked) == dict(self.asked) and parts == self.parts
        return same and all((one.what, one.digest) in known for one in wanted)


_HASHED = ("kept", "sought", "rows", "said")


def read(paths: Paths) -> Mark | None:
    """The mark of a memory; None where there is none, or none that can be read."""
    path = f"{paths.data}/{FILE}"
    if not os.access(path, os.F_OK):
        return None
    try:
        told: dict[str, Any] = files.loads(files.read(paths.data / FILE, files.MOST_OF_A_LOG))
        asked = {str(name): int(number) for name, number in told["asked"].items()}
        kind, receipt, at = (str(told[name]) for name in ("kind", "receipt", "at"))
        options = tuple(str(one) for one in told["options"] if one != "--git")  # an earlier version took that
        kept, sought, rows, said = (forgotten.of_json(told[name]) for name in _HASHED)
        return Mark(kind, receipt, at, asked, options, bool(told["parts"]), kept, sought, rows, said)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def problem(paths: Paths) -> Problem | None:
    """That something did not come to its end, and what ends it."""
    mark = read(paths)
    return Problem(mark.what, paths.relative(paths.data / FILE), None, mark.way) if mark is not None else None


def begin(paths: Paths, mark: Mark) -> None:
    """Say that it begins, before anything is changed. Raises the errors of `from_os_error`."""
    told = mark._asdict() | {name: forgotten.as_json(getattr(mark, name)) for name in _HASHED}
    atomic.make_folder(paths.data)
    atomic.write_atomic(paths.data / FILE, json.dumps(told).encode())


def end(paths: Paths) -> None:
    """Say that nothing of it is left to be done."""
    (paths.data / FILE).unlink(missing_ok=True)
    atomic.sync_folder(paths.data)
