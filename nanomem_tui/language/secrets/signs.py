"""Whether a text is worth the patterns of secrets: a quick look that most texts pass, and never one with a secret.

Owns what every secret has: a long run of letters and digits, eight digits, the name of what it is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from nanomem_tui.language.met_words import MetWords

_DIGITS = re.compile(r"\d(?:[ -]?\d){7}", re.ASCII)
"""Numbers of cards, accounts, persons."""
_SIGNS = (
    r"[!-~]{15}|[A-Z]{2}\d\d|://|PRIVATE|\S[-‐-―−﹣]\S*[!-~]{8}|"
    # password, passphrase, pass, pwd, pw, pin, in their languages
    r"(?i:passw|ssphrase|sscode|pwd|ennwort|eheimzahl|odewort|osungswort|contrase|clave|senha|achtwoord|"
    r"alavra-passe|алавра|парол|пин-код|одов(?:ое|ая)|екретная|(?<!\S)[\"'(]*(?:passe|name|mdp|pin|pass|pw|"
    r"frase|phrase|код|пин)(?![a-zа-яё])|[_.\"']pass(?![a-z])|mdp|arol[ae]|ifre|İfre|khẩu|khau|ösenord|alasana|"
    r"dgangskode|assord|sandi|laluan|elszó|ozinka|озинк|laptažod|arool|ontraseny|hasł|hesl|ωδικ)|"
    r"(?<![A-Za-z])[Pp](?:in|IN)(?![a-z])|(?<![A-Za-z])pass(?![a-z])|Pass(?![a-z])|PASS|密码|密碼|口令|暗号|"
    r"密语|通行码|言葉|パスワード|パスフレーズ|暗証番号|비밀번호|패스워드|패스프레이즈|비번|암호|암구호|핀|"
    r"סיסמה|סיסמא|كلمة|رمز|گذرواژه|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน|"
    # who logs in, to what, and by which program
    r"(?i:og-?in|redential|creds|sername|(?<![a-z])(?:mysql|mariadb|sshpass|redis-cli|ldap[a-z]{3,9}|smbclient|rpcclient|smbget|sqlcmd|[xw]freerdp|rdesktop|unzip|openssl|curl|wget|log|code|codes|http|https|"
    r"word|safeword|codeword)(?![a-z])|(?<!\S)(?:-a|--auth)(?![a-z])|cookie|wi-?fi|wlan|wpa|hotspot|combination|"
    r"combo|basic)|(?<![A-Za-z])_?auth(?![a-z])|:(?:\d{3,5}|\*):|:[^\s@]{6,}@|/user:|SSWS|"
    # second factors, codes to recover, cards, wallets
    r"(?i:2fa|mfa|totp|otp|unlock|ntsperrcode|sblocco|разблокировки|factor|faktor|factores|facteur|fatores|"
    r"fattori|uthenticat|authy|utenticad|utenticat|uthentifica|двухфактор|аутентификатор|recovery|back-?up|"
    r"rescue|emergency|scratch|iederherstellung|rsatz|otfall|ódigo|odigo|odici|odice|резервн|запасн|аварийн|"
    r"восстановлени|cvv|cvc|cvn|security|verification|prüf|ryptogramme|mnemonic|(?<![a-z])seed|wallet|мнемони|"
    r"сид-?фраз|iban)|解锁|ロック解除|잠금|两步|兩步|二次|双重|双因素|雙重|验证器|驗證器|二段階|二要素|認証|"
    r"2단계|이중|인증|恢复|恢復|备用|備用|备份|備份|救援|应急|リカバリ|バックアップ|復旧|回復|復元|予備|복구|"
    r"백업|예비|安全码|安全碼|セキュリティ|보안|助记词|助記詞|フレーズ|ニーモニック|니모닉|시드"
)
"""A word of the name of a secret; a run as long as the shortest token, key, or value beside these names."""
UNSEEN = re.compile("[\ufdd0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]")
"""Signs that nobody sees, and the one that `secrets` puts where something was taken out."""


@cache
def _words() -> MetWords:
    """Compiled at the first text that is looked at."""
    return MetWords(re.compile(_SIGNS))


def may_hold(text: str) -> bool:
    """Whether `secrets.find` may find something in a text; False only where it finds nothing."""
    if not text.isascii() and (UNSEEN.search(text) or not unicodedata.is_normalized("NFKC", text)):
        return True
    return tell(text)


def tell(text: str) -> bool:
    """The same of a text without full-width and invisible signs."""
    return _words().tell(text) or _DIGITS.search(text) is not None
