"""Command lines on copies of the sample homes, as the tests of the commands have them."""

from tests.cli.conftest import home, ramfirst, run, workspace

__all__ = ["home", "ramfirst", "run", "workspace"]
