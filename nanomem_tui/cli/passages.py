"""Print passages with their surroundings: the searches of sessions and of the archive, and `recall --in`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.cli import output
from nanomem_tui.cli.output import paragraph
from nanomem_tui.core.text import cut, one_line
from nanomem_tui.memory.filters import Matcher, Neighbour

if TYPE_CHECKING:
    from nanomem_tui.language.times_asked import Span
    from nanomem_tui.memory.recall.conversations import ConversationHit, ConversationRecall
    from nanomem_tui.workspace import Workspace

_MOST = 400  # characters of a passage that are printed
_MARK = "  > "
_BESIDE = "    "


def nearest(
    ws: Workspace, source: str, query: str, found: Sequence[str], room: int, within: Span | None = None
) -> ConversationRecall:
    """The passages of a source that follow those of the ids `found`, which hold all words; `room`: at most so many.
    `within`: said in these days; without words all of that."""
    from nanomem_tui.memory.filters import matcher
    from nanomem_tui.memory.recall.conversations import ConversationRecall, nearest_wanted

    wanted = nearest_wanted(matcher(query), len(found)) if query or within is None else None
    limit = max(0, room - len(found)) if wanted is None else min(wanted, room - len(found))
    if limit < 1:
        return ConversationRecall((), time=ws.conversations.time_of(query))
    return ws.conversations.recall(query, [source], limit, without=set(found), within=within)


def lines(hits: Iterable[ConversationHit], *, explain: bool = False) -> list[str]:
    """Each passage: where it stands, then what is before it, itself, and what is after it. Those that stand beside one
    another are printed together, below the best of them that holds a word of the question; marked is what holds one."""
    width = output.terminal_width() or 120
    printed: list[str] = []
    for stretch in _stretches(hits):
        told = sorted((one for one in stretch if not isinstance(one, Neighbour)), key=lambda one: -one.score)
        best = next((one for one in told if one.parts["terms"]), told[0])
        printed += ["", cut(_head(best), width)]
        for one in stretch:
            if isinstance(one, Neighbour):
                printed.append(_neighbour_line(one, width))
            else:
                printed += _found(one, width, best=one is best)
        for hit in told if explain else ():
            name = f"{hit.id}: " if len(told) > 1 else ""
            printed += paragraph(f"{_BESIDE}{name}{parts(hit.parts)}", width)
    return printed[1:]


def _stretches(hits: Iterable[ConversationHit]) -> list[list[ConversationHit | Neighbour]]:
    """The hits with what stands around them, each stretch in the order of its source."""
    found: list[tuple[str, list[ConversationHit | Neighbour]]] = []
    for hit in hits:
        if not any(source == hit.source and _join(stretch, hit) for source, stretch in found):
            found.append((hit.source, [*hit.before, hit, *hit.after]))
    return [stretch for _, stretch in found]


def _join(stretch: list[ConversationHit | Neighbour], hit: ConversationHit) -> bool:
    """Put a hit, and what stands around it, into a stretch that this overlaps; False, and nothing is done, where it
    does not. What is there only for its neighbours brings no more of them."""
    window: list[ConversationHit | Neighbour] = [*hit.before, hit, *hit.after]
    places = {(one.id, one.text): place for place, one in enumerate(stretch)}
    common = [place for place, one in enumerate(window) if (one.id, one.text) in places]
    if not common:
        return False
    inside = places.get((hit.id, hit.text))
    if inside is not None:
        stretch[inside] = hit
        if not hit.parts["terms"]:
            return True
    first, last = window[common[0]], window[common[-1]]
    if places[last.id, last.text] == len(stretch) - 1:
        stretch.extend(window[common[-1] + 1 :])
    if places[first.id, first.text] == 0:
        stretch[:0] = window[: common[0]]
    return True


def _found(hit: ConversationHit, width: int, *, best: bool) -> list[str]:
    """A hit in full; the head above it tells who says the `best` one."""
    text, _ = Matcher(tuple(hit.parts["terms"])).excerpt(hit.text, _MOST)
    mark = _MARK if best or hit.parts["terms"] else _BESIDE
    said = text if best or not hit.role else f"{hit.role}: {text}"
    first, *more = paragraph(said, width - len(mark)) or [""]
    return [mark + first, *(_BESIDE + line for line in more)]


def parts(values: dict[str, Any]) -> str:
    """The parts of a score in a line: the words first, then numbers."""
    told = []
    for name, value in values.items():
        if isinstance(value, dict):
            text = ", ".join(f"{one} for {other}" for one, other in value.items())
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        told.append(f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {text}")
    return "; ".join(told)


def followed(exact: list[str], near: Sequence[ConversationHit], listed: str = "") -> list[str]:
    """What holds every word, and behind it what is nearest to them. `listed`: the title of what was asked for without a
    word."""
    if not near:
        return exact or ["Nothing found."]
    title = listed or ("Nearest to that:" if exact else "Nothing holds all of that. Nearest to it:")
    return [*exact, *([""] if exact else []), title, "", *lines(near)]


def tell_left_out(left_out: Sequence[str], *, quiet: bool) -> None:
    """Say on stderr, for a person, what recall did not look at."""
    if left_out and not quiet:
        output.notes([f"Note: not looked at for what is nearest: {', '.join(left_out)}"])


def _head(hit: ConversationHit) -> str:
    where = {"sessions": hit.id, "history": f"archive #{hit.id}", "notes": f"note {hit.id}"}[hit.source]
    told = [where, hit.role, output.when(hit.at) if hit.at else "", f"{hit.score:.3f}"]
    return "  ".join(one_line(part) for part in told if part)


def _neighbour_line(neighbour: Neighbour, width: int) -> str:
    role = f"{neighbour.role}: " if neighbour.role else ""
    return _BESIDE + one_line(f"{role}{neighbour.text}", width - len(_BESIDE))
