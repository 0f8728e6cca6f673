"""What the Recall screen tells of one row: the score in its parts, the matched words, why not, and the model's block.

Pure: values in, a `Document` out. Texts are untrusted; the layout makes them safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.text import counted
from nanomem_tui.language.tokens import query_words, tokens
from nanomem_tui.memory.recall.questions import REPLY_WEIGHT
from nanomem_tui.memory.turns import prompt
from nanomem_tui.screens.recall_rows import Answer, RecallRow, share
from nanomem_tui.screens.rows import when
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Span, Spans
from nanomem_tui.widgets.plots import meter
from nanomem_tui.widgets.signs import UNICODE, Glyphs

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.injections import Injected
    from nanomem_tui.memory.turns.values import Begun

MARKED = 4_000  # characters of an item in which matched words stand out
METER = 8  # cells of the bar of a part
BY_MEANING = "score = (lexical + vector) × (1 + importance + recency + hits)"
TIMED = "score = (lexical + time) × (1 + importance + recency + hits)"
TIMED_BY_MEANING = "score = (lexical + vector + time) × (1 + importance + recency + hits)"
HOW = {
    "default": "score = lexical × (1 + importance + recency + hits)",
    "seed000": "score = overlap + coverage + recency + hits",
    "seed001": "score = fts + importance + recency",
}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_LATIN = re.compile(r"[\x00-\u024f]+")


def document(row: RecallRow, turns: Sequence[Injected], signs: Glyphs = UNICODE) -> Document:
    """All there is to tell of a row; `turns` are the real ones that were given its item, newest first."""
    blocks: list[Block] = [Body(row.why)] if row.item is None else list(_item(row, turns, signs))
    if row.item is None and row.answer.foreign:
        rows = counted(row.answer.foreign, "row")
        blocks.append(Body(f"{rows} of another system must be imported before recall gives them (: import).", "warn"))
    if row.answer.begun is not None:
        blocks += _whole(row.answer, row.answer.begun)
    return Document(tuple(blocks), copy=row.item.text if row.item is not None else _block(row.answer))


def _item(row: RecallRow, turns: Sequence[Injected], signs: Glyphs) -> Iterator[Block]:
    item, hit = row.item, row.hit
    assert item is not None
    terms = hit.parts.get("terms", ()) if hit is not None else ()
    spans = marked(item.text[:MARKED], terms)
    yield Spans(tuple(spans))
    if len(item.text) > MARKED:
        yield Body(f"… {len(item.text) - MARKED:,} more characters", "dim")
    if row.where == "given":
        yield Body(f"Given: number {row.rank} of {len(row.answer.begun.hits) if row.answer.begun else 0}.", "good")
    elif row.where == "cut":
        yield Body(f"Found, and cut: {row.why}.", "warn")
    else:
        yield Body(f"Not recalled: {row.why}.", "bad")
    if hit is not None:
        yield Heading(f"Score {hit.score:.4f} by profile {row.answer.asked.profile}")
        yield from _parts(row, signs)
        seen = dict.fromkeys(text.casefold() for text, tone in spans if tone) or terms
        yield Field("matched", ", ".join(map(str, seen)) or "no word")
        if alike := hit.parts.get("alike"):
            yield Field("which stand for", ", ".join(f"{asked} ({held})" for held, asked in alike.items()))
        if "replaced" in hit.parts:
            yield Field("matched in", f"{hit.parts['replaced']}, in whose place it stands")
        yield Field("layer", hit.layer)
    else:
        yield Heading("The item")
    scope = item.scope_type if item.scope_type == "global" else f"{item.scope_type} {item.scope_key}"
    fields = (("kind", item.kind), ("scope", scope), ("updated", when(item.updated_at)), ("hits", f"{item.hits:,}"))
    yield from (Field(name, value) for name, value in fields)
    yield injected_field(turns)
    yield Field("id", item.id)


def _parts(row: RecallRow, signs: Glyphs) -> Iterator[Block]:
    """Each part: its number, its bar, its weight."""
    asked, hit = row.answer.asked, row.hit
    assert hit is not None
    weights, before = asked.weights, asked.usual
    lines = []
    for name in row.answer.parts:
        value = float(hit.parts.get(name, 0.0))
        weight = f"weight {weights[name]:.3f}" if name in weights else ""
        if name in asked.changed:
            weight += f" (profile {before[name]:.3f})"
        bar = meter(share(value, row.answer.most[name]), METER, signs)
        lines.append(f"{name:<11}{value:>8.4f} {bar} {weight}".rstrip())
    yield Body("\n".join(lines), keep=True)
    how = BY_MEANING if "vector" in hit.parts else HOW[asked.profile]
    if "time" in row.answer.parts:
        how = TIMED_BY_MEANING if "vector" in hit.parts else TIMED
    yield Body(how if signs.eighths else how.replace("×", "x"), "dim")
    if "distance" in hit.parts:
        yield Field("distance", f"{hit.parts['distance']:.3f} in meaning, 0 is the same")
    if "bearing" in hit.parts:
        yield Field("bearing", f"chance {hit.parts['bearing']:.2f} that it has to do with the message")


def injected_field(turns: Sequence[Injected]) -> Field:
    """How often something was put before the model, and when last."""
    if not turns:
        return Field("real turns", "given to none that the log knows")
    return Field("real turns", f"in {counted(len(turns), 'turn')}, last {when(turns[0].at)} (I shows them)")


def _whole(answer: Answer, begun: Begun) -> Iterator[Block]:
    """What does not depend on the row: spelling, lessons, the block."""
    found = begun.found
    if begun.problem:
        yield Body(f"Nothing is given: {begun.problem}.", "warn")
        return
    if found is not None:
        yield Heading("The question")
        yield Field("words", ", ".join(query_words(answer.asked.text).values()) or "none that say anything")
        replied = query_words(answer.asked.reply_to).values()
        if replied:
            yield Field("replies to", f"{', '.join(replied)}: each counts {REPLY_WEIGHT:g} of a word of the message")
        if found.time is not None:
            yield Field("time", found.time.line())
        for written, meant in found.corrected.items():
            yield Field("spelling", f"{written} is read as {meant}", "warn")
        yield Field("found by", f"{found.backend} in {found.ms:,.1f} ms" if answer.asked.text else "")
        if found.note:
            yield Field("meaning", f"has no part in it: {found.note}", "warn")
    if begun.related:
        yield Heading(f"Related facts ({len(begun.related)})")
        lines = (f"{prompt.item_line(hit.item)[2:]} (distance {hit.parts['distance']:.2f})" for hit in begun.related)
        yield from (Spans(((line, ""),), 2) for line in lines)
    if begun.older:
        yield Heading(f"Earlier in this conversation ({len(begun.older)})")
        lines = (line for excerpt in begun.older for line in excerpt.line.split("\n"))
        yield from (Spans(((line.removeprefix("- "), ""),), 2) for line in lines)
    yield Heading(f"Lessons chosen ({len(begun.lessons)})")
    yield from (Spans(((prompt.lesson_line(lesson), ""),), 2) for lesson in begun.lessons)
    if not begun.lessons:
        yield Body("None fits the message.", "dim")
    yield Heading(f"The block that the model gets ({len(begun.block):,} characters)")
    yield Body(begun.block) if begun.block else Body("None: there is nothing to tell it.", "dim")


def _block(answer: Answer) -> str:
    return answer.begun.block if answer.begun is not None else ""


# Words that matched


def marked(text: str, terms: Iterable[str]) -> list[Span]:
    """`text` in spans; the words and characters that `terms` stand for stand out."""
    wanted = frozenset(map(str, terms))
    spans: list[Span] = []
    at = 0
    for start, end in _joined(sorted(_places(text, wanted))) if wanted else ():
        spans += [(text[at:start], ""), (text[start:end], "added-word")]
        at = end
    return [span for span in (*spans, (text[at:], "")) if span[0]]


def _places(text: str, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Words by their token; scripts without spaces by the characters of the term."""
    for match in _WORD.finditer(text):
        word = match.group()
        found = tokens(word)
        if word.casefold() in wanted or (len(found) == 1 and found[0] in wanted):
            yield match.span()
        elif len(found) > 1:  # Latin letters beside a script without spaces
            for part in _LATIN.finditer(word):
                if wanted.intersection(tokens(part.group())):
                    yield match.start() + part.start(), match.start() + part.end()
    lowered = text.casefold()
    if len(lowered) != len(text):
        return
    for term in wanted:
        if not term.isascii() and (len(term) == 1 or len(tokens(term)) > 1):
            yield from (found.span() for found in re.finditer(re.escape(term), lowered))


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in order, those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, end in places:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
