"""When a value beside the name of a secret is one: checksums, and what tells a password or a key from talk. Pure."""

from __future__ import annotations

import base64
import re


def _digits(value: str) -> list[int]:
    return [int(c) for c in value if c.isdigit()]


def is_luhn(value: str) -> bool:
    digits = _digits(value)
    if len(set(digits)) < 2:
        return False
    doubled = [d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14,17}|62\d{14,17}|"
    r"6(?:011|4[4-9]\d|5\d\d)\d{12,15}|(?:50[0-4]\d|5[6-8]\d\d|6304|67\d\d)\d{8,15}|9558\d{12,15}"
)
"""The first digits and the lengths of payment cards: a tenth of all other numbers passes the checksum too."""


def is_issued(value: str) -> bool:
    return _ISSUERS.fullmatch("".join(c for c in value if c.isdigit())) is not None and is_luhn(value)


_IBAN_LENGTHS = dict(
    pair.split(":")
    for pair in (
        "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 DK:18 "
        "DO:28 EE:20 EG:29 ES:24 FI:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HR:21 HU:28 IE:22 IL:23 "
        "IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LI:21 LT:20 LU:20 LV:21 MC:27 MD:24 ME:22 MK:19 MR:27 MT:31 "
        "MU:30 NL:18 NO:15 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 SA:24 SE:24 SI:19 SK:24 SM:27 TN:24 TR:26 "
        "UA:29 VA:22 VG:24 XK:20 "
    ).split()
)


def is_iban(value: str) -> bool:
    bare = re.sub(r"[ -]", "", value).upper()
    if len(bare) != int(_IBAN_LENGTHS.get(bare[:2], "0")):
        return False
    return int("".join(str(int(c, 36)) for c in bare[4:] + bare[:4])) % 97 == 1


def is_resident_id(value: str) -> bool:
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
    """Whether a value does not just stand for one: as a whole, or by words that say so. A password may have such a word
    within."""
    bare = value.strip("\"'`")
    if bare in _DOCUMENTED or _STANDS_FOR.fullmatch(bare):
        return False
    apart, words = _OWN_WORDS.subn(" ", bare[:200].lower())
    rest = re.sub(r"[\s_.:/<>()\[\]{}-]", "", _BESIDE.sub(" ", apart))
    return words == 0 or not ("1234567890".startswith(rest) or set(rest) == {"0"})


_BOLD = re.compile(r"(\*{1,3})(.*)\1", re.DOTALL)


def is_chosen(value: str) -> bool:
    """Whether a value beside the word password is one: no placeholder, no plain word or sentence."""
    bare = _BOLD.sub(r"\2", value.strip("\"'`"))
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


def is_basic(value: str) -> bool:
    """Whether a value is the base64 of a name and a password."""
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return False
    return plain.isprintable() and re.fullmatch(r"[^:\s]+:\S.*", plain) is not None


_TALK = frozenset(
    "the a an it is in on of to for and or not no with from by at as be was are has have had will can must may ask see "
    "use get try same again never always none random words word letters characters long short required forgot "
    "forgotten changed change reset lost unknown stored kept saved written wrong missing expired please your my our "
    "his her their this that these those there here when where who what how if only but still just new old der die das "
    "ist und nicht im in am bei auf von mit".split()
)
"""Words of a sentence about a password; a passphrase of random words has none of them."""


def is_phrase(value: str) -> bool:
    """Whether words beside the word password are a passphrase, and no sentence."""
    return _TALK.isdisjoint(value.lower().replace("-", " ").split())


def is_seed(value: str) -> bool:
    """Whether words beside those of a wallet are its seed: twelve words at least, and no sentence."""
    words = re.split(r"[ ,]+", value)[:12]
    return len(words) == 12 and all(3 <= len(word) <= 8 for word in words) and _TALK.isdisjoint(words)


def is_random(value: str) -> bool:
    """Whether a value beside the word key or token is one: letters and digits mixed, no placeholder, varied."""
    bare = value.strip("\"'`")
    mixed = any(c.isdigit() for c in bare) and any(c.isalpha() for c in bare)
    return mixed and len(set(bare)) >= 8 and is_real(bare)
