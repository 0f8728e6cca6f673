"""What names a secret, or leads to one: a number of a passport, the hint of a password."""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"\b(?:passport|pass ?(?:word|code|phrase)s?|pin(?: code)?|ssn|social security|tax (?:id|number)|national (?:id|"
    r"insurance)|id card|(?:credit|debit|bank) card|card number|account number|iban|cvv2?|security (?:question|answer|"
    r"code)|recovery (?:code|phrase|key)|seed phrase|private key|api[ -]?key|access token|driv(?:er'?s|ing) licen[cs]e "
    r"number|загранпаспорт\w*|паспорт\w*|парол\w+|пин-?код\w*|снилс|инн|номер карты|кодовое слово|секретный вопрос|"
    r"девичья фамилия матери)\b|密码|护照|身份证|银行卡|信用卡|口令|密保|验证码|社保号",
    re.IGNORECASE,
)


def is_private(text: str) -> bool:
    """Whether a text names a secret, also where it does not hold one.

    >>> is_private("my PIN is the year I was born")
    True
    """
    return _NAMES.search(text) is not None
