"""The shapes of secrets and personal numbers: of each kind the words beside it, the pattern, and when a value is one.

Owns the patterns of what is told by its name or a checksum; `secret_tokens` has those that tell by themselves,
`secret_forms` those of Markdown, files of programs and further languages. When a
value is one says `secret_checks`; where they stand and what becomes of them, `secrets`.
"""

from __future__ import annotations

from nanomem_tui.memory.secret_checks import (
    is_assigned,
    is_chosen,
    is_iban,
    is_issued,
    is_luhn,
    is_mixed,
    is_network_key,
    is_phrase,
    is_random,
    is_real,
    is_resident_id,
    is_seed,
    is_strong,
    is_told,
)  # fmt: skip
from nanomem_tui.memory.secret_forms import FORMS
from nanomem_tui.memory.secret_tokens import TOKENS, Shape

_LABEL = (
    r"(?:[\s:=#,，(\"'*]|(?i:numbers?|no\b\.?|nr\b\.?|num\b|'s|is|was|are|now|ist|lautet|es|est|of mine)|"
    r"[是为為的号號码碼])"
    r"{0,14}(?<![+\d])"
)
"""What may stand between the name of a number and the number."""

_OF_WHAT = r"(?: ?\([^()\n]{1,40}\)|\*\*|,? (?:of|for|on|to|at|in) [^\n.:=：]{1,48}?)?"
"""What a password is for, between its name and its value."""

_OF_WHAT_ELSE = r"(?: (?:von|f[üu]r|zu[mr]?|du|de|del|pour|para|da|do)(?: \w{1,20}){1,3}?)?"
"""What a password may be of, in German, French, Spanish and Portuguese."""

_IS = r"(?:is|was|ist|lautet|war|est|es|é|è)(?: (?:now|still|currently|again|just|simply|jetzt|noch|toujours|ahora))?"
_BECOMES = r"(?:=>|->|[→⇒➜⟶]|:=|[:=：])"
"""What stands between the name of a secret and its value."""

_LOCKS = r"(?:safe|strongbox|vault|alarm(?: system)?)"
"""What is opened with a code that nobody is told; the one of a gate or a building is told to guests."""

SHAPES: tuple[Shape, ...] = (
    *TOKENS,
    *FORMS,
    Shape(
        "connection string",
        "://",
        r"\b[a-z][a-z0-9+.-]{1,20}://(?!(?i:(?:user(?:name)?|login):(?:pass(?:word|wd)?|pwd)@|"
        r"postgres:postgres@(?:localhost|127\.0\.0\.1)\b))[^\s:@/'\"<>]{0,64}:(?P<v>[^\s@/'\"<>]{3,128})@[^\s@/'\"]+",
        is_real,
        guessable=True,
    ),
    Shape(
        "authorization header",
        "earer|asic",
        r"(?i:\b(?:bearer|authorization:\s*basic)\s+)(?P<v>[A-Za-z0-9._~+/-]{16,}=*)",
        is_random,
    ),
    Shape(
        "password",
        "assw|pwd|Pwd|PWD|PASSW|assphrase|asscode|pin|PIN|Pin|ennwor|ENNWOR|eheimzahl|odewor|de passe|DE PASSE|"
        "арол|АРОЛ|ин-код|mdp|MDP|Mdp|ontrase|ONTRASE|clave|Clave|CLAVE|senha|Senha|SENHA|achtwoord|密码|密碼|口令|暗号|密语|通行码",
        rf"(?i:(?:passw(?:or)?[dt]|(?:\b|_)(?:passphrase|passcode|pwd|kennwort|codewort|mots? de passe|mdp|"
        rf"contrase[ñÑn]a|clave|senha|wachtwoord))\b[\"']?(?:{_OF_WHAT}|{_OF_WHAT_ELSE})\s*"
        rf"(?:(?:(?:is|was|has been) (?:now )?(?:changed|set|reset) )?to\b:?|{_IS}\s*[:=：]?|{_BECOMES})\s*"
        r"|(?:[Пп]арол[ьяею]м?|ПАРОЛЬ|[Пп]ин-код)(?: (?:от|для|к|на)(?: [\wа-яёА-ЯЁ-]{1,20}){1,3}?)?\s*(?:[—–=:-]|"
        r"это|такой:?)\s*"
        r"|(?:密码|密碼|口令|暗号|密语|通行码)\s*(?:现在|現在|还|還|仍然?|依然|一直)?(?:是|为|為|就是|设为|设成|改成|改为|换成|[:=：])了?\s*[:：]?\s*"
        r"|\b(?:pin|geheimzahl)(?:[- ]?(?:code|nummer|number))?(?: (?:of|for) [^\n.:=：]{1,48}?)?"
        r"\s*(?:is|ist|lautet|est|es|[:=：])\s*(?=\d{4,8}\b(?! ?(?:mm|cm|m|km|px|ms|kg)\b)))"
        r"(?P<v>\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|`[^`\s]{4,64}`|(?!(?P<q>[\"'`])[^\n]*(?P=q))[!-~]{4,64}(?<![.,;:?)]))",
        is_chosen,
        guessable=True,
    ),
    Shape(
        "password",
        "assw|ASSW|assphrase|ASSPHRASE",
        rf"(?i:\b(?:passw(?:or)?[dt]|pass ?phrase)\b[\"']?(?:{_OF_WHAT}|{_OF_WHAT_ELSE})\s*"
        r"(?:is now|is|was|ist|lautet|=>|:=|[:=：])\s*)(?P<q>[\"'`])(?P<v>[^\"'`\n]{4,120})(?P=q)",
        lambda v: " " in v and is_phrase(v),
        guessable=True,
    ),
    Shape(
        "password",
        "assw|ASSW",
        r"(?i:\bpassw(?:or)?[dt]\s+)(?P<v>[!-~]{8,64}(?<![.,;:?)]))",
        is_strong,
        guessable=True,
    ),
    Shape(
        "password",
        "login",
        r"\blogin\s+\S{1,128}\s+password\s+(?P<v>[!-~]{4,128})",  # the file .netrc
        is_chosen,
        guessable=True,
    ),
    Shape(
        "password",
        "ecret|ECRET",
        r"(?i:\bsecret[\"']?\s*[:=]\s*)(?P<v>\"[^\"\s]{8,64}\"|'[^'\s]{8,64}')",
        is_strong,
        guessable=True,
    ),
    Shape(
        "password",
        "assw|ASSW|assphrase|ASSPHRASE",
        rf"(?i:\b(?:passw(?:or)?[dt]|pass ?phrase)\b[\"']?(?:{_OF_WHAT}|{_OF_WHAT_ELSE})\s*[:=：]\s*)"
        r"(?P<v>[A-Za-z]{3,14}(?:[ -][A-Za-z]{3,14}){2,7})(?=\s*(?:$|[.,;!\n\"'()]))",
        is_phrase,
        guessable=True,
    ),
    Shape(
        "password",
        "pass|Pass|PASS",
        r"(?i:(?:(?:[._]|(?-i:(?<=[a-z])(?=P)))pass[\"']?|[\"']pass[\"'])\s*[:=]\s*)"
        r"(?P<v>\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|[!-~]{4,64}(?<![.,;:?)\"']))",
        is_assigned,
        guessable=True,
    ),
    Shape(
        "password",
        "pass|Pass|PASS",
        r"(?i:\b(?:user(?:name)?|login|account|e-?mail)\s*[:=：]\s*[^\s,;]{1,64}[\s,;|/]{1,4}(?:and )?pass\s*[:=：]\s*)"
        r"(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
    ),
    Shape(
        "password",
        "pass|Pass|PASS",
        r"(?i:\b(?:my|wi-?fi|wlan|router|log-?in|admin|root|db|database|e-?mail|mail|account|guest|network|server|vpn|ssh|"
        r"sudo)\s+pass(?:\s+is\b|\s*(?:[:=：→]|->))\s*)(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
    ),
    Shape(
        "password",
        "PIN|pin|Pin",
        r"\b(?:PIN|(?i:my|your|his|her|our|their|the) pin)(?:[- ]?(?i:code|number))? "
        r"(?P<v>\d{4,5}|\d{7,8})\b(?![.:-]\d| ?(?:mm|cm|m|km|px|ms|kg)\b)",  # six digits are a place in India
        guessable=True,
    ),
    Shape(
        "password",
        "ogin|OGIN|redential|creds|Creds|sername|ser name",
        r"(?i:\b(?:log-?in|credentials?|creds|user ?name)\b[\s:=：]*(?:is |are |as |with |user )?)"
        r"[\w.@+-]{2,64}\s*(?:[/:|,]|(?i:and|with))\s*(?i:passw(?:or)?d |pw )?(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
    ),
    Shape(
        "password",
        "pw|PW|Pw",
        r"(?i:\bpw\s*[:=：]\s*)(?P<v>[!-~]{6,64}(?<![.,;:?)]))",
        is_mixed,
        guessable=True,
    ),
    Shape(
        "password",
        "assword|asscode|assphrase",
        r"(?<!\S)(?P<v>[!-~]{6,64}) (?i:(?:(?:is|was|as) (?:my|our|your|his|her|their|the|a)|as) (?:[\w-]{1,20} ){0,2}"
        r"(?:password|passcode|passphrase)\b(?! (?:manager|vault|store|safe|app|tool|generator|hash|scheme|algorithm|"
        r"polic|rule|field|owner|file)))",
        is_mixed,
        guessable=True,
    ),
    Shape(
        "password",
        "mysql|mariadb|sshpass|curl|wget",
        r"\b(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,120}?\s(?:-p|--password=)|sshpass\s+-p\s*|"
        r"curl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?"
        r"(?!user(?:name)?:pass(?:word)?\b)[\w.@+-]{1,64}:|wget\b[^\n]{0,200}?\s--password=)"
        r"(?P<v>\"[^\"\s]{4,64}\"|'[^'\s]{4,64}'|[^\s\"'$<-][^\s\"']{3,64})",
        is_real,
        guessable=True,
    ),
    Shape(
        "password",
        "密码|密碼|口令|通行码",
        r"(?:密码|密碼|口令|通行码)\s*(?P<v>[!-~]{4,64}(?<![.,;:?!)]))(?=\s*(?:$|[\n,.;!?。、)]))",
        is_told,
        guessable=True,
    ),
    Shape(
        "password",
        "key|Key|KEY|psk|PSK|code|Code|CODE|ssel",
        rf"(?i:\b(?:wi-?fi|wlan|wpa[23]?|hotspot)[ -]?(?:key|psk|code|schl[üÜu]ssel){_OF_WHAT}\s*(?:{_IS}\s*[:=：]?|"
        rf"{_BECOMES})\s*)(?P<v>[!-~]{{8,64}}(?<![.,;:?)]))",
        is_network_key,
        guessable=True,
    ),
    Shape(
        "password",
        "code|Code|CODE|ombination|ombo",
        rf"(?i:\b(?:(?:code|combination|combo) (?:for|of|to|on) (?:(?:the|my|our|his|her|their) )?"
        rf"(?:[\w-]{{1,20}} )?{_LOCKS}|"
        rf"{_LOCKS}(?:'s)? (?:code|combination|combo))(?:\s+{_IS}\s*[:=：]?|\s*{_BECOMES})\s*)"
        r"(?P<v>\d(?:[ -]?[\d#*]){3,11})(?![\w-]|\.\d| (?:lines|bytes|characters|words|files|kb|mb)\b)",
        guessable=True,
    ),
    Shape(
        "session cookie",
        "ookie|OOKIE",
        r"(?i:\b(?:set-)?cookie:\s*[\w.-]{1,40}=)(?P<v>[A-Za-z0-9._~%+/-]{12,})",
        is_random,
    ),
    Shape(
        "private key",
        "rivate|RIVATE",
        r"(?i:\bprivate[ _-]?key\b[^\n]{0,24}?)(?P<v>(?:0x)?[0-9a-fA-F]{64})(?![0-9a-fA-F])",
        is_random,
    ),
    Shape(
        "seed phrase",
        "eed|EED|ecovery|ECOVERY|nemonic|NEMONIC",
        r"\b(?:[Ss]eed|SEED|[Rr]ecovery|RECOVERY|[Mm]nemonic|MNEMONIC)[ -](?i:phrase|words|seed)\b[^\n:=：]{0,40}?"
        r"(?:\b(?:is|are)\b|[:=：])\s*(?P<v>[a-z]{3,8}[a-z ,]{40,220}[a-z])\b",
        is_seed,
    ),
    Shape(
        "key or token",
        "key|Key|KEY|token|Token|TOKEN|secret|Secret|SECRET|密钥|密鑰|令牌",
        r"(?i:(?:api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?key|token|"
        r"(?:access|auth|api|bot|refresh)[_ -]?token)"
        r"[\"']?\s*(?:is|was|=>|:=|[:=：])\s*|(?:密钥|密鑰|令牌)\s*(?:是|为|為|[:=：])\s*)"
        r"(?P<v>[\"'`]?[A-Za-z0-9_.~+/-]{16,}={0,2}[\"'`]?)",
        is_random,
    ),
    Shape(
        "IBAN",
        "IBAN|Iban|iban",
        r"(?i:\biban\b(?:[\s:=#(\"']|is\b|was\b|number\b|no\b\.?|[是为為]){1,12}"
        r"(?P<v>[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,3})?)\b)",
        lambda v: sum(c.isdigit() for c in v) >= 10,
        guessable=True,
    ),
    Shape("IBAN", "", r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b", is_iban, guessable=True),
    Shape(
        "card number",
        "",
        r"(?<![\d.\-])(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6(?:011|5\d{2})|35\d{2}|62\d{2})(?:[ -]?\d{4}){3}"
        r"|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})(?![\d\-]|\.\d)",
        is_luhn,
        guessable=True,
    ),
    Shape(
        "card number",
        "",
        r"(?<![\w.+\-])\d{12,19}(?![\w\-]|\.\d)",
        is_issued,
        guessable=True,
        unless=r"(?i:order|ticket|tracking|parcel|invoice|phone|mobile|tel|call|fax|whatsapp|isbn|ean|barcode|"
        r"timestamp|"
        r"epoch|time|commit|build|\bid)\W{0,3}(?:\w{1,8}\W{1,3}){0,2}$|"
        r"(?:订单|訂單|单号|單號|电话|電話|手机|手機|时间戳|编号|編號|流水)[^\d，。]{0,4}$",
    ),
    Shape(
        "card number",
        "",
        r"(?<![\w.+\-])\d{4}(?:[ -]\d{4}){3}(?:[ -]\d{3})?(?![\w\-]|\.\d)",
        is_luhn,
        guessable=True,
    ),
    Shape(
        "card number",
        "card|Card|CARD|karte|Karte|tarjeta|carte",
        r"(?i:\b(?:cards?|karten?|tarjeta|carte))"
        rf"{_LABEL}(?P<v>\d(?:[ -]?\d){{11,18}})(?![\d]|[-.:]\d)",
        is_luhn,  # a card of a library has a number, too
        guessable=True,
    ),
    Shape(
        "card number",
        "card|Card|CARD|卡|karte|Karte|tarjeta|carte",
        r"(?i:\b(?:(?:bank|credit|debit|visa|master|giro|kredit)-? ?(?:cards?|karten?)|karten?nummern?|"
        r"cards?[- ]?(?:numbers?|no\b\.?|nr\b\.?|num\b|#)|tarjeta de (?:cr[eé]dito|d[eé]bito)|carte bancaire)"
        rf"|银行卡|銀行卡|信用卡|借记卡|储蓄卡|卡号|卡號){_LABEL}(?P<v>\d(?:[ -]?\d){{11,18}})(?![\d]|[-.:]\d)",
        guessable=True,
    ),
    Shape(
        "account number",
        "ccount|CCOUNT|acct|Acct|onto|账|帐|帳|賬",
        r"(?i:\b(?:bank )?acc(?:oun)?t\.?(?= ?(?:numbers?|no\b|nr\b|num\b|#))|\bbank account|\bkonto(?:nummer)?|"
        rf"(?:银行|銀行)(?:账|帐|帳|賬)[号號户戶]){_LABEL}(?P<v>\d(?:[ -]?\d){{7,18}})(?![\d]|[-.:]\d)",
        guessable=True,
    ),
    Shape(
        "account number",
        "账|帐|帳|賬",
        rf"(?:账|帐|帳|賬)[号號户戶]{_LABEL}(?P<v>\d(?:[ -]?\d){{11,18}})(?![\d]|[-.:]\d)",
        guessable=True,
    ),
    Shape(
        "Chinese resident id",
        "",
        r"(?<![\dA-Za-z])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])",
        is_resident_id,
        guessable=True,
    ),
    Shape(
        "Chinese resident id",
        "身份证|身份證",
        rf"身份[证證](?:[号號]码?)?{_LABEL}(?P<v>\d(?:[ -]?\d){{13,16}}[ -]?[\dXx])(?![\dA-Za-z])",
        guessable=True,
    ),
    Shape(
        "social security number",
        "-",
        r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])",
        guessable=True,
    ),
)

PERSONAL: tuple[Shape, ...] = (
    Shape("e-mail address", "@", r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}\b", guessable=True),
    Shape(
        "telephone number",
        "",
        r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){2,3}"
        r"|1[3-9]\d{9}|\(\d{3}\) ?\d{3}-\d{4})(?![\w-]|\.\d)",
        guessable=True,
    ),
)
