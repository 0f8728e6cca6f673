"""What the screens share on which a Dream, or other work of minutes, can run: beside the keys, with what it is at, and
a key that stops it.

Owns the progress and the stop. What is done, and what becomes of it, is for the screen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from nanomem_tui.core.errors import NanomemError, Refused
from nanomem_tui.core.text import counted
from nanomem_tui.screens.base.console import Running
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import say

if TYPE_CHECKING:
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.model.client import Usage

Row = TypeVar("Row")
Result = TypeVar("Result")


class Dreaming(WorkspaceScreen[Row], Generic[Row]):
    """A screen on which a Dream can run."""

    def __init__(self) -> None:
        super().__init__()
        self._dreaming: Running | None = None

    async def beside_the_keys(self, work: Callable[[Running], Awaitable[Result]], run: Running) -> Result:
        """Do `work`, in a worker of the group "dream", while what `run` is at is said each second and esc stops it.

        Raises what `work` raises.
        """
        self._dreaming = run
        self.console.under_way.append(run)

        def tell() -> None:
            self.say_progress(run.words())

        tell()
        timer = self.set_interval(1, tell)
        try:
            return await work(run)
        finally:
            timer.stop()
            self._dreaming = None
            self.console.under_way.remove(run)

    def say_progress(self, words: str) -> None:
        """Say what it is at."""
        say(self, words)

    def none_runs(self) -> None:
        """Raise Refused while one runs."""
        if self._dreaming is not None:
            raise Refused(f"{self._dreaming.what} runs already", "", "esc stops it")

    def on_unmount(self) -> None:
        """The console ends: so does a Dream, before it writes."""
        if self._dreaming is not None:
            self._dreaming.stopped.set()


def result_words(result: DreamResult, waiting: int = 0) -> str:
    """What a Dream did, in a sentence; `waiting` of its edits are in the inbox."""
    total = counted(result.read + result.remaining, "entry", "entries")
    read = f"{result.read:,} of {total}" if result.remaining else total  # short: the status bar may cut the end
    held = f", {counted(waiting, 'edit')} in the inbox" if waiting else ""
    if not result.files:
        return f"Dream: read {read}; {result.unchanged}{held}"
    files = result.files.items()
    counts = ", ".join(f"{name.rpartition('/')[2]} +{added} -{removed}" for name, (added, removed) in files)
    return f"Dream: {counts} from {read}{held} (u undoes it)"


def usage_words(usage: Usage) -> str:
    """What a model took: `qwen3, 2 questions, 3,120 tokens in, 240 out, 4.1 s, cost 0.0012`."""
    about = "about " if usage.estimated else ""
    cost = "" if usage.cost is None else f", cost {usage.cost:.4f}"
    tokens = f"{about}{usage.tokens_in:,} tokens in, {usage.tokens_out:,} out"
    return f"{usage.model}, {counted(usage.calls, 'question')}, {tokens}, {usage.seconds:.1f} s{cost}"


def in_words(error: NanomemError, fix: str = "") -> str:
    """What went wrong, as a sentence, and what to do."""
    told = f"{error.what}: {fix}" if fix else error.what
    return f"{told[:1].upper()}{told[1:]}."
