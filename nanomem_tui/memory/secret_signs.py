"""Whether a text is worth the patterns of secrets: a quick look that most texts pass, and never one with a secret.

Owns what every secret has: a long run of letters and digits, eight digits, the name of what it is.
"""

from __future__ import annotations

import re
import unicodedata

from nanomem_tui.met_words import MetWords

_DIGITS = re.compile(r"\d(?:[ -]?\d){7}", re.ASCII)
"""Numbers of cards, accounts, persons."""
_words = MetWords(
    re.compile(
        r"[!-~]{15}|[A-Z]{2}\d\d|://|PRIVATE|[Aa]ssw|ASSW|[Pp]wd|PWD|(?<![A-Za-z])[Pp](?:in|IN)|ssphrase|SSPHRASE|sscode|SSCODE|(?<![A-Za-z])pass(?![a-z])|Pass(?![a-z])|PASS|ennwor|ENNWOR|"
        r"eheimzahl|odewor|(?<!\S)(?:passe|PASSE|name)|[Mm]dp|MDP|ontrase|ONTRASE|[Cc]lave|CLAVE|[Ss]enha|SENHA|achtwoord|"
        r"(?<![A-Za-z])(?:[Pp][Ww](?![A-Za-z])|mysql|mariadb|sshpass|curl|wget|[Ss]eed(?![a-z])|SEED)|[Cc]ookie|COOKIE|"
        r"[Ww][Ii]-?[Ff][Ii]|[Ww][Ll][Aa][Nn]|[Ww][Pp][Aa]|[Hh]otspot|(?<![A-Za-z])(?:[Cc]od|COD)[Ee](?![a-z])|[Cc]ombination|[Cc]ombo|"
        r"[Rr]ecovery|RECOVERY|[Mm]nemonic|MNEMONIC|ogin|OGIN|redential|creds|Creds|sername|iban|Iban|IBAN|密码|密碼|口令|暗号|密语|通行码|арол|АРОЛ|ин-код|"
        r"パスワード|パスフレーズ|暗証番号|비밀번호|패스워드|암호|ifre|IFRE|İFRE|khẩu|khau|KHẨU|KHAU|ösenord|ÖSENORD|alasana|ALASANA|dgangskode|DGANGSKODE|"
        r"assord|ASSORD|sandi|SANDI|laluan|LALUAN|elszó|ELSZÓ|ozinka|OZINKA|озинк|סיסמה|סיסמא|كلمة|رمز|گذرواژه|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน|laptažod|"
        r"arool|AROOL|ontraseny|ONTRASENY|alavra-passe|ALAVRA-PASSE|(?<![A-Za-z])[Hh]asł|HASŁ|(?<![A-Za-z])[Pp]arol[ae]|PAROL|(?<![A-Za-z])[Hh]esl|HESL|ωδικ|ΩΔΙΚ|"
        r"(?<![A-Za-z])_?auth(?![a-z])|:(?:\d{3,5}|\*):|:[^\s@]{6,}@",
        re.ASCII,
    )
)
"""A word of the name of a secret; a run as long as the shortest token, key, or value beside these names."""
_UNSEEN = re.compile("[\ufdd0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]")


def may_hold(text: str) -> bool:
    """Whether `secrets.find` may find something in a text; False only where it finds nothing."""
    if not text.isascii() and (_UNSEEN.search(text) or not unicodedata.is_normalized("NFKC", text)):
        return True
    return _words.tell(text) or _DIGITS.search(text) is not None
