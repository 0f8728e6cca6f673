"""A thousand values that look like secrets and are none, made by rule from a seed, each in a sentence."""

from __future__ import annotations

import base64
import hashlib
import random
import uuid
from collections.abc import Callable, Iterator

NUMBER = 1_000
_WORDS = (
    "harbour lantern turbine meadow protocol ledger compass violet archive granite whisper pebble orchard signal "
    "marble thistle cascade ember willow quartz"
).split()


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choice("0123456789") for _ in range(count))


def _hex(draw: random.Random, count: int) -> str:
    return f"{draw.getrandbits(count * 4):0{count}x}"


def _luhn(digits: str) -> int:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10


def _no_card(draw: random.Random) -> str:
    """Sixteen digits in groups of four whose check digit is wrong."""
    while True:
        digits = "4" + _digits(draw, 15)
        if _luhn(digits):
            return " ".join(digits[place : place + 4] for place in range(0, 16, 4))


def _no_iban(draw: random.Random) -> str:
    """As an IBAN, with a checksum that is wrong."""
    while True:
        digits = _digits(draw, 20)
        text = f"DE{digits}"
        if int("".join(str(int(one, 36)) for one in text[4:] + text[:4])) % 97 != 1:
            return text


_MADE: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    ("The run has the id {}", lambda draw: str(uuid.UUID(int=draw.getrandbits(128), version=4))),
    ("Fixed in commit {}", lambda draw: _hex(draw, 40)),
    ("See {} for the change", lambda draw: _hex(draw, 8)),
    ("The image is sha256:{}", lambda draw: hashlib.sha256(draw.randbytes(8)).hexdigest()),
    ("Its md5 is {}", lambda draw: _hex(draw, 32)),
    ("Order {} came today", lambda draw: f"{_digits(draw, 3)}-{_digits(draw, 7)}-{_digits(draw, 7)}"),
    ("The invoice number is {}", lambda draw: f"RE-2026-{_digits(draw, 5)}"),
    ("The parcel has the number {}", lambda draw: _digits(draw, 14)),
    ("The number {} is on the form", _no_card),
    ("He typed {} by mistake", _no_iban),
    ("Call me at +49 {}", lambda draw: f"30 {_digits(draw, 4)} {_digits(draw, 4)}"),
    ("The brand colour is #{}", lambda draw: _hex(draw, 6)),
    ("The book is ISBN 978-{}", lambda draw: f"3-{_digits(draw, 4)}-{_digits(draw, 4)}-0"),
    ("Read https://example.org/{} first", lambda draw: "/".join(draw.sample(_WORDS, 3))),
    ("Watch https://video.example/watch?v={}", lambda draw: base64.urlsafe_b64encode(draw.randbytes(9)).decode()[:11]),
    ("The version is {}", lambda draw: f"{draw.randrange(9)}.{draw.randrange(30)}.2+{_hex(draw, 7)}"),
    ("Meet on {} at nine", lambda draw: f"2026-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"),
    ("The coordinates are {}", lambda draw: f"{draw.uniform(-90, 90):.6f}, {draw.uniform(-180, 180):.6f}"),
    ("The server is at {}", lambda draw: ".".join(str(draw.randrange(256)) for _ in range(4))),
    ("Its address is {}", lambda draw: ":".join(_hex(draw, 2) for _ in range(6))),
    ("The class is called {}", lambda draw: "".join(word.title() for word in draw.sample(_WORDS, 4))),
    ("The variable {} is empty", lambda draw: "_".join(draw.sample(_WORDS, 3)).upper()),
    ("The branch is {}", lambda draw: f"feature/{'-'.join(draw.sample(_WORDS, 4))}-{_digits(draw, 4)}"),
    ("The password policy asks for {} characters", lambda draw: str(draw.randrange(8, 40))),
    ("Where do I put the API key of {}?", lambda draw: draw.choice(_WORDS)),
    ("The token budget is {} tokens a day", lambda draw: f"{draw.randrange(1, 99)},{_digits(draw, 3)}"),
    ("The secret of a good {} is patience", lambda draw: draw.choice(_WORDS)),
    ("The slides are in {}.pdf", lambda draw: base64.b32encode(draw.randbytes(10)).decode().rstrip("=")),
    ("The flight {} leaves at noon", lambda draw: f"SK{_digits(draw, 4)}"),
    ("The file is {} bytes long", lambda draw: _digits(draw, 12).lstrip("0") or "0"),
    ("Session telegram:{} is hers", lambda draw: "-100" + _digits(draw, 10)),
    ("It was 2026-11-{} in the log", lambda draw: f"{draw.randrange(10, 29)}T11:30:00.{_digits(draw, 6)}Z"),
    ("Row ltm_{} is older", lambda draw: f"{_digits(draw, 13)}_{_digits(draw, 6)}"),
)  # fmt: skip


def lookalikes(seed: int = 8) -> Iterator[str]:
    """The sentences."""
    draw = random.Random(seed)
    for number in range(NUMBER):
        sentence, value = _MADE[number % len(_MADE)]
        yield sentence.format(value(draw))
