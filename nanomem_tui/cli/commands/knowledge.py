"""`nanomem knowledge`: index reference documents, refresh, search and remove them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import (
    Count,
    Group,
    Words,
    agreed,
    asked_query,
    decided,
    paged,
    pass_state,
    query_options,
    rehearsable,
    warned,
)
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import show_changes
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import WorkspaceMissing
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.store.work.values import KnowledgeDocument, KnowledgeHit
    from nanomem_tui.tiers.knowledge import AddedDocuments, Contents, KnowledgeBase
    from nanomem_tui.tiers.knowledge_sources import Found

SOURCES = ("file", "man", "package", "page", "pack", "solution", "nanomem")
SHOWN = 20
"""Documents, and things that could not be read, that are named one by one."""


@click.group("knowledge", cls=Group)
def knowledge() -> None:
    """Documents to look things up in: man pages, files, packages, solutions.

    \b
    Example:
      nanomem knowledge add --man nginx
      nanomem knowledge search "reverse proxy upstream"
    """


@knowledge.command()
@click.argument("paths", type=Words(), nargs=-1, metavar="[PATH]...")
@click.option("--man", "manuals", type=Words(), multiple=True, metavar="NAME", help="A man page of this machine.")
@click.option("--man-all", is_flag=True, help="Every man page of this machine.")
@click.option("--package", "packages", type=Words(), multiple=True, metavar="NAME", help="What a package documents.")
@click.option("--packages-all", is_flag=True, help="What every installed package documents, without man pages.")
@click.option("--page", "pages", type=Words(), multiple=True, metavar="FILE", help="A web page that you saved.")
@click.option("--pack", "packs", type=Words(), multiple=True, metavar="PATH", help="A folder, a .zip or a .tar.")
@click.option("--solution", type=Words(), metavar="TEXT", help="What worked; say with --source where it is from.")
@click.option("--title", type=Words(), default="", help="--solution: its title (default: its first line).")
@click.option("--source", type=Words(), default="", metavar="TEXT", help="--solution: an address, or words.")
@rehearsable
@pass_state
def add(
    state: State,
    paths: Sequence[str],
    manuals: Sequence[str],
    *,
    man_all: bool,
    packages: Sequence[str],
    packages_all: bool,
    pages: Sequence[str],
    packs: Sequence[str],
    solution: str | None,
    title: str,
    source: str,
    dry_run: bool,
) -> None:
    """Add documents; of those that are there only what changed is written. One `nanomem undo` takes all of it back.

    A PATH is a file or a folder of Markdown, text and HTML. Nothing is fetched from the web.

    \b
    Example:
      nanomem knowledge add ~/runbooks --man nginx --man systemctl
      nanomem knowledge add --solution "Raise worker_connections" --source "our incident of May"
    """
    context = click.get_current_context()
    if (source or title) and solution is None:
        raise click.UsageError("--source and --title go with --solution", context)
    if solution is not None and not solution.strip():
        raise click.UsageError("the solution is empty: say what worked", context)
    if solution is not None and not source:
        raise click.UsageError("say with --source where the solution is from", context)
    named = paths or manuals or man_all or packages or packages_all or pages or packs
    if not named and solution is None:
        raise click.UsageError("name what is to be added: a path, --man NAME, --solution TEXT …", context)
    from nanomem_tui.tiers import knowledge_sources
    from nanomem_tui.tiers.knowledge_sources import Found

    with state.open(dry_run=dry_run, starting=True) as ws, output.Progress() as progress:
        found = Found([], [])

        for path in paths:
            found.take(knowledge_sources.read_path(_address(path)))
        if manuals:
            found.take(knowledge_sources.named_manuals(manuals, progress))
        if packages:
            found.take(knowledge_sources.named_packages(packages, progress))
        found.take(_installed(progress, manuals=man_all, packages=packages_all))
        for path in pages:
            found.documents.append(knowledge_sources.saved_page(_address(path)))
        for path in packs:
            found.take(knowledge_sources.read_pack(_address(path), progress))
        if solution is not None:
            found.documents.append(knowledge_sources.text_document(solution, source, title))
        done = ws.knowledge.add(found, tell=progress, dry_run=dry_run)
    _tell_added(state, done, warned(state, [text for text in (solution, source, title) if text]), dry_run=dry_run)


def _address(path: str) -> Path:
    """A path that a person wrote; an address of the web is refused."""
    from nanomem_tui.tiers.knowledge_sources import refuse_address

    refuse_address(path)
    return Path(path).expanduser()


@knowledge.command()
@rehearsable
@pass_state
def sync(state: State, *, dry_run: bool) -> None:
    """Read again what changed, and add what is new in what you added: files in folders; packages installed since, where
    --package or --packages-all added one; man pages, where --man-all added them. Nothing else is added.

    What you took away stays away. --dry-run names what would be added.

    \b
    Example:
      nanomem knowledge sync --dry-run
    """
    with state.open(dry_run=dry_run, starting=True) as ws, output.Progress() as progress:
        done = ws.knowledge.sync(tell=progress, dry_run=dry_run)
    _tell_added(state, done, dry_run=dry_run)


def _tell_added(state: State, done: AddedDocuments, warnings: Sequence[str] = (), *, dry_run: bool) -> None:
    operation = json_objects.operation(done.operation) if done.operation and not dry_run else None
    body: dict[str, Any] = {"operation": operation, **({"dry_run": True} if dry_run else {}), **done.to_json()}
    body["warnings"] = list(warnings)
    state.show(body, lambda: _added_lines(done, dry_run=dry_run))
    if not state.json:
        output.notes([f"Note: {problem.text()}" for problem in done.problems[:SHOWN]])
        if len(done.problems) > SHOWN:
            output.notes([f"Note: and {counted(len(done.problems) - SHOWN, 'more file')} could not be read"])


def _added_lines(done: AddedDocuments, *, dry_run: bool) -> list[str]:
    lines = []
    if done.operation is not None:
        lines.append(f"Would {done.operation.label}" if dry_run else done.operation.label)
    for verb, some in (("new", done.new), ("changed", done.changed)):
        lines += [f"  {verb}  {one.title}  ({counted(one.chunks, 'chunk')})" for one in some[:SHOWN]]
        if len(some) > SHOWN:
            lines.append(f"  … and {counted(len(some) - SHOWN, 'more document')}")
    if done.unchanged:
        lines.append(f"{counted(done.unchanged, 'document')} {'is' if done.unchanged == 1 else 'are'} as before")
    return lines or ["Nothing changed."]


@contextlib.contextmanager
def _reading(state: State, *, offering: bool = False) -> Iterator[KnowledgeBase]:
    """What there is to look things up in. Where no workspace was named and there is none yet, that of an empty folder:
    the pages of nanomem come with the package. `offering`: offer first to index what is installed."""
    with contextlib.ExitStack() as stack:
        try:
            ws = stack.enter_context(state.open(starting=True))
            if offering:
                _offer_installed(state, ws.knowledge)
        except WorkspaceMissing as missing:
            if state.workspace is not None or state.agent_config is not None:
                raise
            if not state.json:
                output.notes([f"Note: no workspace yet at {missing.where}: only the pages of nanomem"])
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            ws = stack.enter_context(State(folder).open(starting=True, dry_run=True))
        yield ws.knowledge


def _offer_installed(state: State, base: KnowledgeBase) -> None:
    """Offer to index the manuals and package pages of this machine where nothing was indexed yet; with nobody to ask,
    name the command that does it."""
    if state.json or not base.is_untouched():
        return
    from nanomem_tui.tiers import knowledge_sources

    has_manuals = next(knowledge_sources.manual_pages(), None) is not None
    has_packages = knowledge_sources.has_package_folders()
    if not has_manuals and not has_packages:
        return
    command = " ".join(["nanomem knowledge add", *["--man-all"] * has_manuals, *["--packages-all"] * has_packages])
    if not output.can_ask():
        output.notes([f"Note: no documents are indexed yet. To index the manuals of this machine: {command}"])
        return
    pages = sum(1 for _ in knowledge_sources.manual_pages())
    packages = len(knowledge_sources.installed_packages()) if has_packages else 0
    parts = [f"{counted(pages, 'manual page')}"] * has_manuals
    parts += [f"the /usr/share/doc pages of {counted(packages, 'package')}"] * has_packages
    cost = f"about {max(1, pages // 500)} min and {max(1, pages // 50)} MB; `nanomem undo` takes them out again."
    found = f"On this machine: {' and '.join(parts)}."
    output.notes(["No documents are indexed yet.", found, f"Indexing them takes {cost}"])
    if not output.ask("Index them now?"):
        base.decline()
        output.notes([f"Not indexed. To do it later: {command}", ""])
        return
    with output.Progress() as progress:
        done = base.add(_installed(progress, manuals=has_manuals, packages=has_packages), tell=progress)
    output.notes([*([done.operation.label] if done.operation else []), *_contents_lines(base.contents()), ""])


def _installed(progress: output.Progress, *, manuals: bool, packages: bool) -> Found:
    """Every manual and package page of this machine, as far as they are wanted."""
    from nanomem_tui.tiers import knowledge_sources
    from nanomem_tui.tiers.knowledge_sources import Found

    found = Found([], [])
    if manuals:
        found.take(knowledge_sources.all_manuals(progress))
    if packages:
        found.take(knowledge_sources.all_packages(progress))
    return found


@knowledge.command()
@pass_state
def status(state: State) -> None:
    """What is indexed: how many documents, of which manuals, packages and folders, when read, and what was not read.

    \b
    Example:
      nanomem knowledge status
    """
    with _reading(state, offering=True) as base:
        found = base.contents()
    state.show(found.to_json(), lambda: _contents_lines(found))


def _contents_lines(found: Contents) -> list[str]:
    if not found.documents and not found.unread:
        return ["No documents were added. Add some: nanomem knowledge add"]
    sections = ", ".join(f"{name} ({number:,})" for name, number in found.sections.items())
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found.kinds.items())
    pairs = [
        ("Documents", f"{found.documents:,} ({kinds}), in {counted(found.chunks, 'chunk')}"),
        ("Manual sections", sections),
        ("Packages", _some(found.packages)),
        ("Folders", _some(found.folders)),
        ("Last read", output.when(found.last_read) if found.last_read else ""),
        ("Not read", _some([f"{where}: {why}" for where, why in found.unread.items()], "; ")),
    ]
    return output.fields(pairs)


def _some(names: Sequence[str], sign: str = ", ") -> str:
    """The number of names, and the first of them."""
    if not names:
        return ""
    more = f" … and {len(names) - SHOWN:,} more (--json names all)" if len(names) > SHOWN else ""
    return f"{len(names):,}: {sign.join(names[:SHOWN])}{more}"


@knowledge.command()
@query_options
@click.option("-n", "--limit", "number", type=Count(1), default=3, show_default=True, help="Chunks to find.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@click.option("--source", "sources", type=click.Choice(SOURCES), multiple=True, help="Only documents of that kind.")
@pass_state
def search(
    state: State, query: str | None, terms: Sequence[str], number: int, offset: int, sources: Sequence[str]
) -> None:
    """The places that answer a question best, each with its document, section, lines, and a score from 0 to 1.

    The pages of nanomem itself answer only a question that names nanomem, or --source nanomem.

    \b
    Example:
      nanomem knowledge search "reverse proxy upstream" -n 3
      nanomem knowledge search "delete untracked files" --source man
    """
    asked = asked_query(query, terms)
    with _reading(state, offering="nanomem" not in sources) as base:
        found = base.search(asked, offset + number, sources)[offset:]
        ours = [] if found or sources else base.search(asked, 1, ["nanomem"])
    state.show([hit.to_json() for hit in found], lambda: _hit_lines(found, ours))


def _hit_lines(found: Sequence[KnowledgeHit], ours: Sequence[KnowledgeHit]) -> list[str]:
    if not found:
        more = ["nanomem's own pages hold words of it: add --source nanomem"] if ours else []
        return ["Nothing found. What is indexed: nanomem knowledge status", *more]
    width = output.terminal_width()
    lines: list[str] = []
    for number, hit in enumerate(found, 1):
        under = hit.section.removeprefix(hit.title).removeprefix(" > ")
        place = f"{hit.title} > {under}" if under else hit.title
        lines += [f"{number}. {one_line(place)}", f"   {one_line(hit.source)}:{_lines(hit)}  {hit.score:.2f}"]
        inner = None if width is None else max(width - 3, 20)
        lines += [f"   {line}".rstrip() for line in paragraph(hit.text, inner)] + [""]
    return lines[:-1]


def _lines(hit: KnowledgeHit) -> str:
    return f"{hit.line_from}" if hit.line_from == hit.line_to else f"{hit.line_from}-{hit.line_to}"


@knowledge.command("list")
@click.option("--source", "sources", type=click.Choice(SOURCES), multiple=True, help="Only documents of that kind.")
@paged
@pass_state
def list_documents(state: State, sources: Sequence[str], limit: int | None, offset: int) -> None:
    """The documents, those of nanomem itself last.

    \b
    Example:
      nanomem knowledge list --source man
    """
    with _reading(state, offering="nanomem" not in sources) as base:
        found = [one for one in base.documents() if not sources or one.kind in sources]
        contents = base.contents()
    shown = page(found, limit, offset)
    ending = ["", *_contents_lines(contents)] if contents.documents and not sources else []
    state.show([one.to_json() for one in shown], lambda: [*_table(shown), *ending] if shown else ["No documents."])


def _table(documents: Sequence[KnowledgeDocument]) -> list[str]:
    columns = (
        Column("ID", drop=3),
        Column("Source"),
        Column("Title", least=16),
        Column("Chunks", right=True, drop=1),
        Column("Added", drop=2),
        Column("About", least=12, drop=4, optional=True),
    )
    rows = [(one.id, one.kind, one.title, f"{one.chunks:,}", output.when(one.added_at), one.about) for one in documents]
    return table(columns, rows, output.terminal_width())


@knowledge.command()
@click.argument("document_id", metavar="ID", type=Words())
@pass_state
def show(state: State, document_id: str) -> None:
    """A document chunk by chunk. ID: its id, the beginning of it, or its title.

    \b
    Example:
      nanomem knowledge show "nginx(8)"
    """
    with _reading(state) as base:
        one = base.get(document_id)
        chunks = base.chunks(one.id)
    body = {**one.to_json(), "text": [{"id": key, **chunk._asdict()} for key, chunk in chunks]}

    def lines() -> list[str]:
        pairs = [
            ("ID", one.id),
            ("Source", one.kind),
            ("Title", one.title),
            ("About", one.about),
            ("From", one.source),
            ("Added", output.when(one.added_at)),
            ("Compared", output.when(one.checked_at)),
        ]
        shown = output.fields(pairs)
        for _, chunk in chunks:
            shown += ["", f"{chunk.section or one.title}  {chunk.line_from}-{chunk.line_to}"]
            shown += paragraph(chunk.text, output.terminal_width())
        return shown

    state.show(body, lines)


@knowledge.command()
@click.argument("ids", metavar="ID...", type=Words(), nargs=-1, required=True)
@decided
@pass_state
def remove(state: State, ids: Sequence[str], *, yes: bool, dry_run: bool) -> None:
    """Take documents away. No sync brings them back; `nanomem undo` does.

    \b
    Example:
      nanomem knowledge remove "nginx(8)" --yes
    """
    with state.open(dry_run=dry_run, starting=True) as ws:
        found = [ws.knowledge.get(one) for one in ids]
        question = f"Take {counted(len(found), 'document')} away?"
        preview = {"documents": [one.to_json() for one in found]}
        if not agreed(state, preview, lambda: _table(found), question, yes=yes, dry_run=dry_run):
            return
        operation = ws.knowledge.remove([one.id for one in found])
    show_changes(state, [operation], preview, dry_run=dry_run)
