"""What of a sentence shows what it is: its words, parts of its words, the order of its small words, its marks, and what
the sentences before it are. The trainer (`scripts/language/teach.py`) and the reader see the same features.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

VERSION = 2
"""Changes when the features do: a pack of another version is made anew."""
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\w\s]|_")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_CODE = re.compile(r"https?:|/\w+/|\w+\(\)|[{}<>=`]")
_QUOTES = re.compile('["“”«»„「」『』]')
_EMOJI = re.compile("[\U0001f300-\U0001faff]")
_DIGIT = re.compile(r"\d")
_LENGTHS = (1, 2, 4, 7, 12, 20)


def tokens(text: str) -> list[str]:
    """Split a text into words in lower case and marks; a number is `0`.

    >>> tokens("I've 2 kids!")
    ["i've", '0', 'kids', '!']
    """
    found = (one[0] for one in _TOKEN.finditer(text))
    return ["0" if token[0].isdigit() else token.replace("’", "'").lower() for token in found]


def parts(text: str) -> list[str]:
    """Split a text into words, in Chinese and Japanese into all runs of one to three characters."""
    if not is_wide(text):
        return [token for token in tokens(text) if token[0].isalnum()]
    return [text[at : at + length] for length in (1, 2, 3) for at in range(len(text) - length + 1)]


def is_wide(text: str) -> bool:
    """Whether a text is written without spaces between words: Chinese or Japanese."""
    return len(_WIDE.findall(text)) > 0.15 * len(text)


def features(sentences: Sequence[str], at: int, acts: Sequence[str], common: Collection[str]) -> set[str]:
    """Return the features of the sentence at place `at` of a message. `acts`: what the sentences before it are.
    `common`: the words of the language that are seen most; only these show how a sentence is built."""
    sentence = sentences[at].strip()
    words = tokens(sentence)
    found = set(_of_characters(sentence) if is_wide(sentence) else _of_words(words, common))
    found.update(_of_form(sentence, len(words)))
    found.add(f"of {min(len(sentences), 3)}")
    found.add("last" if at == len(sentences) - 1 else f"at {min(at, 2)}")
    found.update(f"after {act}" for act in acts[-1:])
    found.update(f"two after {act}" for act in acts[-2:-1])
    found.update(f"some {act}" for act in acts)
    if at + 1 < len(sentences) and sentences[at + 1].rstrip().endswith(("?", "？")):
        found.add("before ?")
    return found


def _of_words(words: Sequence[str], common: Collection[str]) -> Iterator[str]:
    """Words, pairs of words, parts of words, and the frame that common words make around the others (`_`)."""
    bounded = ("^", *words, "$")
    yield from words
    yield from (f"{one} {other}" for one, other in pairwise(bounded))
    yield from (f"end {word}" for word in words[-2:])
    for word in words:
        yield from parts_of(word)
    frame: list[str] = []
    for word in bounded:
        shown = word if word in common or not word[0].isalpha() else "_"
        if shown != "_" or frame[-1:] != ["_"]:
            frame.append(shown)
    for length in (2, 3):
        yield from (f"#{' '.join(frame[n : n + length])}" for n in range(len(frame) - length + 1))
    yield f"#^{' '.join(frame[:4])}"


def parts_of(word: str) -> Iterator[str]:
    """Return the parts of a longer word, of three to five letters."""
    if len(word) > 3 and word.isalpha():
        marked = f"<{word}>"
        for length in (3, 4, 5):
            yield from (f"~{marked[n : n + length]}" for n in range(len(marked) - length + 1))


def _of_characters(sentence: str) -> Iterator[str]:
    """Runs of one to four characters; a number is `0`."""
    plain = f"^{re.sub(r'[0-9]+', '0', sentence.lower())}$"
    for length in (1, 2, 3, 4):
        yield from (plain[n : n + length] for n in range(len(plain) - length + 1))


def _of_form(sentence: str, words: int) -> Iterator[str]:
    """How it ends and begins, how long it is, and what is in it beside words."""
    if sentence:
        yield f"ends {sentence[-1]}" if not sentence[-1].isalnum() else "ends"
        yield "capital" if sentence[0].isupper() else "small"
    size = len(sentence) // 2 if is_wide(sentence) else words
    yield f"long {sum(size > length for length in _LENGTHS)}"
    signs = (("quotes", _QUOTES), ("code", _CODE), ("emoji", _EMOJI), ("digits", _DIGIT))
    yield from (name for name, pattern in signs if pattern.search(sentence))
