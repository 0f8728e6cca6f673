"""When a value beside the name of a secret is one: checksums, and what tells a password or a key from talk. Pure.

A shape of a secret names its check without `is_`. The words of sentences are in `packs/secrets-sentences.toml`.
"""

from __future__ import annotations

import base64
import re
from functools import cache

from nanomem_tui.language.pack_files import expand, table, words

_PACK = "secrets-sentences"


@cache
def _words(*names: str) -> frozenset[str]:
    """The words of lists of the pack."""
    return frozenset().union(*(words(_PACK, name) for name in names))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """A pattern of the pack."""
    return re.compile(expand(table(_PACK)[name], {}))


def is_luhn(value: str) -> bool:
    """Whether the last digit is the checksum of the others, as of payment cards."""
    digits = [int(c) for c in value if c.isdigit()]
    if len(set(digits)) < 2:
        return False
    doubled = [d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def is_issued(value: str) -> bool:
    """Whether a number begins as those of an issuer of payment cards, and has its length and the checksum."""
    return _pattern("issuers").fullmatch("".join(c for c in value if c.isdigit())) is not None and is_luhn(value)


def is_iban(value: str) -> bool:
    """Whether a value has the length of an IBAN of its country, and its checksum."""
    bare = re.sub(r"[ -]", "", value).upper()
    if f"{bare[:2]}:{len(bare)}" not in _words("iban"):
        return False
    return int("".join(str(int(c, 36)) for c in bare[4:] + bare[:4])) % 97 == 1


def is_ten_digits(value: str) -> bool:
    """Whether a value has ten digits at least: what stands behind the word IBAN may have a slip in it."""
    return sum(c.isdigit() for c in value) >= 10


def is_resident_id(value: str) -> bool:
    """Whether a number has the checksum of a Chinese resident id."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return "10X98765432"[sum(w * int(c) for w, c in zip(weights, value, strict=False)) % 11] == value[17].upper()


_DOCUMENTED = frozenset(
    (
        "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AKIAI44QH8DHBEXAMPLE", "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    )
)  # fmt: skip
"""Keys in the documentation of AWS, letter by letter: what only resembles one of them is a key."""
_STANDS_FOR = re.compile(
    r"(?:[<\[{$%*.•#_-]|x(?=[x.*•#_-]|$))+\w*[>\]}%*x.•#_-]*|<[^<>]*>?|\$?\{.*\}|\[[^\[\]]*\]|.*(?:\*{3}|x{6}).*|"
    r"(?:\w+\.)*(?:environ|getenv|env)\b[\[(.:].*|(?:optional|string|str|varchar|char)[\[(<]\w*[\])>]?[;,]?",
    re.IGNORECASE,
)
"""The name of a variable, an expression that reads one, a type, a value that was covered."""
_OWN_WORDS = re.compile(
    r"your|example|placeholder|change|redacted|todo|dummy|none|null|undefined|true|false|string|required|optional|"
    r"x{4,}"
)
"""Words that say of themselves that they stand for a value."""
_BESIDE = re.compile(
    r"openai|anthropic|github|google|stripe|password|passwd|pass|pwd|secret|token|access|api|key|user|name|here|goes|"
    r"put|insert|replace|enter|please|value|with|this|the|me|my|proj|live|test|database|admin|sk|pk|ghp|db"
)
"""Words that may stand beside these."""


def is_real(value: str) -> bool:
    """Whether a value is no placeholder, as a whole or by its words. A password may have such a word within."""
    bare = value.strip("\"'`")
    if bare in _DOCUMENTED or _STANDS_FOR.fullmatch(bare):
        return False
    apart, words = _OWN_WORDS.subn(" ", bare[:200].lower())
    rest = re.sub(r"[\s_.:/<>()\[\]{}-]", "", _BESIDE.sub(" ", apart))
    return words == 0 or not ("1234567890".startswith(rest) or set(rest) == {"0"})


_BOLD = re.compile(r"(\*{1,3})(.*)\1", re.DOTALL)


def is_chosen(value: str) -> bool:
    """Whether a value beside the word password is one: no placeholder, no address, no plain word or sentence."""
    bare = _BOLD.sub(r"\2", value.strip("\"'`"))
    if re.match(r"(?:https?:)?//", bare):
        return False
    return is_real(bare) and (
        any(c.isdigit() for c in bare)
        or (value[0] in "\"'`" and " " not in bare)
        or bool(re.search(r"\w[!@#$%^&*]", bare))
    )


def is_mixed(value: str) -> bool:
    """Whether a value behind a name to log in with is a password: letters with digits or marks, no path or address."""
    letters = sum(c.isalpha() for c in value)
    return letters >= 2 and is_chosen(value) and re.search(r"/|\.\w{2,4}$|://", value) is None


def is_assigned(value: str) -> bool:
    """Whether a value behind a name like DB_PASS is a password: one with letters, and no file that holds it."""
    bare = value.strip("\"'`")
    return sum(c.isalpha() for c in bare) >= 2 and is_chosen(bare) and re.match(r"[~.]*/|\w+://", bare) is None


_SCHEMES = re.compile(
    r"(?:wpa[23]?|wep|sha-?\d+|md5|base64|bcrypt|argon2\w*|pbkdf2|aes-?\d*|1password)\b", re.IGNORECASE
)


def is_network_key(value: str) -> bool:
    """Whether a value behind the words of a network is its key: eight signs at least, and no way to encrypt."""
    return len(value) >= 8 and is_chosen(value) and _SCHEMES.match(value) is None


def is_told(value: str) -> bool:
    """Whether a value right behind the word password, with nothing between, is one: no year, no day, no scheme."""
    if value.isdecimal():
        return 4 <= len(value) <= 12 and re.fullmatch(r"(?:19|20)\d\d", value) is None
    return is_mixed(value) and _SCHEMES.match(value) is None


def is_strong(value: str) -> bool:
    """Whether a value can be nothing else: small letters, digits, and a sign or a capital within."""
    bare = value.strip("\"'`")
    within = re.search(r"[a-z0-9].*[A-Z]|[^\w./:-]", bare)
    return is_mixed(value) and bool(re.search(r"[a-z]", bare) and re.search(r"\d", bare) and within)


_TYPES = re.compile(
    r"(?:n?(?:var)?char\d?|text|string|u?int|float|bytes?|utf-?|latin|iso-?|base|sha-?|bcrypt|v)\d*(?:\(\d+\))?[*!]*",
    re.IGNORECASE,
)


def is_written(value: str) -> bool:
    """Whether a value in a form beside the name of a password is one: no type, no scheme, and a digit or a mark within,
    not at the end as of “required*”."""
    bare = value.strip("\"'`").rstrip("*!")
    if not is_mixed(value) or _SCHEMES.match(bare) or _TYPES.fullmatch(bare):
        return False
    return any(c.isdigit() for c in bare) or re.search(r"\w[!@#$%^&*]+\w", bare) is not None


def is_login_word(value: str) -> bool:
    """Whether what one logs in with is a password: eight signs at least, and no second factor."""
    return len(value) >= 8 and "2fa" not in value.lower() and is_written(value)


def is_foreign(value: str) -> bool:
    """Whether a word with digits is a password: it is of another script than Latin, and no version."""
    return not value.isascii() and not value.lower().startswith(("верси", "version"))


def is_basic(value: str) -> bool:
    """Whether a value is the base64 of a name and a password."""
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return False
    return plain.isprintable() and re.fullmatch(r"[^:\s]+:\S.*", plain) is not None


def is_seed(value: str) -> bool:
    """Whether words beside those of a wallet are its seed: twelve words at least, and no sentence."""
    words = re.split(r"[ ,]+", value)[:12]
    return len(words) == 12 and all(3 <= len(word) <= 8 for word in words) and _words("talk").isdisjoint(words)


def is_random(value: str) -> bool:
    """Whether a value beside the word key or token is one: letters and digits mixed, no placeholder, varied."""
    bare = value.strip("\"'`")
    mixed = any(c.isdigit() for c in bare) and any(c.isalpha() for c in bare)
    return mixed and len(set(bare)) >= 8 and is_real(bare)


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_spoken_phrase(value: str) -> bool:
    """Whether words behind “the password is” are a passphrase: three at least, none that a sentence would have, and not
    the beginning of a description."""
    words = _WORD.findall(value.lower())
    if len(words) < 3 or not _words("talk", "around").isdisjoint(words):
        return False
    states = sum(word in _words("states") for word in words)
    return (
        not any(map(_pattern("endings").fullmatch, words))
        and is_real(value)
        and states * 2 < len(words)
        and not (words[0].endswith("ly") or (len(words) == 3 and words[0].endswith(("ed", "ing"))))
    )


def is_unspaced_phrase(value: str) -> bool:
    """The same of Chinese or Japanese, which has no blanks."""
    return _pattern("unspaced").search(value) is None


def is_quoted_phrase(value: str) -> bool:
    """Whether what stands in quotation marks behind the word password is one: any words but a remark on a password."""
    words = _WORD.findall(value.lower())
    if not words or not is_real(value):
        return False
    if any(map(str.isascii, words)) or " " in value.strip():
        return not _words("talk", "around", "states").issuperset(words)
    return _pattern("unspaced").search(value) is None or len(value) >= 6


def is_quoted_sentence(value: str) -> bool:
    """The same of three words at least."""
    return value.count(" ") >= 2 and is_quoted_phrase(value)


def is_base32(value: str) -> bool:
    """Whether a value beside the words of two-factor authentication is a seed: base32, and no word."""
    bare = re.sub(r"[\s-]", "", value)
    digits = sum(c in "234567" for c in bare)
    spaced = bare != value
    if "ABCDEFG" in bare.upper():
        return False
    return 16 <= len(bare) <= 128 and len(set(bare)) >= 6 and (digits >= 2 or (bare.isupper() and not spaced))


def is_recovery(value: str) -> bool:
    """Whether what stands behind the words of recovery codes are some: six letters and digits at least."""
    if re.fullmatch(r"(?:\w{4} ){3,}\w{4}", value) and not value.replace(" ", "").isdecimal():
        return sum(map(str.isdigit, value)) >= 3 and sum(map(str.isupper, value)) >= 3
    return sum(map(str.isalnum, value)) >= 6 and is_real(value)


def is_key(value: str) -> bool:
    """Whether a value right behind the words of a key, with nothing between, is one: no hash and no id."""
    bare = value.strip("\"'`")
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", bare):
        return False
    return is_random(bare) and "/" not in bare[:3]
