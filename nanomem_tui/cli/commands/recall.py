"""`nanomem recall`: what an agent would be given for a message, why, and what was cut. Reads only, except with
`--save`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nanomem_tui.cli import fast_commands, json_objects, output, passages
from nanomem_tui.cli.fast_commands import spelling_lines, time_lines, within
from nanomem_tui.cli.options import Command, Count, Words, all_read, dated, pass_state, seen_as
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors
from nanomem_tui.core.text import counted, quoted

if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem
    from nanomem_tui.memory.recall.recall import Question
    from nanomem_tui.memory.recall.regressions import Checked
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.memory.turns.request import Begun
    from nanomem_tui.workspace import Workspace


# `nanomem recall --saved` and `--forget`: the questions whose answers must not get lost, listed and taken out.


def show(state: State, path: Path) -> int:
    """One line a question: its number, its words, and the items that it must recall."""
    from nanomem_tui.memory.recall import regressions

    found, broken = regressions.read(path) if path.exists() else ([], [])
    body = [
        {
            "line": one.line, "message": one.question.text, "expect": list(one.expect),
            **one.question.audience._asdict(), "reply_to": one.question.reply_to, "limit": one.question.limit,
        } for one in found
    ]  # fmt: skip
    columns = [
        Column("N", right=True, of=lambda one: str(one.line)),
        Column("Asked by", limit=40, optional=True, of=lambda one: _who(one.question)),
        Column("Message", limit=90, least=24, of=lambda one: one.question.text),
        Column("Must recall", limit=90, least=20, of=lambda one: ", ".join(one.expect)),
    ]

    state.show(json_objects.plain(body), lambda: output.columned(columns, found) or ["No saved questions."])
    tell_broken(broken)
    return 0


def _who(question: Question) -> str:
    """Whose question it is: `ana in telegram 42`; "" for the owner."""
    channel, chat_id, sender_id = question.audience
    chat = " ".join(filter(None, (channel, chat_id)))
    return " in ".join(filter(None, (sender_id, chat)))


def saved_questions_forget(state: State, path: Path, which: str) -> int:
    """Take questions out. Raises NotFound."""
    from nanomem_tui.memory.recall import regressions

    removed = [line.decode("utf-8", "replace") for line in regressions.forget(path, which)]
    kept = f"{path}.bak"
    line = f"Forgot {counted(len(removed), 'saved question')}; the file as it was is kept in {kept}."
    state.show({"forgotten": removed, "path": str(path), "kept": kept}, [line])
    return 0


def saved_questions_lost(checked: Checked) -> list[dict[str, str]]:
    """What a question must recall and does not, with the reason, as the command line prints it."""
    return [{"id": key, "why": why} for key, why in checked.lost]


def tell_broken(broken: Sequence[Problem]) -> None:
    """Name the lines that are no questions, on stderr."""
    if broken:
        output.notes([f"Warning: {problem.text()}" for problem in broken])


_SOURCES = ("sessions", "history", "notes")
_PASSAGES = 10
_FOR_PASSAGES = ("message", "sources", "limit", "explain", "reply_to", "since", "until")


@click.command("recall", cls=Command)
@click.argument("message", type=Words(), required=False)
@click.option(
    "--in",
    "sources",
    type=click.Choice([*_SOURCES, "all"]),
    multiple=True,
    help="Recall what was said instead of items: passages, ranked, with what stands around them.",
)
@seen_as
@click.option("--reply-to", type=Words(), default="", help="The words of the message that it replies to.")
@dated
@click.option("--limit", type=Count(1), help="Recall N items at most.")
@click.option("--max-chars", type=Count(), help="Characters of recalled items at most.")
@click.option("--profile", type=Words(), help="Rank by this profile: default, seed000 or seed001.")
@click.option(
    "--weight", "weights", type=Words(), multiple=True, metavar="PART=X", help="Change a weight of the profile."
)
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@click.option("--why-not", type=Words(), metavar="ID", help="Say why this item or lesson is not given.")
@click.option(
    "--save", type=Words(), multiple=True, metavar="ID", help="Save the message as a question that must recall ID."
)
@click.option(
    "--check",
    "check",
    is_flag=False,
    flag_value="",
    type=Words(),
    metavar="[FILE]",
    help="Ask the saved questions again.",
)
@click.option("--saved", is_flag=True, help="List the saved questions.")
@click.option(
    "--forget", type=Words(), metavar="N|ID", help="Take saved questions out: line N, or those that expect ID."
)
@pass_state
def recall(
    state: State,
    *,
    message: str | None,
    sources: Sequence[str],
    audience: Audience,
    reply_to: str,
    since: str,
    until: str,
    limit: int | None,
    weights: Sequence[str],
    explain: bool,
    why_not: str | None,
    save: Sequence[str],
    check: str | None,
    saved: bool,
    forget: str | None,
    **asked: Any,
) -> int:
    """What the agent would get for a message. With a channel, chat or sender: what is visible there.

    A time in the message ("yesterday", "last Tuesday", "in March", 2026-03-02) ranks what was said then, or is about
    it, higher. --since and --until leave out all else.

    \b
    Example:
      nanomem recall "which seat do I like?" --explain
      nanomem recall "which seat do I like?" --weight recency=0.2
      nanomem recall "which seat do I like?" --save ltm_1739443200123_1
      nanomem recall "what did we decide?" --since 2026-03 --until yesterday
      nanomem recall --check
      nanomem recall "what did you say about the seat?" --in sessions --in notes
    """
    from nanomem_tui.memory.recall.recall import Question
    from nanomem_tui.memory.turns.request import check_message as checked

    if sources:
        _only_passages()
        text = f"{checked(message or '')} {reply_to}".strip()
        return _in_sources(state, text, sources, limit or _PASSAGES, since, until, explain=explain)
    with state.open() as ws:
        if saved or forget is not None:
            return saved_questions_forget(state, _saved(ws), forget) if forget else show(state, _saved(ws))
        if check is not None:
            return _check(state, ws, Path(check) if check else _saved(ws), named=bool(check))
        text = checked(message or "")
        span = within(ws, since, until)
        question = Question(text, reply_to, audience, limit=limit, weights=_weights(weights), within=span, **asked)
        if save:
            return _save(state, ws, question, save)
        if why_not:
            _say_why_not(state, ws, question, why_not)
            return 0
        shown = ws.engine.ask(question)
        silent = state.json or bool(shown.problem)
        note = "" if shown.hits or silent else fast_commands.elsewhere_note(ws, text, question.audience, ours_only=True)
        faded = 0 if shown.lessons or silent else ws.lessons.count()["enabled"] - ws.lessons.strong()
    time = time_lines(shown.found.time if shown.found is not None else None, question.within)
    state.show(_body(shown), lambda: [*time, *_lines(shown, explain=explain)])
    fast_commands.say(state, note)
    if shown.problem and not state.json:
        output.notes([f"Note: {shown.problem}: no turn is given anything"])
    if shown.found is not None and shown.found.note and not state.json:
        output.notes([f"Note: by words alone: {shown.found.note}"])
    if faded and not state.json:
        output.notes(
            [f"Note: {output.counted(faded, 'lesson')} faded and not given (--why-not LESSON_ID says since when)"]
        )
    return 0


def _weights(given: Sequence[str]) -> dict[str, float] | None:
    """The weights of `--weight PART=X`. Raises BadInput."""
    found: dict[str, float] = {}
    for text in given:
        part, _, number = text.partition("=")
        try:
            found[part.strip()] = float(number)
        except ValueError:
            found[part.strip()] = math.nan
        if not math.isfinite(found[part.strip()]) or found[part.strip()] < 0:
            raise errors.BadInput(f"no weight: {text}", "--weight", "give PART=NUMBER of 0 or more, as in recency=0.2")
    return found or None


def _say_why_not(state: State, ws: Workspace, question: Question, wanted: str) -> None:
    """Why an item, or a lesson, is not given. Raises NotFound or BadInput."""
    try:
        item = ws.items.get(wanted)
    except errors.NotFound:
        with contextlib.suppress(errors.NotFound):
            lesson = ws.lessons.get(wanted)
            channel, chat_id, _ = question.audience
            session = f"{channel}:{chat_id}" if channel and chat_id else ""
            why = ws.lessons.why_not(lesson.id, question.text, session)
            state.show(
                {"id": lesson.id, "text": lesson.trigger, "recalled": not why, "why": why}, [why or "It is given."]
            )
            return
        raise
    why = ws.engine.ask(question).problem or ws.recall.why_not(question, item.id)
    state.show({"id": item.id, "text": item.text, "recalled": not why, "why": why}, [why or "It is recalled."])


def _only_passages() -> None:
    """A usage error for an option that says nothing about passages: better than one that does nothing."""
    ctx = click.get_current_context()
    for param in ctx.command.params:
        given = ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
        if given and param.expose_value and param.name not in _FOR_PASSAGES:
            raise click.UsageError(f"{param.opts[-1]} does not go with --in: it recalls for the owner of them all", ctx)


def _in_sources(
    state: State, text: str, sources: Sequence[str], limit: int, since: str, until: str, *, explain: bool
) -> int:
    """The nearest passages of the sources."""
    asked = [source for source in _SOURCES if source in sources or "all" in sources]
    with state.open() as ws:
        span = within(ws, since, until)
        found = ws.conversations.recall(text, asked, limit, within=span)
        unread = {"sessions": ws.sessions.unreadable, "history": ws.history.unreadable}
        unreadable = [problem for source in asked if source in unread for problem in unread[source]()]
    time = {"time": found.time.to_json()} if found.time is not None else {}
    hits = [json_objects.conversation_hit(hit) for hit in found.hits]
    body = {"hits": hits, "left_out": list(found.left_out), **time}
    told = time_lines(found.time, span)
    state.show(body, lambda: [*told, *(passages.lines(found.hits, explain=explain) or ["Nothing is recalled."])])
    passages.tell_left_out(found.left_out, quiet=state.json)
    all_read(unreadable)
    return 0


def _saved(ws: Workspace) -> Path:
    """Where questions are saved."""
    from nanomem_tui.memory.recall import regressions

    return regressions.saved_file(ws.paths.data, ws.id)


def _body(shown: Begun) -> dict[str, Any]:
    body = shown.to_json()
    names = ("hits", "related", "lessons", "working", "older", "pending", "cut", "block", "chars", "budget")
    named = {name: body[name] for name in names}
    problem: dict[str, Any] = {"problem": shown.problem} if shown.problem else {}
    problem |= {"note": shown.found.note} if shown.found is not None and shown.found.note else {}
    problem |= {"time": shown.found.time.to_json()} if shown.found is not None and shown.found.time else {}
    return {**named, "corrected": dict(shown.found.corrected) if shown.found is not None else {}, **problem}


def _lines(shown: Begun, *, explain: bool) -> list[str]:
    from nanomem_tui.language import secrets

    width = output.terminal_width()
    columns = [
        Column("Score", right=True),
        Column("Layer"),
        Column("Kind"),
        Column("ID", drop=1),
        Column("Text", least=28),
    ]
    cells = [(f"{h.score:.3f}", h.layer, h.item.kind, h.item.id, secrets.mask(h.item.text)) for h in shown.hits]
    lines = table(columns, cells, width) or ["Nothing is recalled."]
    lines += spelling_lines(shown.found.corrected) if shown.found is not None else []
    if explain:
        for hit in shown.hits:
            lines.append(f"{hit.item.id}  {passages.parts(dict(hit.parts))}")
    if shown.related:
        lines += ["", "Related facts:"]
        lines += [f"  {hit.parts['distance']:.2f}  {secrets.mask(hit.item.text)}" for hit in shown.related]
    if shown.older:
        told = (line for excerpt in shown.older for line in excerpt.line.split("\n"))
        lines += ["", "Earlier in this conversation:", *(f"  {line}" for line in told)]
    if shown.lessons:
        told = (f"{lesson.trigger}: {lesson.better_action}" for lesson in shown.lessons)
        lines += ["", "Lessons:", *(f"  {line}" for line in map(secrets.mask, told))]
    if shown.cut:
        lines += ["", "Cut:"]
        lines += [f"  {cut.hit.score:.3f}  {cut.hit.item.id}  {cut.why}" for cut in shown.cut]
    if shown.block:
        lines += ["", f"The block ({output.counted(len(shown.block), 'character')}):", *shown.block.split("\n")]
    return lines


def _save(state: State, ws: Workspace, question: Question, ids: Sequence[str]) -> int:
    from nanomem_tui.memory.recall import regressions

    expect = [ws.items.get(item_id).id for item_id in ids]
    path = _saved(ws)
    known = regressions.is_saved(path, question, expect)
    if not known:
        regressions.save(path, question, expect)
    (now,) = regressions.check([regressions.to_saved(question, expect)], ws.recall.ask, ws.recall.why_not)
    body = {"path": str(path), "message": question.text, "expect": expect, "saved_before": known}
    said = "That question is saved already" if known else "Saved"
    must = f"it must recall {output.counted(len(expect), 'item')} (checked by `nanomem recall --check`)"
    state.show({**body, "lost": json_objects.plain(saved_questions_lost(now))}, [f"{said}: {must}."])
    tell_broken(regressions.problems(path))
    output.notes([f"Note: it does not recall {key} now: {why}" for key, why in now.lost])
    return 0


def _check(state: State, ws: Workspace, path: Path, *, named: bool) -> int:
    """Exit code 1 when an item got lost, or a line of the file is no question that can be asked. Raises BadInput for a
    file of which nothing can be read, and for one that a person `named` and that holds no question; where none was ever
    saved nothing is lost."""
    from nanomem_tui.memory.recall import regressions

    saved, broken = regressions.read(path) if named or path.exists() else ([], [])
    tell_broken(broken)
    if not saved and named:
        raise errors.BadInput("no saved questions", str(path), "save one with `nanomem recall MESSAGE --save ID`")
    done = regressions.check(saved, ws.recall.ask, ws.recall.why_not)
    lost = [one for one in done if one.lost]
    body = {
        "path": str(path),
        "questions": len(done),
        "lost": len(lost),
        "problems": [json_objects.problem(problem) for problem in broken],
        "results": [
            {
                "message": one.regression.question.text,
                "line": one.regression.line,
                "found": list(one.found),
                "lost": saved_questions_lost(one),
            }
            for one in done
        ],
    }
    state.show(json_objects.plain(body), lambda: _check_lines(done, len(lost), len(broken)))
    return 1 if lost or broken else 0


def _check_lines(done: Sequence[Checked], lost: int, broken: int) -> list[str]:
    lines = []
    for one in done:
        lines += [f"lost {key} for {quoted(one.regression.question.text)}: {why}" for key, why in one.lost]
    if not done:
        return ["No saved questions: save one with `nanomem recall MESSAGE --save ID`."]
    unasked = f", and {output.counted(broken, 'line')} that could not be asked" if broken else ""
    return [*lines, f"{output.counted(len(done), 'question')}, {lost} with a loss{unasked}."]
