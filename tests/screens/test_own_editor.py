"""Editing in the person's own editor, also where there is none."""

import os
import stat

import pytest

from tests.screens.console import console


async def test_the_own_editor_edits_too(demo, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "from elsewhere\\n" > "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    async with console(demo, "items") as on:
        monkeypatch.setattr(type(on.app._driver), "can_suspend", True, raising=False)
        monkeypatch.setattr(type(on.app._driver), "suspend_application_mode", lambda self: None)
        monkeypatch.setattr(type(on.app._driver), "resume_application_mode", lambda self: None)
        await on.press("E")
        await on.until(lambda: "from elsewhere" in [row.text for row in on.screen.table.rows], "the edited text")


BROKEN = {None: "no editor is set", "/nowhere/ed -w": "there is no command", "false": "the editor ended with status"}


@pytest.mark.slow
@pytest.mark.parametrize("screen", ["items", "knowledge", "files"])
async def test_the_console_stays_when_the_own_editor_does_not_work(demo, monkeypatch, screen):
    monkeypatch.delenv("VISUAL", raising=False)
    away = 0

    def turn(by):
        nonlocal away
        away += by
        assert away == 0 or os.environ.get("EDITOR") == "false", "the terminal is given away for nothing"

    async with console(demo, screen) as on:
        driver = type(on.app._driver)
        monkeypatch.setattr(driver, "can_suspend", True, raising=False)
        monkeypatch.setattr(driver, "suspend_application_mode", lambda self: turn(1))
        monkeypatch.setattr(driver, "resume_application_mode", lambda self: turn(-1))
        for editor, said in BROKEN.items():
            with monkeypatch.context() as patch:
                patch.delenv("EDITOR", raising=False)
                if editor is not None:
                    patch.setenv("EDITOR", editor)
                await on.press("G", "E")
                await on.shows(said)
                assert away == 0
