"""How many tokens of a model a text is: counted by a tokenizer where one is installed, else estimated by script.

Owns which of the two it is, and says so by name. Nothing here ever asks the network.

The estimate was fitted to 10,000 texts of 35 kinds (chats, man pages, code, logs, JSON, 28 languages) as cl100k_base
cuts them: that of the two vocabularies most in use which needs more tokens, so that a newer one seldom needs more than
was reckoned. It is off by 5 % on average for English, code, logs and JSON, 8 % for Chinese, 4 % for Japanese, Korean,
Thai, Arabic and Hindi, 10 % for other languages in Latin and Cyrillic script. A quarter of the bytes, as others reckon,
is off by 8 to 46 %, 43 %, 30 % and 25 %. Beside o200k_base it is as near for English, code, logs and JSON, and says
10 % too many for other Latin script, 30 to 40 % for Chinese, Japanese and Korean, and still more for rarer scripts.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sized
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.core.errors import BadInput, MissingExtra, library_command
from nanomem_tui.core.text import whole

AUTO, ESTIMATE = "auto", "estimate"
"""What `context_tokenizer` may be, beside the path of a `tokenizer.json`."""
ENCODINGS = ("o200k_base", "cl100k_base")
"""Vocabularies of tiktoken, the newest first; one is used where its file is on this machine."""


class Counter(NamedTuple):
    """What counts tokens: its name as a person reads it, and how many tokens a text is."""

    name: str
    count: Callable[[str], int]


@lru_cache(4)
def counter(wanted: str = AUTO) -> Counter:
    """The counter of a setting: `auto`, `estimate`, or the path of a `tokenizer.json`. Raises MissingExtra or BadInput
    for a file that cannot be used."""
    if wanted == ESTIMATE:
        return Counter("an estimate by script", estimate)
    if wanted in (AUTO, ""):
        return _of_tiktoken() or Counter("an estimate by script", estimate)
    return _of_file(Path(wanted).expanduser())


# -- tokenizers -------------------------------------------------------------------------------------------------------

_alone = threading.Lock()


def _of_tiktoken() -> Counter | None:
    """A vocabulary of tiktoken whose file is here; None where there is none."""
    try:
        import tiktoken.load
    except ImportError:
        return None
    names = tiktoken.list_encoding_names()
    likely = [name for base in ENCODINGS for name in sorted(names) if name.startswith(base)]
    with _alone:
        usual = tiktoken.load.read_file
        tiktoken.load.read_file = _read_here  # it would fetch what it does not find
        try:
            for name in likely:
                try:
                    encoding = tiktoken.get_encoding(name)
                except (OSError, ValueError):
                    continue
                return Counter(f"tiktoken {name}", _counting(encoding.encode_ordinary))
        finally:
            tiktoken.load.read_file = usual
    return None


def _counting(encode: Callable[[str], Sized]) -> Callable[[str], int]:
    return lru_cache(4096)(lambda text: len(encode(whole(text))))


def _read_here(path: str) -> bytes:
    if "://" in path:
        raise FileNotFoundError(path)
    return Path(path).read_bytes()


def _of_file(path: Path) -> Counter:
    try:
        import tokenizers
    except ImportError:
        fix = library_command("tokenizers")
        raise MissingExtra("a tokenizer of one's own needs `tokenizers`", str(path), fix) from None
    if not path.is_file():
        raise BadInput("no such file", str(path), "name the tokenizer.json of a model in `context_tokenizer`")
    try:
        made = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001  the library raises bare Exceptions
        raise BadInput("no tokenizer", f"{path}: {error}"[:200], "name the tokenizer.json of a model") from None
    made.no_truncation()
    made.no_padding()
    return Counter(f"tokenizer {path}", _counting(lambda text: made.encode(text, add_special_tokens=False).ids))


# -- the estimate -----------------------------------------------------------------------------------------------------

_LONG = 5
"""Letters of a word that are usually one token."""
_WORD = (0.77, 0.41)
"""Tokens of a word of ASCII letters, and of each letter beyond those."""
_SIGNS = (0.63, 0.34)
"""Tokens of a run of ASCII signs, and of each sign after the first."""
_DIGITS, _LINE, _BLANKS, _ACCENTED, _OTHER = 1.39, 1.51, 0.53, 1.38, 2.14
"""Tokens of three digits, of an end of line, of several blanks, of a letter with an accent, of any other character."""
_SCRIPTS = (
    ("\u0370-\u03ff", 1.04), ("\u0400-\u052f", 0.52), ("\u0590-\u05ff", 1.07), ("\u0600-\u06ff", 0.82),
    ("\u0900-\u0dff", 1.2), ("\u0e00-\u0eff", 0.96), ("\u3040-\u30ff", 0.94), ("\u3400-\u4dbf\u4e00-\u9fff", 1.24),
    ("\uac00-\ud7a3", 1.13), ("\u2000-\u206f\u3000-\u303f\uff00-\uff65", 1.0),
)  # fmt: skip
"""Characters of a script, and tokens of each: Greek, Cyrillic, Hebrew, Arabic, Indic, Thai, kana, Han, Hangul."""


@lru_cache(1)
def _patterns() -> tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], float], ...]]:
    pieces = re.compile(
        r"([A-Z]?[a-z]+|[A-Z]+(?![a-z]))|(\d+)|(\n+)|([ \t]{2,})|([!-/:-@\[-`{-~\x00-\x08\x0b-\x1f\x7f]+)", re.ASCII
    )
    scripts = [*_SCRIPTS, ("\u00c0-\u024f\u1e00-\u1eff", _ACCENTED)]
    return pieces, tuple((re.compile(f"[{letters}]"), tokens) for letters, tokens in scripts)


@lru_cache(4096)
def estimate(text: str) -> int:
    """How many tokens a text is, about; at least one where there is anything."""
    pieces, scripts = _patterns()
    found = 0.0
    for word, digits, line, blanks, signs in pieces.findall(text):
        if word:
            found += _WORD[0] + _WORD[1] * max(0, len(word) - _LONG)
        elif signs:
            found += _SIGNS[0] + _SIGNS[1] * (len(signs) - 1)
        elif digits:
            found += _DIGITS * -(-len(digits) // 3)
        else:
            found += _LINE if line else _BLANKS if blanks else 0.0
    if not text.isascii():
        left = sum(1 for char in text if char > "\x7f")
        for letters, tokens in scripts:
            many = len(letters.findall(text))
            found += many * tokens
            left -= many
        found += left * _OTHER
    return math.ceil(found)
