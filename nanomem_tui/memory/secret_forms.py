"""The forms in which a secret stands beside its name where nobody says it (Markdown, tables, tags, files of programs),
and the words for password in the languages that `secret_shapes` has no grammar for.

Owns their patterns. When a value is one says `secret_checks`.
"""

from __future__ import annotations

from nanomem_tui.memory.secret_checks import is_basic, is_random, is_strong, is_told, is_written
from nanomem_tui.memory.secret_tokens import Shape

_WORDS = (
    "assw|ASSW|assphrase|ASSPHRASE|asscode|ASSCODE|pwd|Pwd|PWD|ennwor|ENNWOR|de passe|mdp|MDP|Mdp|ontrase|ONTRASE|"
    "senha|Senha|SENHA|арол|АРОЛ|密码|密碼|口令"
)
_WORD = (
    r"(?:(?i:passw(?:or)?[dt]|passphrase|passcode|pwd|kennwort|mots? de passe|mdp|contrase[ñÑn]a|senha)|"
    r"[Пп]ароль|ПАРОЛЬ|密码|密碼|口令)"
)
_WORDS_OF_KEYS = "key|Key|KEY|token|Token|TOKEN|secret|Secret|SECRET"
_KEY = r"(?i:api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?key|(?:(?:access|auth|api|bot|refresh)[_ -]?)?token)"
_OF = r"(?: ?\([^()\n|]{1,40}\)| (?:for|of|on) [^\n.:=：|*]{1,48}?)?"
"""What it is for."""
_MARKED = (
    rf"{_OF}(?:[\"'`]?\s*[:：=]\s*(?:\*{{1,3}}|_{{1,3}})\s*|[*_`]{{1,3}}\s*[:：=]\s*[*_]{{0,3}}|"
    r"[*_`]{0,3}\s+(?:is|was|ist|est|es|é|è)(?: now)?:?\s+[*_]{1,3}|"
    r"[*_]{0,3}\s*(?:—|это|是|為|为)\s*[*_]{1,3})\s*[*_]{0,3}"
)
"""How Markdown writes a name before its value: either of them is bold, the colon within or behind."""
_CELL = rf"{_OF}[*_`]{{0,3}}\s*\|\s*[*_]{{0,3}}"
"""What stands between a name and its value in a row of a table."""
_CELL_ENDS = r"(?=[*_]{0,3}\s*\|)"
_VALUE = r"(?P<v>`[^`\s]{4,64}`|\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|(?![*_`\"'])[!-~]{4,64}(?<![.,;:?)*_`|\"']))"
_VALUE_OF_KEY = r"(?P<v>`?[A-Za-z0-9_.~+/-]{16,}={0,2}`?)"
_TAGGED = r"(?![^<>]{0,100}/>)[^<>]{0,100}>\s*"
_TAG = r"<(?:[\w-]{1,30}[:.])?"

_SET_BY = r"\s*(?:[:：=]|=>|->|→)\s*"
_SAYS = (
    rf"(?:{_SET_BY}|\s+(?:to|jest|este|e|è|é|je|on|är|er|là|adalah|ialah|olarak|yra|ir|είναι|היא|הוא|هي|هو|است|है|হলো|"
    r"คือ|це|е)\s+|\s*(?:は|が|を|은|는|이|가|คือ|입니다)[\s、,]*)[*_`]{0,3}"
)
"""What stands between the word for password and the password, in many languages."""
_LETTER = r"[^\s\d:=：\"'`*|()\[\]{}<>.,;!?/\\-]"
_END_OF_WORD = rf"{_LETTER}{{0,5}}?(?: {_LETTER}{{1,20}}){{0,3}}?[\"'`*_]{{0,3}}"

_ACCOUNT = (
    r"(?<![\w/:@.%+-])(?!(?i:mail(?:to)?|e-?mail|sips?|xmpp|acct|npm|user(?:name)?|login):)[\w.-]{2,32}:"
    r"(?P<v>[^\s@/:'\"<>|()\[\]]{6,64})@"
)
"""A name and its password before a host."""

FORMS: tuple[Shape, ...] = (
    Shape("password", _WORDS, rf"{_WORD}{_MARKED}{_VALUE}", is_written, guessable=True),
    Shape(
        "password",
        _WORDS,
        rf"\|[^\n|]{{0,40}}?{_WORD}{_CELL}(?P<v>`[^`\s|]{{4,64}}`|(?![*_`])[!-{{}}~]{{4,64}}(?<![*_`])){_CELL_ENDS}",
        is_written,
        guessable=True,
    ),
    Shape(
        "password",
        "assw|ASSW|assphrase|pass|Pass|PASS|pwd|Pwd|PWD",
        rf"{_TAG}[\w-]{{0,30}}?(?i:passw(?:or)?d|passphrase|pass|pwd)\b{_TAGGED}(?P<v>[^<>\s]{{4,64}})\s*</",
        is_written,
        guessable=True,
    ),
    Shape(
        "password",
        "assw|ASSW|assphrase|pwd|Pwd|PWD",
        rf"(?:<|\b(?i:name|key|id)\s?=\s?[\"'])[\w.:-]{{0,30}}?{_WORD}[\"']?\s+(?i:value)\s?=\s?"
        r"(?P<v>\"[^\"<>\s]{4,64}\"|'[^'<>\s]{4,64}')",
        is_written,
        guessable=True,
    ),
    Shape("key or token", _WORDS_OF_KEYS, rf"{_KEY}{_MARKED}{_VALUE_OF_KEY}", is_random),
    Shape("key or token", _WORDS_OF_KEYS, rf"\|[^\n|]{{0,40}}?{_KEY}{_CELL}{_VALUE_OF_KEY}{_CELL_ENDS}", is_random),
    Shape(
        "key or token",
        _WORDS_OF_KEYS,
        rf"{_TAG}[\w-]{{0,30}}?{_KEY}\b{_TAGGED}(?P<v>[A-Za-z0-9_.~+/-]{{16,}}={{0,2}})\s*</",
        is_random,
    ),
    Shape(
        "private key",
        "PrivateKey|PresharedKey",
        r"\b(?:PrivateKey|PresharedKey)\s*[=:]\s*(?P<v>[A-Za-z0-9+/]{43}=)(?![A-Za-z0-9+/=])",  # WireGuard
        is_random,
    ),
    Shape(
        "Azure storage key",
        "sig=",
        r"[?&]sig=(?P<v>[A-Za-z0-9%+/]{40,100}(?:%3[Dd]|=){0,2})(?![\w%+/=])",  # a shared access signature
        is_random,
    ),
    Shape(
        "authorization header",
        "auth",
        r"\b_?auth\\?[\"']?\s*[:=]\s*\\?[\"']?(?P<v>[A-Za-z0-9+/]{4,400}={0,2})(?![A-Za-z0-9+/=])",  # docker, npm
        is_basic,
    ),
    Shape(
        "password",
        ":",
        r"(?<!\S)(?=[^\s:#/]*[A-Za-z*.])[^\s:#/]{1,255}:(?:\d{3,5}|\*):[^\s:/]{1,64}:[^\s:/]{1,64}:"  # the file .pgpass
        r"(?P<v>[^\s:]{4,128})(?!\S)",
        is_written,
        guessable=True,
    ),
    Shape(
        "connection string",
        "@",
        _ACCOUNT + r"(?!sha\d|md5)(?:[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}(?::\d{2,5}\b|/\w))",
        is_written,
        guessable=True,
    ),
    Shape(
        "connection string",
        "@",
        _ACCOUNT + r"(?:localhost\b|[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[A-Za-z]{2,24}\b)",
        is_strong,
        guessable=True,
    ),
    Shape(
        "password",
        "パスワード|パスフレーズ|暗証番号|비밀번호|패스워드|ifre|IFRE|İFRE|khẩu|KHẨU|khau|KHAU|ösenord|ÖSENORD|alasana|ALASANA|dgangskode|"
        "DGANGSKODE|assord|ASSORD|sandi|SANDI|laluan|LALUAN|elszó|ELSZÓ|ozinka|OZINKA|озинк|арола|סיסמה|סיסמא|كلمة|رمز|گذرواژه|"
        "पासवर्ड|পাসওয়ার্ড|รหัสผ่าน|laptažod|arool|AROOL|ontraseny|ONTRASENY|alavra-passe|ALAVRA-PASSE",
        r"(?:パスワード|パスフレーズ|暗証番号|비밀번호|패스워드|[Şş]ifre|ŞİFRE|[Лл]озинк|[Пп]арола|"
        r"(?i:\b(?:sifre|mật khẩu|mat khau|l[öÖ]senord|salasana|adgangskode|passord|"
        r"kata (?:sandi|laluan)|jelsz[óÓ]|lozinka|parool|contrasenya|"
        r"palavra-passe|slapta[žŽ]odis))|M[ậẬ][tT] (?:kh|Kh|KH)[ẩẨ][uU]|סיסמה|סיסמא|كلمة (?:المرور|السر|سر)|رمز عبور|"
        r"گذرواژه|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน)"
        rf"{_END_OF_WORD}{_SAYS}{_VALUE}",
        is_told,
        guessable=True,
    ),
    Shape(
        "password",
        "hasł|Hasł|HASŁ|parol|Parol|PAROL|hesl|Hesl|HESL|암호|ωδικ|ΩΔΙΚ",  # these are ordinary words, too
        r"(?:\b[Hh]as[łŁ][oaeou]|HASŁO|(?i:\b(?:parola|parole|heslo))|암호|[Κκ]ωδικ[όο]ς?|ΚΩΔΙΚΟΣ)"
        rf"{_END_OF_WORD}{_SAYS}{_VALUE}",
        is_written,
        guessable=True,
    ),
)
