"""Secrets are found by the shape of their value, reported without it, and talk about secrets is none."""

import json
import re
import sqlite3
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.language.secrets import checks, find, kinds, mask
from nanomem_tui.language.secrets.shapes import DIGITS, personal_shapes, shapes
from tests.poison import labelled_secrets

LETTERS = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA"
HEX = "0123456789abcdef"
# Put together here so that no scanner takes this file for a leak.
VALUES = {
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----",
    "age key": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE",
    "Anthropic key": "sk-ant-" + "api03-" + LETTERS,
    "OpenRouter key": "sk-or-" + "v1-" + HEX * 4,
    "OpenAI key": "sk-" + "proj-" + LETTERS + LETTERS[::-1],
    "AWS access key": "AKIA" + "Z7QX3M5N8P2R4T6V",
    "GitHub token": "ghp" + "_" + LETTERS + "9a8B",
    "GitLab token": "glpat" + "-" + LETTERS[:20],
    "Slack token": "xoxb" + "-123456789012-" + LETTERS[:24],
    "Slack webhook": "https://hooks.slack.com/" + "services/T00000000/B00000000/" + LETTERS[:24],
    "Stripe key": "sk" + "_live_" + LETTERS[:24],
    "Google API key": "AIza" + "Sy" + LETTERS + "-",
    "Google OAuth secret": "GOCSPX" + "-" + LETTERS[:28],
    "Hugging Face token": "hf" + "_" + LETTERS + "ab",
    "Vault token": "hvs" + "." + LETTERS[:24],
    "npm token": "npm" + "_" + LETTERS + "abcd",
    "PyPI token": "pypi" + "-AgEIcHlwaS5vcmc" + LETTERS * 2,
    "SendGrid key": "SG" + "." + LETTERS[:22] + "." + LETTERS + "abcdefghijk",
    "Twilio key": "SK" + HEX * 2,
    "DigitalOcean token": "dop" + "_v1_" + HEX * 4,
    "Shopify token": "shpat" + "_" + HEX * 2,
    "Groq or xAI key": "gsk" + "_" + LETTERS + LETTERS[:20],
    "Docker token": "dckr" + "_pat_" + LETTERS[:27],
    "Discord webhook": "https://discord.com/" + "api/webhooks/123456789012345678/" + LETTERS * 2 + "abcd",
    "Linear key": "lin" + "_api_" + LETTERS + LETTERS[:8],
    "Notion token": "ntn" + "_12345678901" + LETTERS + "abc",
    "Figma token": "figd" + "_" + LETTERS + LETTERS[:8],
    "Atlassian token": "ATATT3" + "xFfGF0" + LETTERS * 5 + "=A1B2C3D4",
    "Telegram bot token": "1234567890" + ":AA" + LETTERS + "x",
    "Discord bot token": "M" + LETTERS[:25] + ".GhIjKl." + LETTERS[:30],
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + LETTERS,
    "card number": "4111 1111 1111 1111",
    "IBAN": "DE89 3704 0044 0532 0130 00",
    "Chinese resident id": "11010519491231002X",
    "social security number": "536-22-8726",
}
BESIDE = {
    "AWS secret key": ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY3ab9KLMNOP"),
    "Azure storage key": ("AccountKey=", LETTERS * 2 + "=="),
    "connection string": ("postgres://anna:", "s3cr3tpw"),
    "authorization header": ("Authorization: Bearer ", LETTERS[:24]),
    "password": ("my password is ", "hunter2!"),
    "account number": ("my bank account is ", "12345678"),
    "key or token": ("api_key: ", LETTERS[:20]),
    "session cookie": ("Cookie: sessionid=", LETTERS[:24]),
    "seed phrase": ("my seed phrase is ", "legal winner thank year wave sausage worth useful legal winner thank red"),
}


@pytest.mark.parametrize(("kind", "value"), VALUES.items())
def test_a_value_is_found_where_it_stands_and_never_shown(kind, value):
    for text in (value, f"please note {value} for later", f"记住{value}。", f'"{value}"'):
        found = find(text)
        assert [secret.kind for secret in found] == [kind], text
        assert text[found[0].start : found[0].end] == value
        assert value not in mask(text)
        assert f"[{kind} #{found[0].fingerprint}]" in mask(text)


@pytest.mark.parametrize(("kind", "parts"), BESIDE.items())
def test_a_value_beside_its_name_is_found(kind, parts):
    text = "".join(parts) + ("@db.example/x" if kind == "connection string" else "")
    found = find(text)
    assert [(secret.kind, text[secret.start : secret.end]) for secret in found] == [(kind, parts[1])]


def test_a_private_key_of_a_wallet_is_found_by_its_name():
    value = "0x" + HEX * 4
    text = f"eth private key: {value}"
    assert [(one.kind, text[one.start : one.end]) for one in find(text)] == [("private key", value)]
    assert find(f"the block hash is {value}") == []


def test_every_kind_has_an_example():
    shown = {found.kind for one in labelled_secrets.secrets() for found in find(one.text)}
    assert {*shown, *VALUES, *BESIDE, "e-mail address", "telephone number"} == set(kinds())


@pytest.mark.parametrize(
    "text",
    [
        "我的密码是 hunter2",
        "密码：Abc12345",
        "数据库口令设为 s3cret9",
        "the PIN is 4821",
        "DB_PASSWORD='tulip-42x'",
        'password => "correct-horse"',
        "Password of the NAS is hunter2secret!",
        "The password for the NAS is hunter2secret!",
        "Password (router): abc123xyz",
        "I changed the password for the NAS to hunter2! today",
        "login root / toor1234 on srv1",
        "credentials: admin:Sup3rSecret",
        "username anna and password s3cret99",
        "我的密码是Xiaoming2024",
        "我的密码是 Xiaoming2024",
        "passphrase: correct horse battery staple",
        "the wifi password at home: correct horse battery",
        "wifi pass: Sommer2026",
        "the pin code for the alarm is 9921",
        "read out the PIN 4821",
        "the passcode is 99215",
        "pw: {}",
        "{} is my login password",
        "{} was the password",
        "mysql -u root -p{} shop",
        "sshpass -p {} ssh anna@srv",
        "curl -u anna:{} https://shop.example/api",
        "curl -s --user 'anna:{}' https://shop.example/api",
    ],
)
def test_passwords_in_words_of_two_languages(text):
    found = find(text.replace("口令设为", "口令是").replace("{}", "Condor_5512!"))
    assert [secret.kind for secret in found] == ["password"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("记住我的银行卡号是 6222021001116245702", "card number"),
        ("Remember my bank card number is 6222021001116245702", "card number"),
        ("my card: 6222 0210 0111 6245 702", "card number"),
        ("my card number is 6222-0210-0111-6245-703", "card number"),
        ("卡号：4111111111111112", "card number"),
        ("信用卡 5500 0000 0000 0005", "card number"),
        ("pay with 6222021001116245702 please", "card number"),
        ("pay with 6222 0210 0111 6245 702 please", "card number"),
        ("5018 0000 0009 is the card 501800000009", "card number"),
        ("30569309025904", "card number"),
        ("378282246310005", "card number"),
        ("credit card no. 1234 5678 9012 3456", "card number"),
        ("银行账号是 12345678", "account number"),
        ("账号：6228480402564890017", "account number"),
        ("account number: 0012-3456-789", "account number"),
        ("Kontonummer 532013000", "account number"),
        ("IBAN: DE89 3704 0044 0532 0130 01", "IBAN"),
        ("my iban is gb29nwbk60161331926818", "IBAN"),
    ],
)
def test_cards_and_accounts_by_checksum_and_by_label(text, kind):
    assert kind in {secret.kind for secret in find(text)}
    assert not any(len(run) > 5 for run in re.findall(r"\d+", mask(text)))


@pytest.mark.parametrize(
    "text",
    [
        "The password is stored in the vault",
        "The password for the NAS is stored in the vault",
        "password for srv1 is in 1Password",
        "The password policy for 2025 is strict: 12 characters",
        "login page / docs are at https://x.example/a1",
        "Login with user anna, works since 2024",
        "I forgot my password again",
        "password: ********",
        "PASSWORD=${DB_PASSWORD}",
        "password = <your password>",
        "密码是什么？",
        "change the token limit to 4096 tokens",
        "the key is under the mat",
        "passphrase: stored inside the vault",
        "Password: four random words",
        "the pin on the map is 2000 m away",
        "Boarding pass: LH1234A, gate 12",
        "our office is at PIN 560001 in Bengaluru",
        "3 tests pass: see log2.txt",
        "card 4539 1488 0343 6468",
        "my library card 1234 5678 9012 3456",
        "password: xxxxxxxx",
        "密码是xxxxxx",
        "api_key: YOUR_API_KEY_GOES_HERE_PLEASE",
        "order 4111 1111 1111 1112",
        "0000 0000 0000 0000",
        "DE89 3704 0044 0532 0130 01",
        "DE89 3704 0044 0532 0130",
        "call 536-22-87 or 000-12-3456",
        "order number 4222222222222 has shipped",
        "订单号 6222021001116245702 已发货",
        "the build of 1767225600000 and of 1767225600000123",
        "the log 20260301123000 says 2026-03-01 12:30:00.123456",
        "chat 1001234567890123 of user 123456789012345678",
        "ring me at +4915112345678 or 004915112345678",
        "手机 13800138000，座机 021-62345678",
        "the business card has +49 170 1234567",
        "my account has 3 users since 2026-03-01",
        "card 12 of 52, account 7",
        "tracking 1Z 9999 9999 9999 9999, parcel 00340434161094015902",
        "ISBN 978-3-16-148410-0 and EAN 4006381333931",
        "the numbers 1 2 3 4 5 6 7 8 9 10 11 12 13 14",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "https://example.com/path?x=1",
        "sk-learn is a nickname of scikit-learn",
        "110105194912310021 is no id",
        "my mail is anna@example.com and my phone is +49 170 1234567",
        "mysql -u root -p shop",
        "curl -u $USER:$TOKEN https://shop.example/api",
        "pw: none",
        "sshpass -p $PASS ssh srv",
        "my seed phrase is written on paper in the safe behind the books at my parents",
        "that is my login password again",
        "Cookie: consent=yes",
    ],
)
def test_talk_about_secrets_is_none(text):
    assert find(text) == []


def test_addresses_and_telephone_numbers_only_when_asked_for():
    text = "anna@example.com, +49 170 1234567, 13800138000"
    kinds = [secret.kind for secret in find(text, personal=True)]
    assert kinds == ["e-mail address", "telephone number", "telephone number"]


def test_hiding_it_does_not_help():
    key = VALUES["AWS access key"]
    split = key[:6] + "\u200b" + key[6:]
    wide = "".join(chr(ord(c) + 0xFEE0) for c in key)
    for text in (f"my key {split} ok", f"my key {wide} ok"):
        found = find(text)
        assert [secret.kind for secret in found] == ["AWS access key"]
        assert mask(text).startswith("my key [AWS")
        assert mask(text).endswith("] ok")


def test_every_shape_of_the_packs_has_a_pattern_and_a_check():
    for shape in (*shapes(), *personal_shapes()):
        assert shape.words or shape.back == DIGITS or shape in personal_shapes(), shape.kind
        assert shape.pattern.search("") is None, shape.kind
        assert not shape.check or callable(getattr(checks, f"is_{shape.check}")), shape.kind


@pytest.mark.parametrize("word", ["passwd-", "token-", "secret_", "api_key=", "-----BEGIN PRIVATE KEY-----"])
def test_a_message_made_to_be_slow_is_not(word):
    started = time.process_time()
    find(word * 3_000)
    assert time.process_time() - started < 6


def test_the_same_beginning_of_a_key_again_and_again_takes_time_in_proportion():
    started = time.process_time()
    assert find("sk-" * 30_000) == []
    assert time.process_time() - started < 6


@pytest.mark.slow
def test_a_text_of_nothing_but_secrets_takes_time_in_proportion():
    text = "".join(f"my pin {number:08} ghp_{LETTERS}{number:08}, " for number in range(20_000))
    started = time.process_time()
    assert len(find(text)) >= 20_000
    assert time.process_time() - started < 12


def test_a_private_key_that_was_cut_off_is_covered():
    lines = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ=="] * 20)
    assert mask(f"here: -----BEGIN PRIVATE KEY-----\n{lines}").startswith("here: [private key #")
    assert "MIIE" not in mask(f"here: -----BEGIN PRIVATE KEY-----\n{lines}")
    assert mask("a line -----BEGIN PRIVATE KEY----- in prose").endswith("] in prose")


def test_the_same_value_has_the_same_fingerprint_and_guessable_ones_a_short_one():
    plain, spaced = find("4111111111111111")[0], find("4111 1111 1111 1111")[0]
    assert plain.fingerprint == spaced.fingerprint
    assert len(plain.fingerprint) == 4
    assert len(find(VALUES["GitHub token"])[0].fingerprint) == 8


@given(st.text(max_size=300), st.sampled_from(sorted(VALUES)))
def test_masking_leaves_no_secret_and_spans_never_overlap(around, kind):
    text = f"{around} {VALUES[kind]} {around}"
    found = find(text, personal=True)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(0 <= s.start < s.end <= len(text) for s in found)
    assert VALUES[kind] not in mask(text)


@pytest.mark.slow
def test_the_memories_of_real_agents_hold_none(samples):
    texts = set()
    for path in samples.rglob("*"):
        if path.suffix in (".jsonl", ".json", ".md", ".txt") and ".git" not in path.parts:
            texts.update(path.read_text("utf-8", "replace").split("\n"))
        elif path.suffix == ".db":
            with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as connection:
                texts.update(connection.iterdump())
            connection.close()
    assert len(texts) > 5000
    found = {secret.kind for text in texts for secret in find(text)}
    assert found == set(), json.dumps(sorted(found))
