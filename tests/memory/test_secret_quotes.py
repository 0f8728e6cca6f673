"""A secret between quotation marks goes without them, so that a file that holds it still parses; words too."""

import tomllib

import pytest

from nanomem_tui.language.secrets import find, mask


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('the passphrase is "purple monkey dishwasher nine"', "purple monkey dishwasher nine"),
        ("password: 'abc 123 x'", "abc 123 x"),
        ('password = "hunter2!x"', "hunter2!x"),
        ("password = `a1b2c3d4`", "a1b2c3d4"),
        ('password: "hunter2', "hunter2"),
        ("machine example.org login bob password s3cr3tpw", "s3cr3tpw"),
        ('{"secret":"zzTop!9981"}', "zzTop!9981"),
        ("my pass: Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("the password Tr0ub4dor&3 works", "Tr0ub4dor&3"),
        ("your password P@ssw0rd99.", "P@ssw0rd99"),
    ],
)
def test_all_of_it_goes(text, value):
    [secret] = find(text)
    assert value in text[secret.start : secret.end]
    assert value not in mask(text)
    assert not any(word in mask(text) for word in value.split())


@pytest.mark.parametrize(
    "text",
    [
        'the password is "the one from last year"', "password reset123", "my pass: next week",
        "a password manager like Bitwarden2", 'the password "is" 4 letters long', "password version 2.0",
        'secret = "santa"', "login page password field",
    ],
)  # fmt: skip
def test_talk_about_one_is_none(text):
    assert find(text) == []


def test_a_file_still_parses():
    settings = 'password = "hunter2!x"\nsecret = \'zzTop!9981\'\napi_key = "abcdEFGH1234ijkl5678"'
    masked = mask(settings)
    assert not any(value in masked for value in tomllib.loads(settings).values())
    assert set(tomllib.loads(masked)) == {"password", "secret", "api_key"}
