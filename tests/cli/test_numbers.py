"""Numbers on the command line: one that nothing can reach is no limit, and nothing is that old."""

import click
import pytest

from nanomem_tui.cli.main import root
from tests.cli.test_command_line import LEAVES
from tests.conftest import LONG

WORDS = {"message": "window seat", "file": "USER.md", "cursor": "1", "terms": "seat"}
"""What stands for an argument of that name; an id, a key or a commit is taken from the workspace."""
COUNTS = [
    (path, command, param)
    for path, command in [((), root), *LEAVES]
    for param in command.params
    if isinstance(param.type, click.types.IntParamType | click.types.FloatParamType)
]
HUGE = ("1000000", str(10**20), "9" * 5000, "-1")[0 if LONG else 2 :]
NO_NUMBERS = ("nan", "1e999", "-inf")
NEGATIVE = {"-1", "-inf"}


@pytest.fixture
def line_of(home, run):
    """The words with which a command takes one of its numbers, with or without the arguments that may be left out."""
    home("nb035")
    lesson = ("--trigger", "seats", "--action", "by the window", "--json")
    named = {
        **WORDS,
        "item_id": run("memory", "add", "--text", "a window seat", "--json").json["item"]["id"],
        "lesson_id": run("memory", "lessons", "add", *lesson).json["lesson"]["id"],
        "key": run("session", "list", "--limit", "1", "--json").json[0]["key"],
        "sha": run("dream", "log", "--limit", "1", "--json").json[0]["sha"],
    }

    def line(path, command, counted, number, *, whole):
        words = [*path] or ["--run-dream"]
        for param in command.params:
            if param is counted:
                words += [number] if isinstance(param, click.Argument) else [param.opts[0], number]
            elif isinstance(param, click.Argument):
                words += [named[str(param.name)]] if param.name in named and (whole or param.required) else []
            elif param.required:
                words += [param.opts[0], "window seat"]
            elif "--dry-run" in param.opts:
                words.append("--dry-run")
            elif "--session" in param.opts and "--message" in counted.opts:
                words += ["--session", named["key"]]
        return words

    return line


@pytest.mark.slow
def test_no_number_ends_in_an_error_of_the_program(line_of, run):
    assert len(COUNTS) > 50
    wrong = []
    for path, command, counted in COUNTS:
        numbers = (*HUGE, *NO_NUMBERS) if isinstance(counted.type, click.types.FloatParamType) else HUGE
        lines = [line_of(path, command, counted, number, whole=whole) for number in numbers for whole in (False, True)]
        for words in dict.fromkeys(map(tuple, lines)):
            result = run(*words)
            if result.code not in (0, 1, 2) or "internal error" in result.err:
                wrong.append((" ".join(words)[:200], result.err))
            if NEGATIVE & {*words}:
                assert result.code == 2, words
    assert not wrong


@pytest.mark.parametrize("days", [10**6, 10**9, 10**20])
def test_nothing_is_older_than_time_is(days, ramfirst, run):
    assert run("memory", "prune", "--older-than-days", "0", "--dry-run", "--json").json["items"]
    assert run("memory", "prune", "--older-than-days", str(days), "--dry-run", "--json").json["items"] == []


@pytest.mark.parametrize("line", [["memory", "list"], ["log"], ["session", "search", "the"], ["history", "list"]])
def test_a_limit_that_nothing_reaches_is_none(line, home, run):
    home("nb035")
    run("memory", "add", "--text", "a window seat")
    assert run(*line, "--limit", str(10**20), "--json").json == run(*line, "--limit", "100000", "--json").json
    assert run(*line, "--offset", str(10**20), "--json").json == []
