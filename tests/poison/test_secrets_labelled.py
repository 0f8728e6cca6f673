"""Secrets in ten languages, by every carrier, and what only looks like one: none is missed, and nothing else masked."""

import pytest

from nanomem_tui.language.secrets import find, mask
from nanomem_tui.memory.transfer import markdown
from tests.poison import labelled_secrets
from tests.poison.labelled_secrets import LANGUAGES
from tests.review.junk import secrets_of

SECRETS, LOOKALIKES = labelled_secrets.secrets(), labelled_secrets.lookalikes()


def test_the_set_is_large_and_has_both_halves_of_every_kind_in_ten_languages():
    assert len(SECRETS) >= 250
    assert len(LOOKALIKES) >= 400
    assert {one.language for one in SECRETS} == {one.language for one in LOOKALIKES} == LANGUAGES
    for kind in ("password", "passphrase", "quoted password", "2FA seed", "recovery code", "card security code"):
        assert {one.language for one in SECRETS if one.kind == kind} == LANGUAGES, kind
    kinds = {one.kind.split(":")[0] for one in SECRETS}
    assert {one.kind.split(":")[0] for one in SECRETS if one.held_out} >= kinds - {"private key"}


def test_no_secret_of_the_set_can_be_read_once_it_is_masked():
    assert [one.text for one in SECRETS if one.is_open(mask(one.text))] == []


def test_nothing_is_masked_that_only_looks_like_a_secret():
    assert [(one.text, [found.kind for found in find(one.text)]) for one in LOOKALIKES if find(one.text)] == []


def test_a_masked_text_has_no_secret_left():
    assert [one.text for one in SECRETS if find(mask(one.text))] == []


def test_no_report_names_a_secret_by_its_value():
    for one in SECRETS:
        for found in find(one.text):
            assert not one.is_open(f"{found.kind} #{found.fingerprint}")


@pytest.mark.slow
def test_the_quick_look_passes_over_none_of_them():
    assert [one.text for one in (*SECRETS, *LOOKALIKES) if secrets_of(one.text) != find(one.text)] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("My password is correct horse battery staple and I like it", "horse"),
        ("my SSH key passphrase is green apples falling slowly", "apples"),
        ('the password "only ever on a sunday"', "sunday"),
        ("пароль: солнце123", "солнце123"),
        ("비밀번호는 고양이사랑123", "고양이사랑123"),
        ("remember my password, it is tulip99rose", "tulip99rose"),
        ('curl --user "ana:s3 cr3t" https://x.example', "s3 cr3t"),
        ("curl -su ana:pw https://x.example", "ana:pw"),
        ("psql postgres://u:p@db.example/x", ":p@"),
        ("recovery key: EsTJ 9wUC 8GmM jBkL 2FhT", "9wUC"),
        ("mon mot de passe c'est tulipe42", "tulipe42"),
        ("my phone unlock code is 482910", "482910"),
        ('{"note": "line\\n' + "ghp" + "_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA9b8C" + '"}', "aB3dE6gH"),
    ],
)
def test_more_ways_to_say_one(text, value):
    assert value in text
    assert value not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "my password is something nobody would guess",
        "The passphrase is longer than the password",
        "Password: must contain letters",
        "Passwort: bitte beim Admin erfragen",
        "mon mot de passe est difficile à retenir",
        "пароль хранится в менеджере паролей",
        "パスフレーズ：任意の文字列を入力",
        "密码：请联系管理员",
        "Error: Path /etc/passwd is outside allowed directory",
        "OTP is valid for 5 minutes",
        "MFA THIS WILL BE REQUIRED FROM NEXT WEEK",
        "recovery key ceremony on 2026-11-28",
        "Basic BeginnersGuide2026",
        "log in with Google2FA",
        "user ana passed 12 tests",
        "fc-0123 and sm_75 and r8_c",
        "mi clave es trabajar duro siempre",
    ],
)
def test_more_talk_about_secrets_is_none(text):
    assert find(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("| Service | Password |\n|---|---|\n| NAS | Apfel!9931 |", "Apfel!9931"),
        ("Service | User | **Passwort**\n--- | :-: | ---\nNAS | ana | `Birne!9932`\nWLAN | - | 88213344", "Birne!9932"),
        ("| 密码 | 用户 |\n| --- | --- |\n| Xk9lotus22 | ana |", "Xk9lotus22"),
    ],
)
def test_a_password_in_a_column_that_is_named_so_is_masked(text, value):
    assert value not in mask(text)
    assert find(mask(text)) == []
    pieces = [piece.text for piece in markdown.markdown_pieces(f"{text}\n\n- Ana has a dog", "x")[0]]
    assert pieces[-1] == "Ana has a dog"
    assert not any(value in piece for piece in pieces)


def test_a_table_about_passwords_is_none():
    assert find("| Service | Password |\n|---|---|\n| NAS | in the safe |\n| Mail | unknown |\n| VPN | - |") == []
    assert (
        find("| Node | IP |\n|---|---|\n| Pi | 10.0.0.21 |\n\n| Password rule | Length |\n|--|--|\n| v2 | 12chars |")
        == []
    )
