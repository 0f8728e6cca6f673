"""Passwords and codes as people and configuration files write them, and values that only stand for one."""

import pytest

from nanomem_tui.language.secrets import find
from nanomem_tui.language.secrets.signs import may_hold

VALUE = "Zx81kkQ22"
WRITTEN = {
    "the password is: Zx81kkQ!22": "Zx81kkQ!22",
    "DB_PASS=pa55w0rdzzz9": "pa55w0rdzzz9",
    "export SMTP_PASS='pa55w0rdzzz9'": "pa55w0rdzzz9",
    '{"user": "anna", "pass": "pa55w0rdzzz9"}': "pa55w0rdzzz9",
    "my password is ExamplePass!9": "ExamplePass!9",
    "my password is Nonevent#42": "Nonevent#42",
    "the password for the NAS is still blauwal77": "blauwal77",
    "the wifi password is currently blauwal77": "blauwal77",
    "the password was changed to: blauwal77": "blauwal77",
    "the code for the safe is 77-13-42": "77-13-42",
    "the safe code is 771342": "771342",
    "alarm code: 4711#": "4711#",
    "The combination of my office safe is 4-7-1-1": "4-7-1-1",
    "wifi key: 1234567890": "1234567890",
    "密码 7713420": "7713420",
    "密码还是Xiaoming2024": "Xiaoming2024",
}
OF_ONE_VALUE = (
    f"MYSQL_PWD={VALUE}",
    f"user: anna pass: {VALUE}",
    f"User: anna, Pass: {VALUE}",
    f"use {VALUE} as the password",
    f"use {VALUE} as password",
    f"wifi pass → {VALUE}",
    f"I set {VALUE} as my new password",
    f"password → {VALUE}",
    f"password -> {VALUE}",
    f"wifi password → {VALUE}",
    f"密码 {VALUE}",
    f"路由器密码 {VALUE}，别告诉别人",
    f"WiFi密码{VALUE}。",
    f"wifi key: {VALUE}",
    f"the WLAN key is {VALUE}",
    f"WPA key = {VALUE}",
)
WRITTEN |= dict.fromkeys(OF_ONE_VALUE, VALUE)


@pytest.mark.parametrize(("text", "value"), WRITTEN.items())
def test_a_password_is_found_as_people_and_files_write_it(text, value):
    found = find(text)
    assert [(one.kind, text[one.start : one.end]) for one in found] == [("password", value)]
    assert may_hold(text), "the quick look lets it through"


@pytest.mark.parametrize(
    "text",
    [
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEQ",
        "aws_secret_access_key = wJalrXUtnYOURFEMI/K7MDENG/bPxRfiCY3ab9KL",
        "api_key: 9fExampleQ2x81kkQ22wPl0aa",
        "Authorization: Bearer q8Wz3Kd7Lx2VnullNm4Tp6Rj1H",
        "postgres://anna:Example#7x41@db.internal/x",
    ],
)
def test_the_word_example_within_a_value_does_not_hide_it(text):
    assert len(find(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "api_key: your-api-key-here",
        "api_key=YOUR_API_KEY_GOES_HERE_1234",
        "api_key = sk-your-openai-api-key-here-1234",
        "token: example-token-1234567890",
        "api_key: sk-proj-xxxxxxxxxxxxxxxxxxxxAB12",
        "password: changeme",
        "password: changeme123",
        "password = your_password_1",
        "password: example1",
        "password = <password>",
        "password = <your-password-1>",
        "password: {{ vault_password }}",
        "password=${DB_PASSWORD_1}",
        "password = os.environ['DB_PASSWORD1']",
        "password: process.env.DB_PASSWORD_1",
        'password = getenv("DB1_PASSWORD")',
        "password: string(64)",
        "password: Optional[str]",
        "DB_PASS=${DB_PASS}",
        "DB_PASS=changeme",
        "DB_PASS=/run/secrets/db1",
        "postgresql://user:password@localhost/db",
        "mysql://user:pass@db.internal/x",
        "mongodb://username:password@host1/x",
        "postgres://postgres:postgres@localhost:5432/app",
        "amqp://<user>:<password>@host1/x",
        "curl -u user:password https://shop.example/api",
        "1Password is the password manager",
        "use 1Password as the password manager",
        "use bcrypt2 as the password hash",
        "The password is still in the vault",
        "The password is: see the vault",
        "密码 2024 年到期",
        "密码至少8位，要有数字",
        "上次改密码 2026-03-01。",
        "the code for the safe is in the drawer",
        "the code for the parser is 1200 lines long",
        "The code of the vault is 3000 lines",
        "my gate code is 4417",
        "The door code is 4711",
        "the alarm code is new since 2024",
        "PASS: test_login_2 and TEST_PASS=12",
        "12 tests pass: all of suite2",
        "wifi key: WPA2-PSK",
        "the key of the song is C4-minor",
        "set the user as the password owner",
        "a ferry pass = 12 rides",
        "user: anna pass: yes",
    ],
)
def test_what_only_stands_for_a_value_is_none(text):
    assert find(text) == []
