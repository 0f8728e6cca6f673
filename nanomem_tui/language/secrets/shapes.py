"""The shapes of secrets and personal numbers: of each kind the words beside it, the pattern, and when a value is one.

Owns what is told by its name or a checksum: in sentences of ten languages (English, Chinese, German, Spanish, French,
Portuguese, Italian, Russian, Japanese, Korean) and the word for password in more, in Markdown, tables, tags and files
of programs. What is told by how it begins is a table in `secret_prefixes`; when a value is one says `secret_checks`;
where they stand and what becomes of them, `secrets`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from nanomem_tui.language.secrets.checks import (
    is_assigned,
    is_base32,
    is_basic,
    is_chosen,
    is_iban,
    is_issued,
    is_key,
    is_luhn,
    is_mixed,
    is_network_key,
    is_quoted_phrase,
    is_random,
    is_real,
    is_recovery,
    is_resident_id,
    is_seed,
    is_spoken_phrase,
    is_strong,
    is_told,
    is_unspaced_phrase,
    is_written,
)  # fmt: skip
from nanomem_tui.language.secrets.prefixes import PREFIXES

LONG = 15
"""Signs that the shortest key or token has that is told by how it begins."""
DIGITS = -1
"""As `back` of a shape: it begins in a long run of digits."""


class Shape(NamedTuple):
    """A kind of secret: words of which a text with it has one, and a pattern whose group `v`, or all, is the value.

    A word in small letters stands for every way to write it. `unless`: what right before it says that it is something
    else. `back`: how many characters before one of its words
    the pattern begins at most; it is tried there alone. None: anywhere. `unbroken`: it has no blank, nothing but ASCII,
    and `LONG` signs at least. A kind may have several shapes.
    """

    kind: str
    words: str
    pattern: str
    valid: Callable[[str], bool] | None = None
    guessable: bool = False
    unless: str = ""
    back: int | None = None
    unbroken: bool = False


_CHECKS: dict[str, Callable[[str], bool] | None] = {"": None, "random": is_random, "real": is_real}


def _by_prefix(line: str) -> Shape:
    """The shape of a line of the table of prefixes."""
    kind, beginnings, rest, *check = re.split(r"\s{2,}", line.strip())
    begins = "|".join(map(re.escape, beginnings.split()))
    pattern = rf"(?:(?<!\w)|(?<=\\[nrt]))(?:{begins}){rest}"
    return Shape(kind, beginnings.replace(" ", "|"), pattern, _CHECKS[check[0] if check else ""], back=0, unbroken=True)


_TOKENS: tuple[Shape, ...] = (
    Shape(
        "private key",
        "PRIVATE ",
        r"-----? ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-----?(?:(?:[^-]|"
        r"-(?!---)){0,20000}-----? ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-----?|[A-Za-z0-9+/=\s]{40,20000})?",
    ),
    Shape(
        "private key",
        "Private-Lines:",
        r"Private-Lines: \d+\s+(?P<v>[A-Za-z0-9+/=\s]{40,8000}?)(?=\s*(?:Private-MAC|$))",
    ),
    Shape(
        "AWS secret key",
        "aws|AWS|Aws|secret|Secret|SECRET",
        r"(?i:aws.{0,20}|secret[_ ]?(?:access[_ ]?)?key)(?:[\"'\s:=是为：]{1,8}| (?:is|es|est|ist|é|"
        r"è) )(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        is_random,
        back=0,
    ),
    *map(_by_prefix, filter(None, PREFIXES.splitlines())),
    Shape("Telegram bot token", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{32,34}(?![\w-])", back=10, unbroken=True),
    Shape("Discord bot token", ".", r"\b[MNO][A-Za-z\d]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])", unbroken=True),
    Shape("Terraform token", ".atlasv1.", r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}", back=14, unbroken=True),
    Shape("Azure AD secret", "Q~", r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w~-])", back=4, unbroken=True),
    Shape(
        "Teams webhook",
        "webhook.office.com",
        r"https://[\w-]{1,60}\.webhook\.office\.com/webhookb2/[\w@-]{36,}/IncomingWebhook/[\w/-]{32,}",
    ),
    Shape(
        "Azure storage key",
        "AccountKey|SharedAccessKey",
        r"\b(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/]{40,88}={0,2})",
    ),
)

_WORDS = "passw|passphrase|passcode|pwd|kennwort|mot de passe|mots de passe|mdp|contrase|senha|парол|密码|密碼|口令"
_WORD = (
    r"(?:(?i:passw(?:or)?[dt]|passphrase|passcode|pwd|kennwort|mots? de passe|mdp|contrase[ñÑn]a|senha)|[Пп]ароль|"
    r"ПАРОЛЬ|密码|密碼|口令)"
)
_WORDS_OF_KEYS = "api|secret|access|token|auth|bot|refresh"
_KEY = r"(?i:api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?key|(?:(?:access|auth|api|bot|refresh)[_ -]?)?token)"
_OF = r"(?: ?\([^()\n|]{1,40}\)| (?:for|of|on) [^\n.:=：|*]{1,48}?)?"
"""What it is for."""
_MARKED = (
    rf"{_OF}(?:[\"'`]?\s*[:：=]\s*(?:\*{{1,3}}|_{{1,3}})\s*|[*_`]{{1,3}}\s*[:：=]\s*[*_]{{0,3}}|"
    r"[*_`]{0,3}\s+(?:is|was|ist|est|es|é|è)(?: now)?:?\s+[*_]{1,3}|[*_]{0,3}\s*(?:—|это|是|為|"
    r"为)\s*[*_]{1,3})\s*[*_]{0,3}"
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
    r"(?<![\w/:@.%+-])(?!(?i:mail(?:to)?|e-?mail|sips?|xmpp|acct|npm|user(?:name)?|"
    r"login):)[\w.-]{2,32}:(?P<v>[^\s@/:'\"<>|()\[\]]{6,64})@"
)
"""A name and its password before a host."""

_FORMS: tuple[Shape, ...] = (
    Shape("password", _WORDS, rf"{_WORD}{_MARKED}{_VALUE}", is_written, guessable=True, back=0),
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
        rf"[<=]\s?[\"']?[\w.:-]{{0,30}}?{_WORD}[\"']?\s+(?i:value)\s?=\s?"
        r"(?P<v>\"[^\"<>\s]{4,64}\"|'[^'<>\s]{4,64}')",
        is_written,
        guessable=True,
    ),
    Shape("key or token", _WORDS_OF_KEYS, rf"{_KEY}{_MARKED}{_VALUE_OF_KEY}", is_random, back=0),
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
        back=1,
    ),
    Shape(
        "password",
        ":",
        r"(?<=[\w*.\]]):(?:\d{3,5}|\*):[^\s:/]{1,64}:[^\s:/]{1,64}:(?P<v>[^\s:]{4,128})(?!\S)",  # the file .pgpass
        is_written,
        guessable=True,
        unless=r"(?:^|\s)(?:\d+|[^\s:]*[#/][^\s:]*):(?:\d{3,5}|\*):[^\s:]*:[^\s:]*:$",
        back=0,
    ),
    Shape(
        "connection string",
        "@",
        _ACCOUNT + r"(?!sha\d|md5)(?:[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}(?::\d{2,5}\b|/\w))",
        is_written,
        guessable=True,
        back=100,
    ),
    Shape(
        "connection string",
        "@",
        _ACCOUNT + r"(?:localhost\b|[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[A-Za-z]{2,24}\b)",
        is_strong,
        guessable=True,
        back=100,
    ),
    Shape(
        "password",
        "パスワード|パスフレーズ|暗証番号|비밀번호|패스워드|ifre|IFRE|İFRE|khẩu|KHẨU|khau|KHAU|ösenord|ÖSENORD|"
        "alasana|ALASANA|dgangskode|DGANGSKODE|assord|ASSORD|sandi|SANDI|laluan|LALUAN|elszó|ELSZÓ|ozinka|OZINKA|"
        "озинк|арола|סיסמה|סיסמא|كلمة|رمز|گذرواژه|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน|laptažod|arool|AROOL|ontraseny|"
        "ONTRASENY|alavra-passe|ALAVRA-PASSE",
        r"(?:パスワード|パスフレーズ|暗証番号|비밀번호|패스워드|[Şş]ifre|ŞİFRE|[Лл]озинк|[Пп]арола|(?i:\b(?:sifre|"
        r"mật khẩu|mat khau|l[öÖ]senord|salasana|adgangskode|passord|kata (?:sandi|laluan)|jelsz[óÓ]|lozinka|parool|"
        r"contrasenya|palavra-passe|slapta[žŽ]odis))|M[ậẬ][tT] (?:kh|Kh|KH)[ẩẨ][uU]|סיסמה|סיסמא|كلمة (?:المرور|السر|"
        r"سر)|رمز عبور|گذرواژه|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน)"
        rf"{_END_OF_WORD}{_SAYS}{_VALUE}",
        is_told,
        guessable=True,
        back=16,
    ),
    Shape(
        "password",
        "hasł|Hasł|HASŁ|parol|Parol|PAROL|hesl|Hesl|HESL|암호|ωδικ|ΩΔΙΚ",  # these are ordinary words, too
        r"(?:\b[Hh]as[łŁ][oaeou]|HASŁO|(?i:\b(?:parola|parole|heslo))|암호|[Κκ]ωδικ[όο]ς?|ΚΩΔΙΚΟΣ)"
        rf"{_END_OF_WORD}{_SAYS}{_VALUE}",
        is_written,
        guessable=True,
        back=2,
    ),
)


NAMED_IN_TEN = (
    r"(?:(?i:(?<!/)passw(?:or)?[dt]|pass ?phrase|passcode|pwd|kennwort|codewort|losungswort|(?:master|"
    r"login)[- ]pass|contrase[ñÑn]a|(?:secret|safe|code|magic) ?word|frase (?:de contrase[ñÑn]a|de paso|de acesso|"
    r"secreta|segreta|d'accesso)|frase-(?:passe|senha)|(?:mi |tu )clave|clave (?:de (?:acceso|paso)|(?:del|de la|"
    r"de mi|para el) \w{1,20})|mots? de passe|mdp|phrase (?:de passe|secr[èÈe]te)|code secret|senha|"
    r"palavra[- ]passe|parola (?:d'ordine|chiave|segreta))|(?iu:парол(?:ь|я|ю|ем)|парольн\w{2} фраз[ауы]|"
    r"кодовое слово|кодовая фраза|секретная фраза)|密码短语|密碼短語|密码|密碼|口令|暗号|通行码|パスワード|"
    r"パスフレーズ|暗証番号|合い?言葉|비밀번호|패스워드|패스프레이즈|비번|암호(?: ?문구)?|암구호)"
)
_NAMING_WORDS = (
    "secret word|safe word|safeword|codeword|code word|magic word|passw|passphr|pass phr|passcode|pwd|kennwort|"
    "codewort|losungswort|master-pass|master pass|contrase|frase |frase-|clave |mi clave|tu clave|mot de passe|"
    "mots de passe|mdp|phrase |code secret|senha|palavra|parola |пароль|пароля|паролю|паролем|парольн|кодовое |"
    "кодовая |секретная |密码|密碼|口令|暗号|通行码|パスワード|パスフレーズ|暗証番号|合言葉|合い言葉|비밀번호|"
    "패스워드|패스프레이즈|비번|암호|암구호"
)
_FOR_WHAT = (
    r"(?: ?\([^()\n]{1,40}\)|\*\*|,? (?i:of|for|on|at|to|von|vom|f[üÜ]rs?|beim|zu[mr]?|im|am|"
    r"van|voor|de|del|do|da|du|des|para|pour|"
    r"per|di|della|dello|от|для|к|на)[ '’][^\n.:=：;!?\"|]{1,40}?|"
    r" (?i:wi-?fi|wlan|vpn|nas|router|ssh|s?ftp|root|admin|e-?mail|imap|smtp|bank|banque|banco|netflix|spotify|"
    r"amazon|gmail|github|icloud|paypal))?"
)
"""What a password or a key is for."""
_NOW = r"(?i:now|currently|still|again|jetzt|nun|noch|ahora|maintenant|toujours|agora|adesso|ora|теперь|сейчас)"
_EQUALS = r"(?:[:：](?!//)|=|=>|->|→|:=|[–—]|-(?=\s))"
_IS_IN_TEN = (
    rf"(?:(?:\\{{0,7}}[\"'`*]){{0,3}}\s*{_EQUALS}[*_]{{0,3}}\s*|\s+(?:{_NOW}\s+)?(?i:is|was|are|used to be|"
    rf"(?:was|used to be) \S{{1,64}},? (?:and|but)(?: {_NOW})?(?: it)?(?: {_NOW})? is|"
    rf"ist|lautet|war|sind|es|son|est|sont|é|s[ãÃ]o|è|sono|era|это|будет)(?:\s+{_NOW})?\s*[:：=]?\s+|"
    r"\s*(?:就是|是|(?:设置|設置|设定|设|設|改|换|換)(?:为|為|成)了?|为|為|は、?|が|은|는|이|가)\s*[:：]?\s*|"
    r",?\s(?i:it is|it's|es ist|c'est)\s+)"
)
"""What stands between the name of a secret and its value, in ten languages."""
_ASCII_VALUE = r"(?P<v>`[^`\s]{4,64}`|\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|(?![\"'`])[!-~]{4,64}(?<![.,;:?()*_`|\"']))"
_LETTERS = r"(?:[A-Za-zÀ-ÖØ-öø-ɏ]{2,16}|[А-Яа-яЁё]{2,16}|[가-힣]{1,10})"
_ENDS = (
    r"(?=\s*(?:$|[.,;!?。，、！？\n\"'`|)*]|です|だよ?|입니다|이에요|예요|이야|이다|[-–—]\s|(?i:and|but|so|please|"
    r"und|aber|y|pero|et|mais|e|ma|и|но)\s))"
)
_IN_QUOTES = r"(?:(?!\\{0,7}(?P=q))[^\n]|(?<=[a-zà-ÿ])'(?=[a-zà-ÿ])){3,120}"
_QUOTED = rf"\\{{0,7}}(?P<q>[\"'`])(?P<v>{_IN_QUOTES})\\{{0,7}}(?P=q)(?![A-Za-z]{{2}})"
"""Words in quotation marks, which JSON within JSON writes with backslashes before them."""
_CHANGED_TO = (
    r"(?iu:mud[eoa]\w{0,5}|alter\w{1,6}|troqu\w{1,4}|cambi\w{1,6}|chang\w{1,5}|modifi\w{1,6}|remplac\w{1,4}|"
    r"сменил\w?|поменял\w?|изменил\w?)[^\n.:;]{0,24}? "
)
_USER_IN_TEN = (
    r"(?:(?i:\b(?:user(?:name|[- ]id)?|log-?in|account|benutzer(?:name)?|nutzer(?:name)?|konto|usuario|usu[áÁ]rio|"
    r"cuenta|e-?mail|correo|utilisateur|identifiant|compte|utente|conta)|(?iu:логин|пользователь|учётка))|用户名?|"
    r"用戶名?|账号|账户|帐号|帳號|ユーザー(?:名|ID)?|アカウント|\bID|아이디|사용자|계정)"
)
_AND_ITS_WORD = (
    r"(?:(?:[ ,，、;/|]|\s(?i:and|und|y|et|e|и|mit|with|con|avec|com)\s){1,4})(?:(?i:pass(?:w(?:or)?[dt]|code|"
    r"phrase)?|pwd?|kennwort|contrase[ñÑn]a|clave|mot de passe|mdp|senha|пароль)|密码|密碼|口令|パスワード|비밀번호|"
    r"비번|암호)"
)
_KEY_IN_TEN = (
    r"(?:(?iu:api[- _]?(?:key|token|secret|schl[üÜ]ssel)|(?:secret|access|auth|bearer|bot|refresh|"
    r"client)[- _]?(?:key|token|secret)|(?:zugangs|zugriffs|geheim)[- ]?(?:schl[üÜ]ssel|token|key)|"
    r"clave (?:de (?:la )?)?(?:api|acceso|secreta)|token de (?:acceso|acesso|api)|cl[ée] (?:d['’]|de l['’])?(?:api|"
    r"acc[èe]s|secr[èe]te)|jeton(?: d['’](?:acc[èe]s|api))?|chave (?:de |da )?(?:api|acesso|secreta)|chiave (?:di |"
    r"d['’])?(?:api|accesso|segreta)|token (?:di accesso|api)|(?:api[- ]?)?ключ(?: (?:api|доступа))?|"
    r"токен(?: (?:api|доступа))?)|(?:(?i:api) ?)?(?:密钥|密鑰|令牌|キー|トークン|シークレット)|アクセス ?(?:キー|"
    r"トークン)|(?:(?i:api) ?|액세스 ?)?(?:키|토큰|시크릿))"
)
_TWO_FACTOR = (
    r"(?:(?i:\b(?:2fa|mfa|totp|otp|two[- ]factor|2-factor|authenticator|authy|zwei-?faktor|dos factores|"
    r"doble factor|autenticador|double authentification|deux facteurs|authentificateur|dois fatores|due fattori|"
    r"autenticatore|autenticazione a due))|(?iu:двухфактор|аутентификатор)|(?:两|兩)步|二次|双重|双因素|雙重|验证器|"
    r"驗證器|二段階|二要素|認証アプリ|2단계|이중 ?인증|인증 ?앱)"
)
_RECOVERY = (
    r"(?:(?i:\b(?:recovery|back-?up|rescue|emergency|scratch)[- ](?:codes?|keys?)|\b(?:wiederherstellungs|backup-?|"
    r"ersatz|notfall)-?(?:codes?|schl[üÜ]ssel)|\bc[óÓo]digos? de (?:recuperaci[óÓo]n|respaldo|emergencia|"
    r"recupera[çÇc][ãÃa]o|backup|emerg[êÊe]ncia|reserva)|\bcodes? de (?:r[éÉe]cup[éÉe]ration|secours|sauvegarde)|"
    r"\bcl[éÉe] de r[éÉe]cup[éÉe]ration|\bcodic[ei] di (?:recupero|backup|emergenza|riserva))|(?iu:(?:резервн|"
    r"запасн|аварийн)\w{2,3} код(?:ы|ов|а)?|код(?:ы|ов|а)? восстановления|ключ восстановления)|(?:恢复|恢復|备用|"
    r"備用|备份|備份|救援|应急)(?:验证|驗證)?(?:码|碼|代码|代碼|密钥)|(?:リカバリー?|バックアップ|復旧|回復|復元|"
    r"予備)(?:用)?(?:の)?(?:コード|キー)|(?:복구|백업|예비) ?(?:코드|키))"
)
_RECOVERY_WORDS = (
    "recovery|backup|back-up|rescue|emergency|scratch|wiederherstellungs|ersatz|notfall|código|codigo|codes de |"
    "code de |clé de |codici di |codice di |резервн|запасн|аварийн|код|ключ восст|恢复|恢復|备用|備用|备份|備份|"
    "救援|应急|リカバリ|バックアップ|復旧|回復|復元|予備|복구|백업|예비"
)
_CODE = (
    r"(?:(?=[A-Za-z]{0,12}\d)[A-Za-z0-9]{4,14}(?:-[A-Za-z0-9]{2,8}){0,9}|[A-Z]{4,8}(?:-[A-Z0-9]{4,8}){1,9}|"
    r"[a-z]{4,6}(?:-[a-z0-9]{4,6}){2,9})(?![\w-])"
)
_CARD_CODE = (
    r"(?:(?i:\b(?:cvv2?|cvc2?|cvn|card (?:security|verification) (?:code|number|value)|security code(?: (?:of|on|"
    r"for) (?:my|the) (?:\w{1,10} )?card)?|(?:karten)?pr[üÜ]f(?:nummer|ziffer)|c[óÓo]digo de seguridad|"
    r"cryptogramme(?: visuel)?|code de s[éÉe]curit[éÉe]|c[óÓo]digo de seguran[çÇc]a|codice di sicurezza)|"
    r"(?iu:код (?:cvv|cvc|безопасности карты)))|安全码|安全碼|セキュリティ(?:ー)?コード|보안 ?코드)"
)
_SEED_IN_TEN = (
    r"(?:(?i:\b(?:seed|recovery|mnemonic|wallet|secret recovery)[- ](?:phrase|words|seed)|\bseed-?phrase|"
    r"\bfrase (?:semilla|seed|mnemot[ée]cnica|de (?:recuperaci[óÓo]n|recupera[çÇc][ãÃa]o)|di recupero)|"
    r"\bphrase (?:de r[éÉe]cup[éÉe]ration|seed|mn[éÉe]monique)|\bwiederherstellungs(?:phrase|w[öÖ]rter))|"
    r"(?iu:мнемоник\w|мнемоническ\w{2} фраз\w|сид-?фраз\w)|助记词|助記詞|(?:リカバリー|シード|復元)フレーズ|"
    r"ニーモニック|니모닉|(?:시드|복구) ?(?:문구|구문))"
)

_IN_TEN_LANGUAGES: tuple[Shape, ...] = (
    Shape("2FA seed", "otpauth", r"otpauth://[^\s\"'<>]{0,300}?[?&]secret=(?P<v>[A-Za-z2-7]{8,128})", back=0),
    Shape(
        "2FA seed",
        "2fa|mfa|totp|otp|otp_|two-factor|two factor|2-factor|authenticator|authy|zwei-faktor|zweifaktor|"
        "dos factores|doble factor|autenticador|double auth|deux facteurs|authentificateur|dois fatores|due fattori|"
        "autenticatore|autenticazione|двухфактор|аутентификатор|两步|兩步|二次|双重|双因素|雙重|验证器|驗證器|"
        "二段階|二要素|認証アプリ|2단계|이중|인증 앱|인증앱",
        rf"(?:{_TWO_FACTOR}|(?<=[a-z_])OTP|otp_|OTP_)[^\n]{{0,48}}?(?<![A-Za-z0-9])"
        r"(?P<v>[A-Z2-7]{16,128}|[a-z2-7]{16,128}|(?:[A-Z2-7]{4}[ -]){3,31}[A-Z2-7]{4}|"
        r"(?:[a-z2-7]{4}[ -]){3,31}[a-z2-7]{4})={0,6}(?![A-Za-z0-9])",
        is_base32,
        back=0,
    ),
    Shape(
        "recovery code",
        _RECOVERY_WORDS,
        rf"{_RECOVERY}{_FOR_WHAT}(?:{_IS_IN_TEN}|[*_|]{{0,3}}\s*\|\s*|\s+)[\s`*\"'(\[-]{{0,4}}(?P<v>(?:{_CODE}|"
        rf"\d{{4}} \d{{4}}(?!\d)|(?:[A-Za-z0-9]{{4}} ){{3,15}}[A-Za-z0-9]{{4}}(?![A-Za-z0-9])|"
        rf"[a-z]{{4,6}}-[a-z]{{4,6}}(?=,\s*[a-z]{{4,6}}-))(?:(?:\s*[,;、，/|]\s*|"
        rf"\s+(?:[-*] )?){{1}}(?:\d{{4}} \d{{4}}(?!\d)|{_CODE}|[a-z]{{4,6}}-[a-z]{{4,6}}(?!\w)))"
        r"{0,19})",
        is_recovery,
        guessable=True,
        back=0,
    ),
    Shape(
        "card security code",
        "cvv|cvc|cvn|card security|card verif|security code|prüfnummer|kartenprüf|prüfziffer|código de seg|"
        "codigo de seg|cryptogramme|code de séc|codice di sic|код cvv|код cvc|код безопасности|安全码|安全碼|"
        "セキュリティ|보안",
        rf"{_CARD_CODE}\s?(?:码|碼|号|번호|number|code|Nummer)?(?: (?:of|on|for|der|de|del|de la|da|do|della|"
        rf"di) [^\s\d:][^\n.:;\d]{{0,28}}?)?[\"']?(?:{_IS_IN_TEN}[\"'`]?(?P<v>\d{{3,4}})|\s*(?P<w>\d{{3}})"
        rf"(?=\s*(?:$|[\n.,;!?)\"'|。、，；]|です|입니다|(?i:exp|valid|and|und|y|et|e|и)\b)))(?![\d.:/-]\d|\d)",
        guessable=True,
        back=0,
    ),
    Shape(
        "seed phrase",
        "seed|recovery|mnemonic|wallet|secret recovery|frase |phrase |wiederherstellungs|мнемони|сид-фраз|сидфраз|"
        "助记词|助記詞|フレーズ|ニーモニック|니모닉|시드|복구",
        rf"{_SEED_IN_TEN}{_FOR_WHAT}{_IS_IN_TEN}[\"'`*]{{0,3}}(?P<v>[a-z]{{3,8}}"
        rf"(?:[ ,]{{1,2}}[a-z]{{3,8}}){{11,23}})(?![a-z])",
        is_seed,
        back=5,
    ),
    Shape(
        "password",
        "user|login|log-in|account|e-mail|email|correo|benutzer|nutzer|konto|usuario|usuário|cuenta|utilisateur|"
        "identifiant|compte|utente|conta|логин|пользователь|учётка|用户|用戶|账号|账户|帐号|帳號|ユーザー|"
        "アカウント|id|아이디|사용자|계정",
        rf"{_USER_IN_TEN}\s*[:：=]?\s*[\"'`*]{{0,3}}[\w.@+-]{{2,64}}[\"'`*]{{0,3}}{_AND_ITS_WORD}\s*[:：=]?\s*{_ASCII_VALUE}",
        is_mixed,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "log in |login ",
        rf"(?i:\blog ?in (?:as )?[\w.@+-]{{2,40}} (?:with|using) ){_ASCII_VALUE}",
        lambda v: len(v) >= 8 and "2fa" not in v.lower() and is_written(v),
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "credential|login detail|logins|Credential|Login detail",
        r"(?<!\S)[\w.@+-]{2,40}\s?/\s?(?P<v>[!-~]{6,64}) (?i:(?:is|are|were) (?:my|the|our|your|his|"
        r"her) (?:[\w-]{1,16} )?(?:credentials|log-?ins?|login details)\b)",
        is_mixed,
        guessable=True,
        back=130,
    ),
    Shape(
        "password",
        _NAMING_WORDS,
        rf"{NAMED_IN_TEN}{_FOR_WHAT}{_IS_IN_TEN}{_QUOTED}",
        is_quoted_phrase,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        _NAMING_WORDS,
        rf"{NAMED_IN_TEN} {_QUOTED}",
        lambda v: v.count(" ") >= 2 and is_quoted_phrase(v),
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        _NAMING_WORDS,
        rf"{NAMED_IN_TEN}{_FOR_WHAT}(?:{_IS_IN_TEN}|'s\s+){_ASCII_VALUE}",
        is_told,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        _NAMING_WORDS,
        rf"{NAMED_IN_TEN}{_FOR_WHAT}{_IS_IN_TEN}(?P<v>{_LETTERS}(?:[ -]{_LETTERS}){{2,7}}?){_ENDS}",
        is_spoken_phrase,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "мой пароль|Мой пароль",
        rf"[Мм]ой пароль (?P<v>[а-яё]{{3,16}}(?: [а-яё]{{3,16}}){{3,7}}?){_ENDS}",
        is_spoken_phrase,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "пароль|Пароль|비밀번호|パスワード",
        r"(?:(?iu:парол[ья])|비밀번호|パスワード)\s(?P<v>[!-~]{4,64}(?<![.,;:?()]))",
        is_written,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "密码|密碼|口令|暗号|通行码|パスフレーズ|合言葉",
        r"(?:(?:密码|密碼|口令|暗号|通行码)(?:短语|短語)?\s*(?:(?:就是|是|为|為)\s*[:：]?|[:：=])\s*(?P<v>[\u4e00-\u9fff]{4,24})|"
        r"(?:パスフレーズ|合言葉)\s*[:：]\s*(?P<w>[\u3040-\u30ff\u4e00-\u9fff]{6,40}))(?=\s*(?:$|"
        r"[\n.,;!?。，、！？\"')]))",
        is_unspaced_phrase,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "mud|alter|troqu|cambi|chang|modifi|remplac|сменил|поменял|изменил",
        rf"{_CHANGED_TO}{NAMED_IN_TEN}{_FOR_WHAT} (?i:a|en|para|per|por|par|pour|na|на) {_ASCII_VALUE}",
        is_written,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "cambiat|modificat",
        rf"(?i:cambiat|modificat)[aoie] [^\n.:;]{{0,24}}?{NAMED_IN_TEN}{_FOR_WHAT} (?i:in|con) {_ASCII_VALUE}",
        is_written,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "code |clé |cle |clave |chave |chiave |код |пароль |парол",
        r"(?i:code|cl[éÉe]|clave|chave|chiave) (?:(?i:du|del|do|de la|della|da) )?(?i:wi-?fi|wlan)"
        rf"{_IS_IN_TEN}{_ASCII_VALUE}",
        is_told,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        _NAMING_WORDS,
        rf"{NAMED_IN_TEN}{_FOR_WHAT}(?:{_IS_IN_TEN}|\s)(?P<v>(?:[А-Яа-яЁё]{{3,24}}|[가-힣]{{2,12}}|"
        rf"[A-Za-zÀ-ɏ]{{3,24}})"
        r"[!@#$%^&*_.-]?\d{1,8}[!@#$%^&*]?)(?![\w가-힣А-Яа-яЁё])",
        lambda v: not v.isascii() and not v.lower().startswith(("верси", "version")),
        guessable=True,
        back=0,
    ),
    Shape(
        "seed phrase",
        "my seed|my recovery|my wallet|my mnemonic",
        r"(?<![a-z])(?P<v>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}) (?:is|are) my (?:seed|recovery|wallet|mnemonic)\b",
        is_seed,
        back=240,
    ),
    Shape(
        "password",
        "unlock code|entsperrcode|código de desbloqueo|código de desbloqueio|code de déverrouillage|codice di sblocco|"
        "код разблокировки|解锁码|解锁密码|ロック解除|잠금",
        r"(?:(?iu:unlock code|entsperrcode|código de desbloque?i?o|code de déverrouillage|codice di sblocco|"
        rf"код разблокировки)|解锁(?:码|密码)|ロック解除(?:の)?コード|잠금 ?(?:해제 ?)?(?:코드|번호|"
        rf"비밀번호)){_FOR_WHAT}{_IS_IN_TEN}"
        r"(?P<v>\d{4,8})(?![\d.:/-]\d|\d)",
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "passwort|kennwort" + "|パスワード|비밀번호|비번|암호",
        rf"(?:(?i:passwort|kennwort)(?: [^\n.:;]{{1,24}}?)? (?:auf|zu|in) {_ASCII_VALUE} (?i:ge[äÄ]ndert|gesetzt|"
        rf"gewechselt)|"
        r"パスワード[をは]\s?(?P<w>[!-~]{4,64}?)\s?(?:に|へ)(?:変更|変え|設定|し)|(?:비밀번호|비번|"
        r"암호)[를을]\s?(?P<x>[!-~]{4,64}?)\s?(?:\(으\))?(?:으?로) ?(?:바|변경|설정))",
        is_written,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "pin" + "|пин-код|Пин-код|ПИН|пин |暗証番号|핀",
        r"(?:(?i:\bpin(?:[- ]?(?:code|nummer|number|码|碼|コード))?)|(?iu:(?<!\w)пин(?:-?код)?)|暗証番号|핀 ?(?:번호)?)"
        rf"{_FOR_WHAT}(?:{_IS_IN_TEN}|(?<=код) )(?P<v>\d{{4,8}})(?![\d.:/-]\d|\d|\s?(?:mm|cm|m|km|px|ms|kg)\b)",
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "取款密码|支付密码|开机密码|取款密碼|支付密碼",
        r"(?:取款|支付|开机)密[码碼](?:是|为|[:：])?\s*(?P<v>\d{4,8})(?!\d|位)",
        guessable=True,
        back=0,
    ),
    Shape(
        "key or token",
        "api|secret|access|auth|bearer|bot|refresh|client|zugangs|zugriffs|geheim|clave |token|clé |cle |jeton|"
        "chave |chiave |ключ|токен|密钥|密鑰|令牌|キー|トークン|シークレット|アクセス|액세스|키|토큰|시크릿",
        rf"{_KEY_IN_TEN}{_FOR_WHAT}(?:{_IS_IN_TEN}|\s)[\"'`*]{{0,3}}(?P<v>[A-Za-z0-9_.~+/-]{{20,}}={{0,2}})",
        is_key,
        back=0,
    ),
)

_LABEL = (
    r"(?:[\s:=#,，(\"'*]|(?i:numbers?|no\b\.?|nr\b\.?|num\b|'s|is|was|are|now|ist|lautet|es|est|of mine)|"
    r"[是为為的号號码碼]){0,14}(?<![+\d])"
)
"""What may stand between the name of a number and the number."""

_OF_WHAT = r"(?: ?\([^()\n]{1,40}\)|\*\*|,? (?:of|for|on|to|at|in) [^\n.:=：]{1,48}?)?"
"""What a password is for, between its name and its value."""

_OF_WHAT_ELSE = r"(?: (?:von|van|voor|f[üu]r|zu[mr]?|du|de|del|pour|para|da|do)(?: \w{1,20}){1,3}?)?"
"""What a password may be of, in German, French, Spanish and Portuguese."""

_IS = r"(?:is|was|ist|lautet|war|est|es|é|è)(?: (?:now|still|currently|again|just|simply|jetzt|noch|toujours|ahora))?"
_BECOMES = r"(?:=>|->|[→⇒➜⟶]|:=|[:：](?!//)|=)"
"""What stands between the name of a secret and its value."""

_BEFORE_OPTION = r"[^\n]{0,120}?\s"
"""What of a command stands before the option that takes a password."""

_LOCKS = r"(?:safe|strongbox|vault|alarm(?: system)?)"
"""What is opened with a code that nobody is told; the one of a gate or a building is told to guests."""

SHAPES: tuple[Shape, ...] = (
    *_TOKENS,
    *_FORMS,
    *_IN_TEN_LANGUAGES,
    Shape(
        "connection string",
        "://",
        r"(?<=[a-z0-9])://(?!(?i:(?:user(?:name)?|login):(?:pass(?:word|wd)?|pwd)@|postgres:postgres@(?:localhost|"
        r"127\.0\.0\.1)\b))[^\s:@/'\"<>]{0,64}:(?P<v>[^\s@/'\"<>]{1,128})@[^\s@/'\"]+",
        is_real,
        guessable=True,
        back=0,
    ),
    Shape(
        "authorization header",
        "earer|EARER|asic|ASIC|oken|OKEN",
        r"(?i:\bbearer\s+|\bauthorization\\?[\"']?\s*[:=]\s*\\?[\"']?token\s+)(?P<v>[A-Za-z0-9._~+/-]{16,}=*)",
        is_random,
        back=28,
    ),
    Shape("authorization header", "SSWS", r"\bSSWS\s+(?P<v>00[\w-]{38,42})(?![\w-])", back=0),  # Okta
    Shape(
        "authorization header",
        "asic|ASIC",
        r"(?i:\bbasic\s+)(?P<v>[A-Za-z0-9+/_-]{6,}={0,2})(?![A-Za-z0-9+/=_-])",
        is_basic,
        back=1,
    ),
    Shape(
        "authorization header",
        "uthorization|UTHORIZATION",
        r"(?i:\bauthorization\\?[\"']?\s*[:=]\s*\\?[\"']?basic\s+)(?P<v>[A-Za-z0-9._~+/-]{16,}=*)",
        is_random,
        back=1,
    ),
    Shape(
        "password",
        "passw|passphrase|passcode|pwd|kennwort|codewort|mot de passe|mots de passe|mdp|contrase|clave|senha|"
        "wachtwoord|парол|пин-код|密码|密碼|口令|暗号|密语|通行码|pin|geheimzahl",
        rf"(?i:(?:passw(?:or)?[dt]|(?:\b|(?<=_))(?:passphrase|passcode|pwd|kennwort|codewort|mots? de passe|mdp|"
        rf"contrase[ñÑn]a|clave|senha|wachtwoord))\b[\"']?(?:{_OF_WHAT}|{_OF_WHAT_ELSE})\s*(?:(?:(?:is|was|"
        rf"has been) (?:now )?(?:changed|set|reset) )?to\b:?|{_IS}\s*[:=：]?|{_BECOMES})\s*"
        r"|(?:[Пп]арол[ьяею]м?|ПАРОЛЬ|[Пп]ин-код)(?: (?:от|для|к|на)(?: [\wа-яёА-ЯЁ-]{1,20}){1,3}?)?\s*(?:[—–=:-]|"
        r"это|такой:?)\s*|(?:密码|密碼|口令|暗号|密语|通行码)\s*(?:现在|現在|还|還|仍然?|依然|一直)?(?:是|为|為|"
        r"就是|设为|设成|改成|改为|换成|[:=：])了?\s*[:：]?\s*|\b(?:pin|geheimzahl)(?:[- ]?(?:code|nummer|"
        r"number))?(?: (?:of|for) [^\n.:=：]{1,48}?)?\s*(?:is|ist|lautet|est|es|[:=：])\s*(?=\d{4,8}\b(?! ?(?:mm|cm|"
        r"m|km|px|ms|kg)\b)))(?P<v>\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|`[^`\s]{4,64}`|"
        r"(?!(?P<q>[\"'`])[^\n]*(?P=q))[!-~]{4,64}(?<![.,;:?)]))",
        is_chosen,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "passw",
        r"(?i:\bpassw(?:or)?[dt]\s+(?:still\s+|now\s+)?)(?P<v>[!-~]{8,64}(?<![.,;:?)]))",
        is_strong,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "login",
        r"\blogin\s+\S{1,128}\s+password\s+(?P<v>[!-~]{4,128})",  # the file .netrc
        is_chosen,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "ecret|ECRET",
        r"(?i:\bsecret[\"']?\s*[:=]\s*)(?P<v>\"[^\"\s]{8,64}\"|'[^'\s]{8,64}')",
        is_strong,
        guessable=True,
        back=1,
    ),
    Shape(
        "password",
        "pass|Pass|PASS",
        r"(?i:(?:(?:[._]|(?-i:(?<=[a-z])(?=P)))pass[\"']?|[\"']pass[\"'])\s*[:=]\s*)(?P<v>\"[^\"\s]{4,64}\"|"
        r"'[^'\s]{4,64}'|[!-~]{4,64}(?<![.,;:?)\"']))",
        is_assigned,
        guessable=True,
        back=1,
    ),
    Shape(
        "password",
        "user|login|account|e-mail|email",
        r"(?i:\b(?:user(?:name)?|login|account|e-?mail)\s*[:=：]\s*[^\s,;]{1,64}[\s,;|"
        r"/]{1,4}(?:and )?pass\s*[:=：]\s*)(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "pass|Pass|PASS",
        r"(?i:\b(?:my|wi-?fi|wlan|router|log-?in|admin|root|db|database|e-?mail|mail|account|guest|network|server|"
        r"vpn|ssh|sudo)\s+pass(?:\s+is\b|\s*(?:[:=：→]|->))\s*)(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
        back=10,
    ),
    Shape(
        "password",
        "PIN|pin|Pin",
        r"\b(?:PIN|(?i:my|your|his|her|our|their|the) pin)(?:[- ]?(?i:code|number))? "
        r"(?P<v>\d{4,5}|\d{7,8})\b(?![.:-]\d| ?(?:mm|cm|m|km|px|ms|kg)\b)",  # six digits are a place in India
        guessable=True,
        back=6,
    ),
    Shape(
        "password",
        "ogin|OGIN|redential|creds|Creds|sername|ser name",
        r"(?i:\b(?:log-?in|credentials?|creds|user ?name)\b(?: (?:for|of|to|at) [^\n:：.]{1,40}(?=[:：]))?"
        r"[\s:=：]*(?:is |are |as |with |"
        r"user )?)[\w.@+-]{2,64}\s*(?:[/:|,]|(?i:and|with))\s*(?i:passw(?:or)?d |pw )?(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
        back=6,
    ),
    Shape(
        "password",
        "pw|PW|Pw",
        r"(?i:\bpw\s*[:=：]\s*)(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "pw|PW|Pw",
        r"(?i:\bpw\s+(?:is|ist|lautet)\b:?\s+)(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_strong,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "wifi|wi-fi|wlan|ssid|hotspot",
        r"(?i:\b(?:wi-?fi|wlan|ssid|hotspot)\b[^\n.]{0,48}?[,;/|] ?(?:and )?(?:(?:the|its) )?(?:key|psk|code|"
        r"schl[üÜu]ssel|clave|cl[éÉe]|chave|chiave|ключ)(?:\s*[:=：]|\s+is)?\s+)(?P<v>[!-~]{8,64}(?<![.,;:?)]))",
        is_network_key,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "redis-cli|docker|podman|ldap|smbclient|rpcclient|smbget|net use|sqlcmd|freerdp|rdesktop|unzip|openssl",
        rf"\b(?:redis-cli\b{_BEFORE_OPTION}(?:-a|--pass)[ =]|(?:docker|podman)(?: \w+)? login\b{_BEFORE_OPTION}"
        rf"(?:-p|--password)[ =]|ldap[a-z]{{3,9}}\b{_BEFORE_OPTION}-w ?|"
        rf"(?:smbclient|rpcclient|smbget)\b{_BEFORE_OPTION}(?:-U|--user)[ =]?[\w.\\/@-]{{1,64}}%|"
        rf"net use\b{_BEFORE_OPTION}/user:\S{{1,64}} |sqlcmd\b{_BEFORE_OPTION}-P ?|"
        rf"(?:xfreerdp|wfreerdp)\b{_BEFORE_OPTION}/p:|rdesktop\b{_BEFORE_OPTION}-p ?|unzip\b{_BEFORE_OPTION}-P ?|"
        r"openssl\b[^\n]{0,160}?\spass:)"
        r"(?P<v>\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|[^\s\"'$<-][^\s\"']{3,64})",
        is_written,
        guessable=True,
        back=10,
    ),
    Shape(
        "password",
        "assword|asscode|assphrase",
        r"(?<!\S)(?P<v>[!-~]{6,64}) (?i:(?:(?:is|was|as) (?:my|our|your|his|her|their|the|a)|"
        r"as) (?:[\w-]{1,20} ){0,2}(?:password|passcode|passphrase)\b(?! (?:manager|vault|store|safe|app|tool|"
        r"generator|hash|scheme|algorithm|polic|rule|field|owner|file)))",
        is_mixed,
        guessable=True,
        back=140,
    ),
    Shape(
        "password",
        "curl|http",
        r"\b(?:curl\b[^\n]{0,200}?\s(?:-[A-Za-z]{0,6}u|--user)|https?\b[^\n]{0,80}?\s(?:-a|--auth))[ =]?"
        r"(?:(?P<q>[\"'])(?!user(?:name)?:pass(?:word)?\b)[^\"'\s:$<]{1,64}:(?P<v>[^\"'\n$<][^\"'\n]{1,64})(?P=q)|"
        r"(?!user(?:name)?:pass(?:word)?\b)[\w.@+-]{1,64}:(?P<w>[^\s\"'$<][^\s\"']{1,64}))",
        is_real,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "mysql|mariadb|sshpass|wget",
        r"\b(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,120}?\s(?:-p|--password=)|sshpass\s+-p\s*|"
        r"wget\b[^\n]{0,200}?\s--password=)(?P<v>\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|[^\s\"'$<-][^\s\"']{3,64})",
        is_real,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "密码|密碼|口令|通行码",
        r"(?:密码|密碼|口令|通行码)\s*(?P<v>[!-~]{4,64}(?<![.,;:?!)]))(?=\s*(?:$|[\n,.;!?。、)]))",
        is_told,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "wifi|wi-fi|wlan|wpa|hotspot",
        rf"(?i:\b(?:wi-?fi|wlan|wpa[23]?|hotspot)[ -]?(?:key|psk|code|schl[üÜu]ssel){_OF_WHAT}\s*(?:{_IS}\s*[:=：]?|"
        rf"{_BECOMES})\s*)(?P<v>[!-~]{{8,64}}(?<![.,;:?)]))",
        is_network_key,
        guessable=True,
        back=0,
    ),
    Shape(
        "password",
        "code|Code|CODE|ombination|ombo",
        rf"(?i:\b(?:(?:code|combination|combo) (?:for|of|to|on) (?:(?:the|my|our|his|her|"
        rf"their) )?(?:[\w-]{{1,20}} )?{_LOCKS}|{_LOCKS}(?:'s)? (?:code|combination|combo))(?:\s+{_IS}\s*[:=：]?|"
        rf"\s*{_BECOMES})\s*)"
        r"(?P<v>\d(?:[ -]?[\d#*]){3,11})(?![\w-]|\.\d| (?:lines|bytes|characters|words|files|kb|mb)\b)",
        guessable=True,
        back=24,
    ),
    Shape(
        "session cookie",
        "ookie|OOKIE",
        r"(?i:\b(?:set-)?cookie:\s*[\w.-]{1,40}=)(?P<v>[A-Za-z0-9._~%+/-]{12,})",
        is_random,
        back=5,
    ),
    Shape(
        "private key",
        "rivate|RIVATE",
        r"(?i:\bprivate[ _-]?key\b[^\n]{0,24}?)(?P<v>(?:0x)?[0-9a-fA-F]{64})(?![0-9a-fA-F])",
        is_random,
        back=1,
    ),
    Shape(
        "seed phrase",
        "eed|EED|ecovery|ECOVERY|nemonic|NEMONIC",
        r"\b(?:[Ss]eed|SEED|[Rr]ecovery|RECOVERY|[Mm]nemonic|MNEMONIC)[ -](?i:phrase|words|"
        r"seed)\b[^\n:=：]{0,40}?(?:\b(?:is|are)\b|[:=：])\s*(?P<v>[a-z]{3,8}[a-z ,]{40,220}[a-z])\b",
        is_seed,
        back=1,
    ),
    Shape(
        "key or token",
        "api|secret|access|token|密钥|密鑰|令牌",
        r"(?i:(?:api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?key|token|(?:access|auth|api|bot|"
        r"refresh)[_ -]?token)[\"']?\s*(?:is|was|=>|:=|[:=：])\s*|(?:密钥|密鑰|令牌)\s*(?:是|为|為|"
        r"[:=：])\s*)(?P<v>[\"'`]?[A-Za-z0-9_.~+/-]{16,}={0,2}[\"'`]?)",
        is_random,
        back=0,
    ),
    Shape(
        "IBAN",
        "IBAN|Iban|iban",
        r"(?i:\biban\b(?:[\s:=#(\"']|is\b|was\b|number\b|no\b\.?|"
        r"[是为為]){1,12}(?P<v>[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,3})?)\b)",
        lambda v: sum(c.isdigit() for c in v) >= 10,
        guessable=True,
        back=0,
    ),
    Shape("IBAN", "", r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b", is_iban, True, back=DIGITS),
    Shape(
        "card number",
        "",
        r"(?<![\d.\-])(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6(?:011|5\d{2})|35\d{2}|62\d{2})(?:[ -]?\d{4}){3}|"
        r"3[47]\d{2}[ -]?\d{6}[ -]?\d{5})(?![\d\-]|\.\d)",
        is_luhn,
        guessable=True,
        back=DIGITS,
    ),
    Shape(
        "card number",
        "",
        r"(?<![\w.+\-])\d{12,19}(?![\w\-]|\.\d)",
        is_issued,
        guessable=True,
        unless=r"(?i:order|ticket|tracking|parcel|invoice|phone|mobile|tel|call|fax|whatsapp|isbn|ean|barcode|"
        r"timestamp|epoch|time|commit|build|\bid)\W{0,3}(?:\w{1,8}\W{1,3}){0,2}$|(?:订单|訂單|单号|單號|电话|電話|"
        r"手机|手機|时间戳|编号|編號|流水)[^\d，。]{0,4}$",
        back=DIGITS,
    ),
    Shape(
        "card number",
        "",
        r"(?<![\w.+\-])\d{4}(?:[ -]\d{4}){3}(?:[ -]\d{3})?(?![\w\-]|\.\d)",
        is_luhn,
        guessable=True,
        back=DIGITS,
    ),
    Shape(
        "card number",
        "card|Card|CARD|karte|Karte|tarjeta|carte",
        r"(?i:\b(?:cards?|karten?|tarjeta|carte))"
        rf"{_LABEL}(?P<v>\d(?:[ -]?\d){{11,18}})(?![\d]|[-.:]\d)",
        is_luhn,  # a card of a library has a number, too
        guessable=True,
        back=0,
    ),
    Shape(
        "card number",
        "card|Card|CARD|卡|karte|Karte|tarjeta|carte",
        r"(?i:\b(?:(?:bank|credit|debit|visa|master|giro|kredit)-? ?(?:cards?|karten?)|karten?nummern?|"
        r"cards?[- ]?(?:numbers?|no\b\.?|nr\b\.?|num\b|#)|tarjeta de (?:cr[eé]dito|d[eé]bito)|carte bancaire)"
        rf"|银行卡|銀行卡|信用卡|借记卡|储蓄卡|卡号|卡號){_LABEL}(?P<v>\d(?:[ -]?\d){{11,18}})(?![\d]|[-.:]\d)",
        guessable=True,
        back=10,
    ),
    Shape(
        "account number",
        "ccount|CCOUNT|acct|Acct|onto|账|帐|帳|賬",
        r"(?i:\b(?:bank )?acc(?:oun)?t\.?(?= ?(?:numbers?|no\b|nr\b|num\b|#))|\bbank account|\bkonto(?:nummer)?|"
        rf"(?:银行|銀行)(?:账|帐|帳|賬)[号號户戶]){_LABEL}(?P<v>\d(?:[ -]?\d){{7,18}})(?![\d]|[-.:]\d)",
        guessable=True,
        back=7,
    ),
    Shape(
        "account number",
        "账|帐|帳|賬",
        rf"(?:账|帐|帳|賬)[号號户戶]{_LABEL}(?P<v>\d(?:[ -]?\d){{11,18}})(?![\d]|[-.:]\d)",
        guessable=True,
        back=0,
    ),
    Shape(
        "Chinese resident id",
        "",
        r"(?<![\dA-Za-z])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])",
        is_resident_id,
        guessable=True,
        back=DIGITS,
    ),
    Shape(
        "Chinese resident id",
        "身份证|身份證",
        rf"身份[证證](?:[号號]码?)?{_LABEL}(?P<v>\d(?:[ -]?\d){{13,16}}[ -]?[\dXx])(?![\dA-Za-z])",
        guessable=True,
        back=0,
    ),
    Shape(
        "social security number",
        "-",
        r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])",
        guessable=True,
        back=DIGITS,
    ),
)

PERSONAL: tuple[Shape, ...] = (
    Shape("e-mail address", "@", r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}\b", guessable=True),
    Shape(
        "telephone number",
        "",
        r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){2,3}|1[3-9]\d{9}|"
        r"\(\d{3}\) ?\d{3}-\d{4})(?![\w-]|\.\d)",
        guessable=True,
    ),
)
