"""What finders find: a finding, the evidence beside it, and the decisions that a person can take.

Values only. Must not look for anything or change anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change

Decision = Literal["keep", "reject", "merge", "edit", "disable", "delete", "split", "snooze"]

KINDS: Mapping[str, str] = {
    "waiting": "held back for a person",
    "edit": "edit of a Dream that waits",
    "secret": "holds a secret",
    "injection": "reads like an order to the model",
    "leak": "tells one chat of another",
    "unsettled": "changed by two at the same time",
    "conflict": "contradicts another",
    "duplicate": "says what another says",
    "restated": "stands in a boot file already",
    "dated": "a relative date that has passed",
    "stale": "old, and not used",
    "unused": "never recalled",
    "long": "too long",
    "orphan": "from a session that is gone",
}
"""Why a thing wants a person, in the order in which the queue asks: what is dangerous first."""


class Evidence(NamedTuple):
    """One thing that stands beside a finding: what it is (`the other item`, `USER.md, line 12`), its words, when it
    was said (UTC ISO, or empty), where it is from, and its id where it has one."""

    label: str
    text: str
    at: str = ""
    origin: str = ""
    id: str = ""


class Finding(NamedTuple):
    """One thing that wants a person.

    `id` is the same each time the same thing is found (`duplicate:ltm_1+ltm_2`); `ids` are those that a decision
    touches, the one that is proposed to go first; `why` is the reason in words; `weight` from 0 to 1 is how sure it
    is; `print_` changes when what was judged changes, so that what a person kept is asked again only then;
    `offers` are the decisions that make sense, the proposed one first. `scope_key` and `source` are those of the
    first, for filters and rules.
    """

    id: str
    kind: str
    layer: str
    ids: tuple[str, ...]
    text: str
    why: str
    since: str = ""
    weight: float = 0.5
    print_: str = ""
    offers: tuple[Decision, ...] = ("keep", "delete")
    scope_key: str = ""
    source: str = ""


class How(NamedTuple):
    """What a decision needs beside its name: the words of an edit, the scope (`global`, `telegram:42`,
    `telegram:@ana`) of a split, until when (UTC ISO) to snooze, the id into which to merge."""

    text: str | None = None
    scope: str | None = None
    until: str | None = None
    into: str | None = None


class Finder(Protocol):
    """Looks for findings of one or more kinds."""

    @property
    def kinds(self) -> Sequence[str]:
        """Of which kinds its findings are."""

    def find(self) -> Iterable[Finding]:
        """All findings there are; quick ones come first. Reads only; may be asked in any thread."""

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """What stands beside one of its findings."""


@runtime_checkable
class Decider(Protocol):
    """A finder that knows better than the queue what a decision about one of its findings changes."""

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
        """The changes of a decision, which the queue performs; None: the usual ones. Raises Refused or BadInput where
        the decision cannot be made."""
