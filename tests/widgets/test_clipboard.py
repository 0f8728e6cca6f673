"""Which way a text takes to the clipboard of the person."""

import pytest

from nanomem_tui.screens.base import copying

SSH = {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}


def names(environ, *programs):
    found = copying.clipboard_ways(environ, lambda name: f"/bin/{name}" if name in programs else None)
    return [way.command[0] if way.command else "terminal" for way in found]


@pytest.mark.parametrize(
    ("environ", "programs", "expected"),
    [
        ({}, ("wl-copy", "xclip"), ["terminal"]),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, ("wl-copy", "xclip"), ["wl-copy", "xclip", "terminal"]),
        ({"DISPLAY": ":0"}, ("xsel",), ["xsel", "terminal"]),
        ({"DISPLAY": ":0", **SSH}, ("xclip",), ["terminal"]),
        ({"TMUX": "/tmp/tmux,1,0", "DISPLAY": ":0"}, ("tmux", "xclip"), ["tmux", "terminal"]),
        ({"TMUX": "/tmp/tmux,1,0", **SSH}, ("tmux",), ["tmux", "terminal"]),
        ({"TMUX": "/tmp/tmux,1,0"}, (), ["terminal"]),
        ({"DISPLAY": ":0", "TEXTUAL_DRIVER": "web"}, ("xclip",), ["terminal"]),
    ],
)
def test_the_surest_way_goes_first(environ, programs, expected):
    assert names(environ, *programs) == expected


def test_a_program_that_fails_hangs_or_is_not_there_took_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "PATIENCE", 0.2)
    assert copying.copy_by(copying.Way("", ("sh", "-c", "cat >/dev/null")), "text")
    assert not copying.copy_by(copying.Way("", ("sh", "-c", "exit 3")), "text")
    assert not copying.copy_by(copying.Way("", ("sh", "-c", "sleep 20")), "text")
    assert not copying.copy_by(copying.Way("", (str(tmp_path / "none"),)), "text")


def test_a_program_gets_the_text_as_it_is(tmp_path):
    file = tmp_path / "got"
    assert copying.copy_by(copying.Way("", ("sh", "-c", f"cat >{file}")), "$(touch x) 長崎\n`id`")
    assert file.read_text("utf-8") == "$(touch x) 長崎\n`id`"


def test_what_no_terminal_takes_is_known():
    assert copying.fits_terminal("é" * 28_000)
    assert not copying.fits_terminal("é" * 29_000)
