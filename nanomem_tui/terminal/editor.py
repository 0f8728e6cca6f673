"""Text in the user's own editor, through a private temporary file. Knows no memory and no terminal of ours."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from nanomem_tui.core import files
from nanomem_tui.core.errors import BadInput, Refused
from nanomem_tui.core.text import typed_over


def editor_command(option: str = "") -> list[str]:
    """The user's editor as a command: `$VISUAL`, else `$EDITOR`; `option` as in `edit_text`. Raises BadInput without
    one, and where it is not there."""
    text = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"the editor did not start ({error})", text, "check EDITOR") from error
    if not command:
        otherwise = f", or give the words with {option}" if option else ""
        raise BadInput("no editor is set", "", f"set EDITOR{otherwise}")
    if shutil.which(command[0]) is None:
        raise BadInput(f"the editor did not start (there is no command {command[0]})", "", "check EDITOR")
    return command


def edit_text(text: str, option: str = "") -> str:
    """What the user's `$VISUAL` or `$EDITOR` made of `text`; the newline that editors put at the end is taken off.

    `option`: what takes the words where no editor is set, for the command line.

    The file is readable by the user alone and is removed. Raises BadInput without an editor or when the result is not
    UTF-8, Refused when the editor failed.
    """
    command = editor_command(option)
    end = "\r\n" if "\r\n" in text else "\n"
    with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:  # 0700
        file = Path(folder) / "memory.txt"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogatepass") + (b"" if text.endswith("\n") else end.encode()))
        try:
            done = subprocess.run([*command, str(file)], check=False)
        except OSError as error:
            raise BadInput(f"the editor did not start ({error})", command[0], "check EDITOR") from error
        if done.returncode != 0:
            raise Refused(f"the editor ended with status {done.returncode}", command[0], "nothing was changed")
        try:
            edited = _line_ends_kept(text, files.decode(file.read_bytes()))
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"the edited text cannot be read ({error})", command[0], "nothing was changed") from error
    return edited if text.endswith("\n") else edited.removesuffix("\n").removesuffix("\r" if end == "\r\n" else "")


def _line_ends_kept(text: str, edited: str) -> str:
    """What an editor made of a text, with the line ends and the mark at its beginning that the editor took off."""
    mark = files.MARK if text.startswith(files.MARK) and not edited.startswith(files.MARK) else ""
    plain = text.replace("\r\n", "\n")
    return mark + (edited if "\r\n" in edited else typed_over(text, plain, edited))
