"""The homes that the screens' tests use."""

from tests.screens.conftest import built_demo, demo, sample

__all__ = ["built_demo", "demo", "sample"]
