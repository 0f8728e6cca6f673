"""Values are read the same way however a language writes them."""

import random

import pytest

from nanomem_tui.language.statements.values import equal, match_values, values

ALIKE = [
    ("en", "a fee of 1,500 euros", "en", "a fee of 1500 EUR"),
    ("en", "it costs €25", "de", "es kostet 25 Euro"),
    ("en", "1.5k followers", "en", "1,500 followers"),
    ("en", "2 km from here", "de", "2000 m von hier"),
    ("en", "1.5 kg of flour", "de", "1.500 g Mehl"),
    ("de", "zweihundert Gramm Butter", "en", "200 g of butter"),
    ("en", "the call is at half past three", "en", "the call is at 15:30"),
    ("en", "the call is at 3:30 pm", "de", "der Anruf ist um halb vier"),
    ("zh", "下午三点半开会", "ja", "会議は午後3時半"),
    ("ko", "회의는 오후 3시 반", "en", "the meeting is at 15:30"),
    ("en", "due on March 4", "de", "fällig am 4. März"),
    ("en", "due on 2026-03-04", "ja", "期限は3月4日"),
    ("es", "el 4 de marzo", "ru", "4 марта"),
    ("fr", "le 14 octobre 2025", "fr", "le 14/10/2025"),
    ("zh", "十月二号", "zh", "10月2日"),
    ("en", "an hour and a half", "ja", "90分"),
    ("zh", "八千港币", "zh", "8000港元"),
    ("zh", "零下十八度", "en", "-18 °C"),
    ("en", "minus 5 degrees", "de", "5 Grad unter null"),
    ("en", "20 percent off", "fr", "20 % de remise"),
    ("en", "half a dozen at 8 pm", "en", "half a dozen at 20:00"),
    ("ko", "스물세 명", "ko", "23명"),
    ("en", "twenty-five children", "en", "25 children"),
    ("en", "phone: +49 170 1234567", "de", "Telefon: 0170 1234567"),
    ("en", "https://example.org/", "en", "see example at http://www.example.org"),
    ("en", "v3.11.2 is out", "en", "version 3.11.2"),
    ("pt", "quatro quilos e meio", "en", "4.5 kg"),
]
DIFFERENT = [
    ("en", "25 EUR", "25 USD"),
    ("en", "it was +5 outside", "it was -5 outside"),
    ("en", "5 mg", "5 ml"),
    ("en", "5 mg", "0.5 mg"),
    ("en", "3 acres", "3 hectares"),
    ("en", "at ten", "at half past ten"),
    ("en", "8 am", "8 pm"),
    ("en", "March 4", "April 4"),
    ("en", "4 March 2025", "4 March 2026"),
    ("en", "1,185 a year", "1,158 a year"),
    ("en", "localhost:8080", "localhost:8081"),
    ("en", "version 3.11.2", "version 3.11.3"),
    ("zh", "八千港币", "8000元人民币"),
    ("de", "2 Grad", "2 Grad unter null"),
]


@pytest.mark.parametrize(("language", "text", "other_language", "other"), ALIKE)
def test_a_value_is_the_same_in_another_spelling(language, text, other_language, other):
    left, right, pairs = match_values(values(text, language), values(other, other_language))
    assert pairs, (values(text, language), values(other, other_language))
    assert not left
    assert not right


@pytest.mark.parametrize(("language", "text", "other"), DIFFERENT)
def test_another_value_is_another(language, text, other):
    ours, theirs = values(text, language), values(other, language)
    assert ours
    assert theirs
    assert not any(equal(one, two) for one in ours for two in theirs)


def test_a_bare_number_may_be_any_amount_with_that_number():
    (bare,), (amount,) = values("it is 30"), values("it is 30 minutes")
    assert equal(bare, amount)


@pytest.mark.parametrize(
    "text", ["web3 and B2B", "we meet on weekdays", "周一到周五上课", "maybe she may come", "第一次"]
)
def test_what_is_no_value_gives_none(text):
    assert values(text) == []


def test_a_value_tells_where_it_stands():
    text = "The shed is 2 km away, ready on 4 March."
    assert [text[one.start : one.end] for one in values(text)] == ["2 km", "4 March"]


@pytest.mark.parametrize("text", ["一" * 700, "9" * 700, f"half past {'9' * 5000}", "13月45日", "99/99/9999", "10:99"])
def test_what_is_too_much_for_a_value_is_no_error(text):
    assert isinstance(values(text), list)


def test_any_text_is_read():
    chance = random.Random(7)
    pieces = [
        *"0123456789.,:/-+€$%° ",
        "一",
        "十",
        "万",
        "点",
        "半",
        "年",
        "月",
        "日",
        "half past",
        "²",
        "٣",
        "pm",
        "Uhr",
        "März",
    ]
    for _ in range(3000):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 14)))
        for one in values(text, chance.choice(["en", "de", "zh", "ja", "ko", "fr"])):
            assert 0 <= one.start < one.end <= len(text)
