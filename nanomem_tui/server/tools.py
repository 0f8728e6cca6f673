"""The tools that a model may call through a server. None of them changes the memory: one may propose, if it is let.

Owns the form of an answer: fenced, labelled as data, in a budget. Whose memory they see is settled when they are made,
never by who calls them. Knows no protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo

from nanomem_tui.attach.tool import NOTHING
from nanomem_tui.core import errors
from nanomem_tui.core.settings import OFF
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.language import dates
from nanomem_tui.memory import inbox
from nanomem_tui.memory.facts.search import LIMIT, Answer, Found
from nanomem_tui.memory.inbox import Proposals
from nanomem_tui.memory.recall import times
from nanomem_tui.memory.recall.questions import Question
from nanomem_tui.memory.safety import FENCE_CLOSE, FENCE_OPEN
from nanomem_tui.memory.scopes import Audience, layers
from nanomem_tui.memory.turns import prompt
from nanomem_tui.server import arguments
from nanomem_tui.server.arguments import Arguments
from nanomem_tui.server.declared import (
    CONTEXT,
    EARLIER,
    KNOWLEDGE,
    MAX_MESSAGE,
    MAX_NAME,
    MAX_QUERY,
    MOST,
    MOST_TOKENS,
    PROPOSE,
    RECALL,
    SEARCH,
    TOOLS,
)
from nanomem_tui.store.work.values import KnowledgeHit
from nanomem_tui.tiers.context_fitting import TIERS, entry
from nanomem_tui.workspace import Workspace

LINE = 400
"""Characters of one result."""
REFERENCE, PASSAGE = 12_000, 3_000
"""Characters of passages of documents together, and of one of them."""
SAID, SHARE = "From sessions, archive and notes", 0.7
"""The title of what was said and noted, and how much of the budget beside the memories it may take."""
LOOKED_AT = 20_000
"""Characters of a text that are looked at for those."""


class Tools:
    """The tools over one workspace, for one audience (`Audience()`: the owner, who sees everything).

    `writes`: a model may propose memories, which wait in the inbox. To be called from one thread at a time.
    """

    def __init__(self, ws: Workspace, audience: Audience, *, writes: bool = False) -> None:
        """Raises BadInput for an audience that cannot be."""
        layers(audience)
        self._ws = ws
        self._audience = audience
        self._proposals = Proposals(ws.store, ws.perform, audience)
        answers: dict[str, Callable[[Arguments], str]] = {
            SEARCH.name: self._search,
            RECALL.name: self._recall,
            CONTEXT.name: self._context,
            KNOWLEDGE.name: self._knowledge,
            PROPOSE.name: self._propose,
        }
        self._answers = answers
        owner = audience.is_owner
        self.listed = tuple(tool for tool in TOOLS if (writes or not tool.writes) and (owner or not tool.owners))

    def call(self, name: str, given: Arguments) -> str:
        """The answer of a tool, as a model reads it. Raises NanomemError, BadInput for what cannot be asked."""
        tool = next((tool for tool in self.listed if tool.name == EARLIER.get(name, name)), None)
        if tool is None:
            if any(tool.name == name for tool in TOOLS):
                raise errors.Refused("not offered here", name)  # how to switch it on is not for a model to know
            offered = ", ".join(one.name for one in self.listed)
            raise errors.BadInput("no such tool", one_line(name, 60), f"one of {offered}")
        takes = tool.parameters["properties"]
        if tool is RECALL and "query" not in given and "message" in given:
            given = {"query" if key == "message" else key: value for key, value in given.items()}
        arguments.known(given, takes, tool.name)
        if not self._ws.settings.memory_enabled:
            raise errors.Refused(OFF)
        return self._answers[tool.name](given)

    def _recall(self, given: Arguments) -> str:
        if given.get("domain") or given.get("category"):
            words = arguments.text_argument(given, "query", MAX_MESSAGE)[:MAX_QUERY]
            return self._search({**given, "query": words})
        limit = None if given.get("limit") is None else arguments.number(given, "limit", MOST, MOST)
        message = arguments.text_argument(given, "query", MAX_MESSAGE)
        if not message:
            raise errors.BadInput("the message is empty", "query", "give the user's words")
        shown = self._ws.engine.look(Question(message, audience=self._audience, limit=limit))
        if shown.problem:
            raise errors.Refused(shown.problem)
        items = [hit.item for hit in shown.hits]
        context_chars, zone = self._ws.settings.recall_context_chars, shown.zone
        said = prompt.Excerpts(
            [excerpt.line for excerpt in self._ws.reach.search(message[:MAX_QUERY], self._audience)], SAID, SHARE
        )
        made = prompt.render(
            items, shown.lessons, max_chars=self._budget, context_chars=context_chars, excerpts=said, zone=zone
        )
        return made.text or NOTHING

    def _search(self, given: Arguments) -> str:
        query = arguments.text_argument(given, "query", MAX_QUERY)
        domain, category = (arguments.text_argument(given, name, MAX_NAME) for name in ("domain", "category"))
        limit = arguments.number(given, "limit", LIMIT, MOST)
        self._ws.store.load("item")
        self._ws.store.refresh()  # what others remembered since
        search = self._ws.memory_search
        answer = search(query, domain or None, category or None, limit=limit, audience=self._audience)
        if not answer.results and (domain or category):
            return self._names(search.names(self._audience))
        if not answer.results:
            return " ".join(filter(None, (NOTHING, _rest(answer))))
        zone = self._ws.engine.zone
        return self._fenced((_line(found, zone) for found in answer.results), _rest(answer))

    def _context(self, given: Arguments) -> str:
        task = arguments.text_argument(given, "task", MAX_MESSAGE)
        budget = self._ws.settings.context_max_tokens
        most = arguments.number(given, "max_tokens", min(budget, MOST_TOKENS), MOST_TOKENS)
        tiers = arguments.words(given, "tiers", TIERS)
        found = self._ws.context.assemble(task, most, tiers, self._audience, framed=True)
        told = [f"({one_line(note, 300)})" for note in found.notes]
        if found.cut:
            told.append(f"({counted(len(found.cut), 'finding')} left out: repeated, unrelated, or beyond the budget)")
        return "\n".join([self._ws.context.block(found) or found.nothing, *told])

    def _knowledge(self, given: Arguments) -> str:
        query = arguments.text_argument(given, "query", MAX_QUERY)
        if not query:
            raise errors.BadInput("the query is empty", "query", "say what to look for")
        hits = self._ws.knowledge.search(query, arguments.number(given, "limit", LIMIT, MOST))
        if not hits:
            return "No document answers that."
        return self._fenced(map(_passage, hits), budget=REFERENCE)

    def _propose(self, given: Arguments) -> str:
        text = arguments.text_argument(given, "text", inbox.MAX_TEXT)
        why = arguments.text_argument(given, "why", inbox.MAX_WHY)
        made = self._proposals.add(text, arguments.text_argument(given, "kind", MAX_NAME) or "fact", why)
        if made.known and made.item.enabled:
            return "That is remembered already."
        waits = "waits in the inbox already" if made.known else "waits in the inbox"
        return f"That {waits} ({made.item.id}); it is not remembered until accepted."

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

    def _fenced(self, lines: Iterable[str], rest: str = "", budget: int = 0) -> str:
        """The lines that fit into the budget (0: that of recall), between the marks of the block that a turn gets."""
        kept: list[str] = []
        left = budget or self._budget - prompt.FRAME
        out = 0
        for line in lines:
            fits = len(line) < left and not out
            left -= len(line) + 1 if fits else 0
            out += not fits
            kept += [line] if fits else []
        told = [rest, f"({counted(out, 'result')} left out: too long for one answer)" if out else ""]
        return "\n".join([FENCE_OPEN, prompt.HEAD, "", *kept, FENCE_CLOSE, *filter(None, told)])


def _line(found: Found, zone: tzinfo | None) -> str:
    """One result: where it is filed or what it is, its words, from when, and how near it is. `zone`: the agent's."""
    fact = found.fact
    filed = (fact.domain, fact.category, fact.sub_category) if fact is not None else (found.item.kind,)
    about = [times.last_said(found.item, zone)]
    if found.how == "meaning" and found.distance is not None:
        about.append(f"distance {found.distance:.2f}")
    place = " / ".join(_short(name) for name in filed if name)
    text = dates.annotated(found.text, times.day_said(found.item, zone))
    return f"- [{place}] {_short(text, LINE)} ({', '.join(filter(None, about))})"


def _passage(hit: KnowledgeHit) -> str:
    """A passage of a document: where it stands, and what it says."""
    place = f"{hit.title}, {hit.section}" if hit.section and hit.section != hit.title else hit.title
    lines = f"line {hit.line_from}" if hit.line_from == hit.line_to else f"lines {hit.line_from}-{hit.line_to}"
    text = hit.text if len(hit.text) <= PASSAGE else f"{hit.text[:PASSAGE].rstrip()}…"
    return entry(one_line(f"{place} ({hit.source}, {lines})", 300), text)


def _rest(answer: Answer) -> str:
    """How many facts there are beside those that are shown, and what kept meaning out of it."""
    shown = len(answer.results)
    more = f"({shown} of {answer.total:,} facts filed there)" if answer.total > shown else ""
    return " ".join(filter(None, (more, f"(by words: {one_line(answer.note, 300)})" if answer.note else "")))


def _short(text: str, most: int = 60) -> str:
    """The beginning of a text of a memory, on one line and harmless."""
    line = prompt.plain(text[:LOOKED_AT])
    return line if len(line) <= most else f"{line[:most].rstrip()}…"
