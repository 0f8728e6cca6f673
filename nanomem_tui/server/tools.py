"""The two tools that a model may call through a server: `memory_search` and `memory_recall`. There is none that writes.

Owns their schemas, the check of what a model passes, and the form of an answer: fenced, labelled as data, in a budget.
Whose memory they see is settled when they are made, never by who calls them. Knows no protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nanomem_tui import errors
from nanomem_tui.attach.tool import DESCRIPTION, NOTHING
from nanomem_tui.facts.search import LIMIT, Answer, Found
from nanomem_tui.memory import prompt
from nanomem_tui.memory.questions import Question
from nanomem_tui.memory.safety import FENCE_CLOSE, FENCE_OPEN
from nanomem_tui.memory.scopes import Audience, layers
from nanomem_tui.settings import OFF
from nanomem_tui.text import counted, one_line
from nanomem_tui.workspace import Workspace

MOST = 20
"""Results of one answer."""
LINE = 400
"""Characters of one result."""
LOOKED_AT = 20_000
"""Characters of a text that are looked at for those."""
MAX_QUERY, MAX_MESSAGE, MAX_NAME = 1_000, 20_000, 300


class Tool(NamedTuple):
    """What a model is told about a tool; `parameters` is a JSON schema."""

    name: str
    title: str
    description: str
    parameters: Mapping[str, Any]


def _text(description: str, most: int) -> dict[str, Any]:
    return {"type": "string", "description": description, "maxLength": most}


TOOLS = (
    Tool(
        "memory_search",
        "Search the memory",
        "Look up facts that are remembered about this user. With a domain or a category (or both): the facts filed "
        "there, ordered by the query if one is given. Without: whatever is nearest in meaning to the query. Read-only. "
        "A domain that is not known is answered with the names of those that are.",
        {
            "type": "object",
            "properties": {
                "query": _text("What to look for, in a few words.", MAX_QUERY),
                "domain": _text("Only facts of this domain, such as Work or Health.", MAX_NAME),
                "category": _text("Only facts of this category, such as Contact.", MAX_NAME),
                "limit": {
                    "type": "integer",
                    "description": f"How many at most (1-{MOST}).",
                    "minimum": 1,
                    "maximum": MOST,
                    "default": LIMIT,
                },
            },
            "additionalProperties": False,
        },
    ),
    Tool(
        "memory_recall",
        "Recall for a message",
        f"{DESCRIPTION} Give the user's message as it is; lessons from earlier mistakes that fit it come too.",
        {
            "type": "object",
            "properties": {
                "query": {**_text("The message, in the user's own words.", MAX_MESSAGE), "minLength": 1},
                "limit": {
                    "type": "integer",
                    "description": f"How many memories at most (1-{MOST}).",
                    "minimum": 1,
                    "maximum": MOST,
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
)


class Tools:
    """The tools over one workspace, for one audience (`Audience()`: the owner, who sees everything).

    To be called from one thread at a time.
    """

    def __init__(self, ws: Workspace, audience: Audience) -> None:
        """Raises BadInput for an audience that cannot be."""
        layers(audience)
        self._ws = ws
        self._audience = audience

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer of a tool, as a model reads it. Raises NanomemError, BadInput for what cannot be asked."""
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        if tool is None:
            raise errors.BadInput("no such tool", one_line(name, 60), f"one of {', '.join(one.name for one in TOOLS)}")
        known = tool.parameters["properties"]
        if name == "memory_recall" and "query" not in arguments and "message" in arguments:
            arguments = {"query" if key == "message" else key: value for key, value in arguments.items()}
        unknown = [one_line(str(key), 60) for key in arguments if key not in known]
        if unknown:
            raise errors.BadInput("unknown argument", ", ".join(unknown), f"{name} takes {', '.join(known)}")
        if not self._ws.settings.memory_enabled:
            raise errors.Refused(OFF)
        if name == "memory_recall":
            limit = None if arguments.get("limit") is None else _number(arguments, "limit", MOST, MOST)
            return self._recall(_string(arguments, "query", MAX_MESSAGE), limit)
        return self._search(
            _string(arguments, "query", MAX_QUERY),
            _string(arguments, "domain", MAX_NAME),
            _string(arguments, "category", MAX_NAME),
            _number(arguments, "limit", LIMIT, MOST),
        )

    def _recall(self, message: str, limit: int | None) -> str:
        if not message:
            raise errors.BadInput("the message is empty", "query", "give the user's words")
        shown = self._ws.engine.look(Question(message, audience=self._audience, limit=limit))
        if shown.problem:
            raise errors.Refused(shown.problem)
        items = [hit.item for hit in shown.hits]
        return prompt.render(items, shown.lessons, max_chars=self._budget).text or NOTHING

    def _search(self, query: str, domain: str, category: str, limit: int) -> str:
        self._ws.store.load("item")
        self._ws.store.refresh()  # what others remembered since
        search = self._ws.memory_search
        answer = search(query, domain or None, category or None, limit=limit, audience=self._audience)
        if not answer.results and (domain or category):
            return self._names(search.names(self._audience))
        if not answer.results:
            return " ".join(filter(None, (NOTHING, _rest(answer))))
        return self._fenced(map(_line, answer.results), _rest(answer))

    def _names(self, names: Mapping[str, Mapping[str, int]]) -> str:
        """Which domains and categories there are, where none was found."""
        nothing = "No fact is filed there."
        if not names:
            return nothing
        lines = (
            f"- {_short(domain)}: {', '.join(f'{_short(category)} ({number})' for category, number in found.items())}"
            for domain, found in names.items()
        )
        return f"{nothing} These domains and categories are known:\n{self._fenced(lines)}"

    @property
    def _budget(self) -> int:
        return self._ws.settings.recall_max_prompt_chars

    def _fenced(self, lines: Iterable[str], rest: str = "") -> str:
        """The lines that fit into the budget, between the marks of the block that a turn gets."""
        kept: list[str] = []
        left = self._budget
        out = 0
        for line in lines:
            fits = len(line) < left and not out
            left -= len(line) + 1 if fits else 0
            out += not fits
            kept += [line] if fits else []
        told = [rest, f"({counted(out, 'result')} left out: too long for one answer)" if out else ""]
        return "\n".join([FENCE_OPEN, prompt.HEAD, "", *kept, FENCE_CLOSE, *filter(None, told)])


def _line(found: Found) -> str:
    """One result: where it is filed or what it is, its words, from when, and how near it is."""
    fact = found.fact
    filed = (fact.domain, fact.category, fact.sub_category) if fact is not None else (found.item.kind,)
    about = [found.item.updated_at[:10]]
    if found.how == "meaning" and found.distance is not None:
        about.append(f"distance {found.distance:.2f}")
    place = " / ".join(_short(name) for name in filed if name)
    return f"- [{place}] {_short(found.text, LINE)} ({', '.join(filter(None, about))})"


def _rest(answer: Answer) -> str:
    """How many facts there are beside those that are shown, and what kept meaning out of it."""
    shown = len(answer.results)
    more = f"({shown} of {answer.total:,} facts filed there)" if answer.total > shown else ""
    return " ".join(filter(None, (more, f"(by words: {one_line(answer.note, 300)})" if answer.note else "")))


def _short(text: str, most: int = 60) -> str:
    """The beginning of a text of a memory, on one line and harmless."""
    line = prompt.plain(text[:LOOKED_AT])
    return line if len(line) <= most else f"{line[:most].rstrip()}…"


def _string(arguments: Mapping[str, Any], name: str, most: int) -> str:
    value = arguments.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise errors.BadInput("not a text", name, "give a string")
    if len(value) > most:
        raise errors.BadInput(f"{len(value):,} characters", name, f"give at most {most:,}")
    return value.strip()


def _number(arguments: Mapping[str, Any], name: str, otherwise: int, most: int) -> int:
    value = arguments.get(name)
    if value is None:
        return otherwise
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not 1 <= value <= most:
        raise errors.BadInput("no such number", name, f"give a whole number from 1 to {most}")
    return int(value)
