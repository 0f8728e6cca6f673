"""Words of a memory as the label of an operation tells them: quoted, cut, and of a secret its kind and fingerprint.

The one place where a label is made from the text of an item or a lesson. A label outlives the row: it stands in the
ledger, in the log, in what undo says, and in the message of a commit. Pure.
"""

from __future__ import annotations

from nanomem_tui.core.text import quoted


def told(text: str) -> str:
    """The beginning of a text between quotation marks, masked before it is cut."""
    from nanomem_tui.language import secrets  # a status makes no label: it reads no rules of words

    return quoted(secrets.mask_start(text))
