"""The words that stay forgotten where a person named none: what memories said that go by their id, or with a person.

What is long enough to tell something is kept out as a text is, wherever it stands. What is shorter, and a lesson of a
tool, whose words are ours, only as a row that says just this. Of a person what somebody else said too is nobody's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.formats.sessions import parse_session
from nanomem_tui.memory.reading import read_log
from nanomem_tui.purge.wanted_words import sender_of
from nanomem_tui.store.forgotten import row_says
from nanomem_tui.store.word_runs import Runs, run_of

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

TELLING = 12
"""Characters from which the text of a row that is forgotten is looked for elsewhere: a shorter one says nothing."""
_SAYS = ("text", "bad_action", "better_action")
"""The fields of a row that somebody said; when a lesson holds is said by many."""


def is_telling(text: str) -> bool:
    """Whether a text is long enough to be looked for wherever it may stand."""
    return len(text.strip()) >= TELLING


def of_row(values: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """(texts, whole rows) of one row, of which `values` are what it says now and said before, or parts of that."""
    of_tool = any(str(value.get("trigger", "")).startswith("tool:") for value in values)
    every = [value[name] for value in values for name in _SAYS if isinstance(value.get(name), str)]
    texts = [] if of_tool else list(filter(is_telling, every))
    whole = [value for value in values if "text" in value or {"trigger", "better_action"} <= value.keys()]
    rows = [said for value in whole if (said := row_says(value)) and said not in texts]
    return texts, rows


def of_persons(ws: Workspace, texts: Sequence[str], persons: Collection[str], chats: Collection[str]) -> list[str]:
    """The texts of persons that nobody else said. `chats`: the sessions where they spoke; who does not say his name
    there may be one of them."""
    runs = Runs(map(run_of, texts))
    heard = {
        run_of(message[begin:end])
        for message in (_of_others(ws, persons, chats) if texts else ())
        for begin, end in runs.found_in(message)
    }
    return [text for text in texts if run_of(text) not in heard]


def _of_others(ws: Workspace, persons: Collection[str], chats: Collection[str]) -> Iterator[str]:
    told: Iterable[tuple[str, str, str]] = (
        (turn.sender_id or "", turn.session_key, turn.user) for turn in ws.traces.injections.turns()
    )
    for sender, session, said in (*told, *_messages(ws)):
        if sender not in persons and (sender or session not in chats):
            yield said


def _messages(ws: Workspace) -> Iterator[tuple[str, str, str]]:
    """(sender, session, words) of everything that persons said in the conversations of the agent."""
    for info in ws.sessions.list():
        if not info.imported:
            for message in parse_session(read_log(Path(info.path)), info.path, info.key).messages:
                if message.role == "user":
                    yield sender_of(message.raw), info.key, message.content
