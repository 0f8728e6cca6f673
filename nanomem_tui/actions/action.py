"""What an action of a person is: its name, keys, words, danger, command-line twin and when it can't be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from nanomem_tui.conditions import Context, always

Group = Literal["move", "select", "go", "global", "screen"]
#: "preview": shows what will change and asks; "typed": can't be undone, asks for a typed word.
Danger = Literal["none", "preview", "typed"]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    `keys` are Textual key names or single characters, the first is the one shown; none: palette only. `screens` empty
    means everywhere. `labels`, `helps`, `twins` and `footers` hold what differs on one screen, `in_detail` the
    place in the footer while the keys are for the detail. `footer` orders the footer (1 first; 0: only in help).
    `headless` is the command that does the same.
    """

    name: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: Group = "screen"
    screens: tuple[str, ...] = ()
    danger: Danger = "none"
    headless: str = ""
    enabled: Callable[[Context], str | None] = always
    footer: int = 0
    footers: Mapping[str, int] = field(default_factory=dict)
    in_detail: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    helps: Mapping[str, str] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)

    def on(self, screen: str) -> bool:
        """Whether the action exists on `screen`."""
        return not self.screens or screen in self.screens

    def label_on(self, screen: str) -> str:
        """The short label on `screen`."""
        return self.labels.get(screen, self.label)

    def footer_on(self, screen: str, in_detail: bool = False) -> int:
        """Its place in the footer of `screen`; 0 for none."""
        place = self.footers.get(screen, self.footer)
        return self.in_detail.get(screen, place) if in_detail else place

    def help_on(self, screen: str) -> str:
        """What it does on `screen`."""
        return self.helps.get(screen, self.help)

    def twin(self, screen: str) -> str:
        """The command that does the same, without the leading ``nanomem``; empty when it is only of the screen."""
        return self.twins.get(screen, self.headless)
