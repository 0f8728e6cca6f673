"""What was taken out is no secret: masked once, nothing of a text is found again, whatever stands around it."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.language.secrets import find, is_masked, kinds, mask
from nanomem_tui.purge.matchers import Secrets
from tests.memory.test_secrets import BESIDE, VALUES

PASSWORD = "Xy7fQ2mLk90pqrs"
QUOTES = ('"{}"', "'{}'", "`{}`", '\\"{}\\"', "“{}”", "**{}**", "({})", "[{}]", "<{}>", "{}")
NAMED = (
    "password: {}", '"password": {}', "password => {}", "the password is {}", "DB_PASSWORD={}", "my pass: {}", "pw: {}",
    "passphrase: {}", "secret={}", "api_key: {}", "token is {}", "private key {}", "my seed phrase is {}", "iban: {}",
    "bank account: {}", "credit card number {}", "login: anna / {}", "密码是{}", "пароль: {}", "curl -u anna:{} x",
    "wifi key: {}", "Cookie: a={}", "Authorization: Bearer {}", "{} is my password", "{}",
)  # fmt: skip
KEPT = [FORGOTTEN, *(f"[{kind} #{mark}]" for kind in kinds() for mark in ("e49f", "1234", "e49f05f9", "12345678.2"))]
HELD = [*VALUES.values(), *("".join(parts) for parts in BESIDE.values()), PASSWORD]


@pytest.mark.parametrize(
    "text",
    [
        '- password: "{}"', '"password": "{}"', '{"db": {"password": "{}"}}', 'the password is "{}"', "password: `{}`",
        "password => '{}'", "DB_PASSWORD='{}'",
    ],
)  # fmt: skip
def test_a_quoted_password_is_masked_once(text):
    once = mask(text.replace("{}", PASSWORD))
    assert PASSWORD not in once
    assert is_masked(once)
    assert (find(once), mask(once)) == ([], once)
    assert mask(text.replace("{}", FORGOTTEN)) == text.replace("{}", FORGOTTEN)


@pytest.mark.slow
def test_no_mask_is_taken_for_a_secret_by_whatever_name_and_in_whatever_quotes():
    texts = [name.format(quote.format(kept)) for name in NAMED for quote in QUOTES for kept in KEPT]
    assert [text for text in texts if find(text, personal=True)] == []


@pytest.mark.slow
def test_what_is_masked_between_any_quotes_is_masked_for_good():
    for held in HELD:
        for name in NAMED:
            for quote in QUOTES:
                once = mask(name.replace("{}", quote.format(held)))
                assert find(once) == [], once


PIECES = [*HELD, *KEPT[:40:3], *NAMED, *"\"'`:= \n#[],/", "a", " is "]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_of_what_was_masked_nothing_is_found(text):
    once = mask(text)
    assert find(once) == []
    assert mask(once) == once


def test_what_stands_beside_a_mask_is_found():
    assert [one.kind for one in find(f"[password #e49f] and the password is {PASSWORD}")] == ["password"]
    assert [one.kind for one in find(f'"[forgotten]" password: "{PASSWORD}"')] == ["password"]


def test_the_words_of_a_mask_name_no_secret():
    assert find("[account number #1234]: 12345678") == []
    assert find("[seed phrase #ab12]: legal winner thank year wave sausage worth useful legal winner thank red") == []


def test_scrub_after_scrub_finds_nothing():
    line = json.dumps({"content": f'password: "{PASSWORD}"', "db": {"password": PASSWORD}})
    found = Counter()
    once = Secrets().clean(line, found)
    assert found
    again = Counter()
    assert (Secrets().clean(once, again), again) == (once, Counter())
