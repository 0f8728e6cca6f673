"""Schema 1: the tables of records and documents, which an earlier release made without noting a version."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: a database without a version has them."""
