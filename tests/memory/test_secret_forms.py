"""Secrets as Markdown, tables, tags and files of programs write them, and by the words of other languages."""

import time
from base64 import b64encode

import pytest

from nanomem_tui.language.secrets import find, mask
from nanomem_tui.language.secrets.signs import may_hold

X = "Xy7fQ2mLk90pqrs"
KEY = X + "1234abcd"
WIRE = "yAnz5TF+lXXJte14" + "tji3zlMNq+hd2rYUIgJBgB3fBmk="
SIGNED = "yAnz5TF%2BlXXJte14" + "tji3zlMNq%2Bhd2rYUIgJBgB3fBmk%3D"
BASIC = b64encode(f"ana:{X}".encode()).decode()
OF_PASSWORDS = (
    "**Password:** {}", "- **Password**: {}", "__Password:__ {}", "**Password:** **{}**", "**Password:** `{}`",
    "**Password (NAS):** {}", "**WiFi password:** {}", "password is **{}**", "The password is now **{}**.",
    "password: **{}**", "*password*: {}", "`password`: {}", "**Пароль:** {}", "пароль — **{}**", "密码：**{}**",
    "**密码**：{}", "密码是**{}**", "| password | {} |", "| Password | `{}` |", "|WiFi password|{}|",
    "| **Password** | **{}** |", "| user | ana |\n| Password (NAS) | {} |", "<password>{}</password>",
    "<dbPassword>{}</dbPassword>", '<password type="plain">\n  {}\n</password>', "<soap:Password>{}</soap:Password>",
    "<pass>{}</pass>", '<add key="password" value="{}"/>', '<property name="db.password" value="{}"/>',
    "db.example.com:5432:shop:ana:{}", "*:*:*:ana:{}", "パスワードは {}", "パスワードは{}です", "パスワード：{}",
    "WiFiのパスワード: {}", "비밀번호: {}", "비밀번호는 {}", "비밀번호는 {}입니다", "암호: {}", "hasło: {}",
    "Hasło to {}", "HASŁO: {}", "hasło do wifi: {}", "parola: {}", "Parola este {}", "parola mea este {}",
    "şifre: {}", "Şifrem: {}", "mật khẩu: {}", "mật khẩu là {}", "lösenord: {}", "salasana: {}", "salasana on {}",
    "adgangskode: {}", "passord: {}", "kata sandi: {}", "heslo: {}", "heslo je {}", "jelszó: {}", "κωδικός: {}",
    "סיסמה: {}", "הסיסמה היא {}", "كلمة المرور: {}", "كلمة السر هي {}", "رمز عبور: {}", "पासवर्ड: {}",
    "पासवर्ड है {}", "รหัสผ่าน: {}", "รหัสผ่านคือ {}", "паролата е {}", "лозинка: {}", "la password è {}",
    "parole: {}", "parool: {}", "lozinka: {}",
)  # fmt: skip
OTHERS = (
    ("key or token", "**API key:** {}", KEY), ("key or token", "api key is **{}**", KEY),
    ("key or token", "| API key | {} |", KEY), ("key or token", "<apiKey>{}</apiKey>", KEY),
    ("key or token", "**Token:** `{}`", KEY), ("private key", "[Interface]\nPrivateKey = {}", WIRE),
    ("private key", "PresharedKey = {}", WIRE),
    ("Azure storage key", "https://a.blob.core.windows.net/c?sv=2022-11-02&ss=b&sig={}", SIGNED),
    ("authorization header", '{"auths": {"r.example": {"auth": "{}"}}}', BASIC),
    ("authorization header", "//registry.npmjs.org/:_auth={}", BASIC),
    ("authorization header", '"auth":"{}"', "YTpiYw=="), ("connection string", "ana:{}@db.example.com", X),
    ("connection string", "psql ana:{}@db:5432/shop", "s3cr3tpw"),
    ("connection string", "root:{}@10.0.0.5:3306", "s3cr3tpw"),
    ("connection string", "ana:{}@localhost", "Condor_5512!"), ("password", "パスワード: {}", "482913"),
    ("password", "暗証番号は {}", "482913"), ("password", "localhost:5432:*:postgres:{}", "s3cr3tpw"),
)  # fmt: skip
BENIGN = (
    "**Password:** required", "**Password:** required*", "**Password:** 8-64 characters", "**Password:** string(255)",
    "**Password:** (min. 8 characters)", "**Password:** SHA-256", "**Password:** ********",
    "**Password:** see 1Password", "**Password policy:** 12 characters", "**Password:** `<your password>`",
    "**Password:** `${DB_PASSWORD}`", "password is **required**", "the password is **never** stored",
    "the password is **case-sensitive**", "| password | string |", "| password | string | required |",
    "| password | varchar(255) | no |", "| Password | 8-64 |", "| password | VARCHAR2(255) |",
    "| password | required* |", "| user | password |\n|---|---|", "| password | 1523 | 3% |",
    "| password | text | the password of the user |", "| password field | yes |", "| password | ******** |",
    "| reset password | 2026-03-01 |", "<password>", "<password>string</password>", "<password>********</password>",
    '<xs:element name="password" type="xs:string"/>', "<password>${env.DB_PASSWORD}</password>",
    "<password>{COQLCE6DU6GtcS5P=}</password>", "psql -U ana -W <password> -h db1.example.com",
    '<input type="password" name="pass" value=""/>', '<add key="password" value="changeme"/>',
    "<pass/> and <fail/> </pass>", "user:name@example", "user:name@example.com", "mailto:anna2026@example.com",
    "mail:anna2026@example.com", "Contact:anna2026@example.com", "git@github.com:ana/repo2.git",
    "scp ana@srv1:file2.txt bob@srv2:", "nginx:1.25.3@sha256:3f2a9c", "python:3.11-slim@sha256:12345abc",
    "npm:react2@18.2.0", "ana@example.com:8080", "from 12:30pm@office.example", "lodash:4.17.21@latest", "see a:b@c",
    "ratio 1:2@3x", "aa:11:bb:22:c3:d4", "fe80:1234:abcd:ef01:23ab:45cd:67ef:89ab", "app.py:123:45:error:E501",
    "10:30:45:123:4567", "12:345:67:89:abcd1", "PublicKey = " + WIRE, "PrivateKey = <your key>",
    "https://x.example/c?sv=2022&sig=abc", '"auth": "none"', '"auth": "required"', "auth: bearer",
    '"auth": "YWJjZGVm"', "author: Ana99", "parola lui era lege", "parola: cuvânt", "Ultima parola: mai",
    "una parola è bastata", "parole: Freiheit", "sur parole: 2024-01-15", "hasło: Solidarność",
    "hasło reklamowe: Razem", "heslo dne: svoboda", "heslo: motto", "암호: 없음", "암호화: AES-256",
    "パスワードは8文字以上です", "パスワードを変更してください", "パスワードは何ですか", "비밀번호: 8자 이상",
    "비밀번호를 잊었어요", "mật khẩu: 8-16 ký tự", "şifre: yok", "lösenord: minst 8 tecken", "salasana: 12 merkkiä",
    "adgangskode: glemt", "jelszó: legalább 8 karakter", "кодовое слово", "سيسمה", "كلمة المرور: مطلوبة",
    "पासवर्ड: ज़रूरी", "κωδικός: 2 λέξεις", "**API key:** required", "| token | string |",
    "<token>your-token-goes-here</token>", "**Token budget:** 120000 tokens",
    "| API key | YOUR_API_KEY_GOES_HERE_1 |", "**Secret:** keep it under 4096 characters",
)  # fmt: skip


@pytest.mark.parametrize("form", OF_PASSWORDS)
def test_a_password_is_found_in_every_form(form):
    text = form.replace("{}", X)
    found = find(text)
    assert [(one.kind, text[one.start : one.end]) for one in found] == [("password", X)]
    assert may_hold(text), "the quick look lets it through"
    assert find(mask(text)) == []


@pytest.mark.parametrize("before", ["password: ", "password of the NAS: ", "password of the NAS → ", "| password | "])
def test_a_name_that_stands_where_a_value_would_hides_none(before):
    assert X not in mask(f"{before}password: {X}")


@pytest.mark.parametrize(("kind", "form", "value"), OTHERS)
def test_other_secrets_are_found_in_their_forms(kind, form, value):
    text = form.replace("{}", value)
    found = find(text)
    assert [(one.kind, text[one.start : one.end]) for one in found] == [(kind, value)]
    assert may_hold(text), "the quick look lets it through"
    assert find(mask(text)) == []


@pytest.mark.parametrize("text", BENIGN)
def test_what_only_looks_like_one_of_these_is_none(text):
    assert [(one.kind, text[one.start : one.end]) for one in find(text)] == []


@pytest.mark.parametrize(
    "piece",
    [
        "**Password:** ",
        "| password ",
        "<password>",
        "parola a ",
        "a:b:",
        "ana:abcdef1",
        "auth=",
        "パスワード",
        "hasło ",
    ],
)
def test_a_message_made_of_such_names_takes_no_long(piece):
    started = time.process_time()
    find(piece * 4_000)
    assert time.process_time() - started < 6
