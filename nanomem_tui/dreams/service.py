"""Dreams of one workspace: what screens, commands and servers call. Composes run, log, review, restore and blame."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from nanomem_tui.agents.archive import ReadTo
from nanomem_tui.core.errors import BadInput, NanomemError, Refused
from nanomem_tui.core.operations import Operation, Perform
from nanomem_tui.core.paths import DREAM_CURSOR, Paths
from nanomem_tui.core.text import counted
from nanomem_tui.dreams.log import DreamLog, DreamQueue, Queue, run_of

if TYPE_CHECKING:
    from nanomem_tui.agents.git import Commit
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.dreams.blame import Blames, Versions
    from nanomem_tui.dreams.entries import Dreamer
    from nanomem_tui.dreams.revert import DreamRevert, RevertOptions, RevertPreview
    from nanomem_tui.dreams.review import Review
    from nanomem_tui.dreams.run import DreamResult, DreamRunner
    from nanomem_tui.model.client import Usage
    from nanomem_tui.store.files.layer import FileLayer
    from nanomem_tui.store.files.presence import Presence


class Dreams(DreamLog):
    """Runs, their log, and their restore."""

    def __init__(
        self,
        paths: Paths,
        git: Callable[[], GitHistory | None],
        files: FileLayer,
        perform: Perform,
        presence: Callable[[], Presence],
        settings: Settings,
        blames: Callable[[Callable[[], GitHistory | None]], Blames] | None = None,
        settle: Callable[[], None] | None = None,
        spent: Callable[[Usage], None] | None = None,
        read_to: Callable[[], ReadTo | None] = lambda: None,
    ) -> None:
        """`spent` is told what questions to a model took; `read_to` is asked where the last Dream of ours ended."""
        self._settle = settle
        self._spent = spent or (lambda _used: None)
        self._open = git
        self._opened: GitHistory | None = None
        self._settings = settings
        self._paths = paths
        self._files = files
        self._perform = perform
        self._presence = presence
        super().__init__(self._sound, lambda: self.blames.edits(DREAM_CURSOR) if blames else (), self.why_none)
        self._read_to = read_to
        self._queue = DreamQueue(paths, files, presence, read_to)
        self._make_blames = blames

    @cached_property
    def runner(self) -> DreamRunner:
        """What runs a Dream, applies the edits of one that a person chose, or passes over an entry."""
        from nanomem_tui.dreams.run import DreamRunner

        return DreamRunner(
            self._paths,
            self._newest,
            self._files,
            self._perform,
            self._presence,
            settle=self._settle,
            owned=self.own_headings,
            read_to=self._read_to,
        )

    @cached_property
    def _revert(self) -> DreamRevert:
        from nanomem_tui.dreams.revert import DreamRevert

        return DreamRevert(self._sound, self._files, self._perform, self._queue, self.own_headings, self.why_none)

    def _newest(self) -> GitHistory | None:
        """Return the history as it is now; one of the same repository keeps the objects it has read."""
        now = self._open()
        kept = self._opened
        if (
            now is None
            or kept is None
            or (now.git_dir, now.prefix, now.inside) != (kept.git_dir, kept.prefix, kept.inside)
        ):
            self._opened = now
        return self._opened

    def _sound(self) -> GitHistory | None:
        """Return the history. Raises Refused when there is one that cannot be read."""
        git = self._newest()
        if git is None and self._paths.is_versioned:
            from nanomem_tui.store.files.layer import refuse_unreadable

            refuse_unreadable(self._paths)
        return git

    def outer_repository(self) -> str:
        """Return the folder above the workspace whose repository keeps the versions; "" where none does."""
        git = self._newest()
        return str(git.git_dir.parent) if git is not None and git.inside else ""

    def why_none(self) -> str:
        """Return as a sentence why no versions are kept; "" where they are, or cannot be read, or none is expected."""
        if self._newest() is not None:
            return ""
        from nanomem_tui.agents.git_history import find_repository

        found = find_repository(self._paths)
        if found.problems:
            return ""
        why = found.why_none
        ran = self.ran()
        if not ran:
            return f"No versions of the memory files are kept: {why}." if why else ""
        said = f"{counted(ran, 'Dream')} ran here, but no versions of the memory files are kept"
        return f"{said}{f': {why}' if why else ''}. `nanomem log` lists all changes, `nanomem undo ID` reverts one."

    def status(self) -> dict[str, Any]:
        """`runs`, `commits`, `cursor`, `latest`, `unprocessed`, `git`, `running`, and `last`, a JSON object or None;
        `unread` entries were passed by Dreams whose rules could not read them, and wait for a model.

        `problem` (`what`, `where`, `fix`, else None) says why versions that are there cannot be read; then `runs` and
        `commits` are None: how many there are is not known. `ahead` (`cursor`, `by` and a problem's fields,
        else None) says that the cursor file names one that lies so many entries beyond the last. `unversioned` are
        the memory files that no commit of the repository can hold: what Dreams would change there waits in the inbox,
        except beside an `outer_repository`. Without a repository `runs` are the Dreams of ours that are recorded.
        """
        queue = self._queue.queue()
        commits: list[Commit] = []
        problem = None
        try:
            commits = self.commits()
        except Refused as error:
            problem = {"what": error.what, "where": error.where, "fix": error.fix}
        dreams = [commit for commit in commits if commit.is_dream]
        ahead = queue.too_far(None if problem else self._opened)
        # The record of Dreams is loaded only where there may be one: every Dream of ours leaves a cursor.
        recorded = self.ran() if not self._opened and self._paths.dream_cursor.exists() else 0
        return {
            "runs": None if problem else len(dreams) if self._opened else recorded,
            "commits": None if problem else len(commits),
            "cursor": queue.cursor,
            "latest": queue.latest,
            "unprocessed": len(queue.waiting) + queue.more,
            "unread": len(queue.unread),
            "git": self._opened is not None,
            "unversioned": list(self._opened.unversioned()) if self._opened and not problem else [],
            "problem": problem,
            "ahead": {"cursor": queue.stated, "by": queue.ahead, **ahead.to_json()} if ahead else None,
            "running": self._queue.running(),
            "last": run_of(dreams[0]).to_json() if dreams else None,
        }

    def run(
        self,
        *,
        dry_run: bool = False,
        max_batch_size: int | None = None,
        max_iterations: int | None = None,
        timeout: float | None = None,
        started_by: str = "human",
        watch: Callable[[str], None] | None = None,
        dreamer: str | None = None,
        review: bool = False,
    ) -> DreamResult:
        """One Dream; limits and Dreamer come from the settings unless given. See `dreamer` and `DreamRunner.run`.

        Without `max_iterations` the whole batch is read: the limit of the settings then holds for each of its entries.
        """
        from nanomem_tui.dreams.entries import no_watcher

        return self.runner.run(
            dry_run=dry_run,
            max_batch_size=max_batch_size or self._settings.dream_max_batch_size,
            max_iterations=max_iterations or self._settings.dream_max_iterations,
            whole_batch=max_iterations is None,
            timeout=timeout,
            started_by=started_by,
            watch=watch or no_watcher,
            dreamer=self.dreamer(dreamer),
            review=review,
        )

    def queue(self) -> Queue:
        """Return what waits for the next Dream. Reads only."""
        return self._queue.queue()

    def taken_back(self) -> bool:
        """Return whether a person took back the last Dream, so that only a person begins the next one."""
        return self._make_blames is not None and self.blames.taken_back(self._queue.queue().cursor)

    def running(self) -> bool:
        """Return whether a Dream, ours or the agent's own, is under way."""
        return self._queue.running()

    @cached_property
    def review(self) -> Review:
        """The edits that wait for a person."""
        from nanomem_tui.dreams.review import Review, StoredEditLayer

        return Review(StoredEditLayer(self._paths), self._files, self._perform, self.own_headings)

    @cached_property
    def versions(self) -> Versions:
        """Every version of the memory files, and how long what Dreams wrote lasted."""
        from nanomem_tui.dreams.blame import Versions

        return Versions(self._sound, self._files, self.why_none)

    def dreamer(self, name: str | None = None) -> Dreamer:
        """Return the Dreamer of that name, `rules` or `model`; without one that of the settings.

        Raises InvalidConfig when no language model is set up, BadInput for another name.
        """
        name = name or self._settings.dreamer
        if name == "rules":
            from nanomem_tui.dreams.rules import RulesDreamer

            return RulesDreamer()
        if name != "model":
            raise BadInput(f"no Dreamer is called {name!r}", "", "rules or model")
        from nanomem_tui.dreams.model import ModelDreamer
        from nanomem_tui.model.client import ModelClient
        from nanomem_tui.model.settings import model_config

        return ModelDreamer(ModelClient(model_config(self._paths, self._settings), self._spent))

    @cached_property
    def blames(self) -> Blames:
        """Who wrote each line of a memory file, and which entries asked for it."""
        assert self._make_blames is not None, "who makes the Dreams of a workspace hands it over"
        return self._make_blames(self._sound)

    def own_headings(self, file: str) -> Collection[int]:
        """Return the lines of headings that our Dreams made in a file; none where that cannot be told."""
        try:
            return self.blames.own_headings(file) if self._make_blames else ()
        except NanomemError:
            return ()

    def revert_preview(
        self, sha: str, file: str | None = None, hunk: int | None = None, **how: Unpack[RevertOptions]
    ) -> RevertPreview:
        """Return what a restore would do. See `DreamRevert.preview`."""
        return self._revert.preview(sha, file, hunk, **how)

    def revert(
        self, sha: str, file: str | None = None, hunk: int | None = None, **how: Unpack[RevertOptions]
    ) -> Operation:
        """Take back a commit, a file of it, or a hunk. See `DreamRevert.revert`."""
        return self._revert.revert(sha, file, hunk, **how)
