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


def is_seed(value: str) -> bool:
    """Whether words beside those of a wallet are its seed: twelve words at least, and no sentence."""
    words = re.split(r"[ ,]+", value)[:12]
    return len(words) == 12 and all(3 <= len(word) <= 8 for word in words) and _TALK.isdisjoint(words)


def is_random(value: str) -> bool:
    """Whether a value beside the word key or token is one: letters and digits mixed, no placeholder, varied."""
    bare = value.strip("\"'`")
    mixed = any(c.isdigit() for c in bare) and any(c.isalpha() for c in bare)
    return mixed and len(set(bare)) >= 8 and is_real(bare)


_AROUND = frozenset(
    "too very so quite rather really pretty extremely terribly already currently always way much more most "
    "less again one ones year last first second next other another everywhere somewhere nowhere elsewhere "
    "inside getting going being coming working needs enough between under behind above below near via per "
    "within without about around people everyone anyone nobody someone something nothing anything today "
    "yesterday tomorrow week month day days weeks months years ago soon later now well character digits "
    "symbols text site sites account accounts i me we us you he him she they them ours mine yours know knows "
    "remember forget tell told ask asked tbd n/a zu sehr ziemlich recht ganz schon überall immer wie noch "
    "leider geworden siehe ein eine einen einem einer den dem des dir mir ich du er sie wir ihr es man auch "
    "nur mehr als für von zum zur aus nach über unter vor hinter zwischen oder aber wenn weil dass wurde "
    "wird werden war sind sein hat haben kann muss soll darf mindestens zeichen steht hängt liegt heute "
    "gestern morgen woche monat jahr demasiado muy muito poco bastante siempre sempre el la los las lo un "
    "una uno unos y o u e de del en con sin por para al que se su sus tu tus mi mis más menos como cuando "
    "donde ya no sí está están son fue ser tiene debe puede os as um uma do da dos das em na nos nas com sem "
    "ao à pela pelo meu minha seu sua mais quando onde já não sim é são foi tem deve pode hoy hoje ayer "
    "ontem mañana amanhã año ano mes mês caracteres recordar lembrar trabajar cada día equipo trop très "
    "assez toujours le les une au aux et ou dans sur sous avec sans pour par qui ce cette ces mon ton ma ta "
    "sa vos leurs pas plus moins comme quand où est sont été avoir doit peut ne je il elle nous vous ils "
    "aujourd'hui hier demain an mois jour caractères troppo molto abbastanza gli di dello della dei degli "
    "delle nel nella nelle senza tra fra sul sulla ed che chi non più meno come dove già sì sono era ha può "
    "oggi ieri domani anno mese giorno caratteri слишком очень довольно тот же самый такой смотри спроси и в "
    "на не от до из за под над при по к о об у с со во но а или что как когда где уже ещё еще только всегда "
    "надо нужно можно нельзя должен знает знают его её их мой моя наш ваш твой это был была было будет есть "
    "нет символов сегодня вчера завтра год месяц день 너무 매우 아주 정말 이미 아직 항상 없음 있음 모름 틀림 "
    "맞음 bitte beim favor plaît пожалуйста admin administrator using used uses based made set lost found "
    "gone sent".split()
)
"""Function words of nine languages, and what else only a sentence about a password has: no passphrase has one."""
_STATES = frozenset(
    "abgelaufen alt bad bekannt blank broken cached case clear complex complicated confidential correct correcta "
    "correta corta court courte curta dasselbe debole default different difficile difficult difícil disabled "
    "débil easy einfach empty enabled encrypted enregistré erforderlich errada expirada expired expiré facile "
    "faible falsch fine fort forte fraca fuerte fácil geheim generated gespeichert geändert gleich gleiche good "
    "guardada gültig hard hashed hidden hinterlegt identical igual incorrect incorrecta incorrecte incorreta "
    "insecure insegura insensitive invalid invisible inválida kept known kurz lang larga leaked leer leicht "
    "locked long longa longue lunga managed mandatory masked mesma misma missing même needed neu new notiert "
    "nova nueva nuova nötig obbligatoria obligatoire obligatoria obrigatória ok okay old pflicht plain printed "
    "private protected public requis richtig right rotated safe salvata same saved sbagliata scaduta schwer "
    "secret secure segura sensitive shared short sicher sicura similar simple stessa stocké stolen stored strong "
    "synced sûr temporarily temporary unbekannt unchanged ungültig unique unlocked unsafe unsicher valid vecchia "
    "velha vencida vergessen verschlüsselt vieja visible weak written wrong zurückgesetzt верно верный длинный "
    "записан истек истёк короткий надёжный неверный необходим неправильный новый обязателен обязательно "
    "правильный простой пустой сильный слабый сложный сохранён старый требуется устарел хранится 같은 문의 변경 "
    "분실 참조 초기화 필수".split()
)
"""Words that say how a password is; one of them may be in a passphrase."""
_ENDINGS = re.compile(r".+(?:에|에서|을|를|은|는|요|다|죠|까|면|해서|하고)|.+(?:ться|ется|ются|ешь|ете|лся|лась)")
_UNSPACED_TALK = re.compile(
    "[的不在有没要请見见需必可无無未位字符同错錯对對么什吗呢谁哪由随机存忘改换換变變问問默认設设多少几很太已"
    "这那個个你他她]|保密|机密|敏感|统一|过期|です|ます|ません|でした|ない|同じ|必須|以上|以内|間違|正し|なに|ましょう|して|金庫|短|長|"
    "틀렸|맞|필수|없|있|같"
)
"""What sentences about a password have in scripts without blanks."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_spoken_phrase(value: str) -> bool:
    """Whether words behind “the password is” are a passphrase: three at least, none that a sentence would have, and not
    the beginning of a description."""
    words = _WORD.findall(value.lower())
    if len(words) < 3 or any(word in _TALK or word in _AROUND or _ENDINGS.fullmatch(word) for word in words):
        return False
    states = sum(word in _STATES for word in words)
    return (
        is_real(value)
        and states * 2 < len(words)
        and not (words[0].endswith("ly") or (len(words) == 3 and words[0].endswith(("ed", "ing"))))
    )


def is_unspaced_phrase(value: str) -> bool:
    """The same of Chinese or Japanese, which has no blanks."""
    return _UNSPACED_TALK.search(value) is None


def is_quoted_phrase(value: str) -> bool:
    """Whether what stands in quotation marks behind the word password is one: any words but a remark on a password."""
    words = _WORD.findall(value.lower())
    if not words or not is_real(value):
        return False
    if any(map(str.isascii, words)) or " " in value.strip():
        return not all(word in _TALK or word in _AROUND or word in _STATES for word in words)
    return _UNSPACED_TALK.search(value) is None or len(value) >= 6


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
