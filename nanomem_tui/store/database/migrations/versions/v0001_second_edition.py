"""Schema 1: the tables of the second edition, as the models make them. One of the first edition is taken over."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: every database of this edition has them."""
