"""Times in languages beside the ten of `test_times_asked`: what their words mean, and what is no time there."""

from datetime import date

import pytest

from nanomem_tui.language import pack_files, times_asked, times_elsewhere
from nanomem_tui.language.times_asked import about, asked, read_date

TODAY = date(2026, 11, 30)
"""A Monday."""

MEANT = {
    "turkish": {
        "dün ne yaptım?": "2026-11-29",
        "evvelsi gün ne dedim?": "2026-11-28",
        "geçen hafta ne konuştuk?": "2026-11-23..2026-11-29",
        "geçen salı ne oldu?": "2026-11-24",
        "3 gün önce": "2026-11-27",
        "iki hafta önce": "2026-11-16..2026-11-22",
        "mart ayında ne oldu?": "2026-03-01..2026-03-31",
        "Martta ne yaptım?": "2026-03-01..2026-03-31",
        "12 Mart 2026": "2026-03-12",
        "geçen ay": "2026-10-01..2026-10-31",
        "geçen yıl": "2025-01-01..2025-12-31",
        "pazar günü ne oldu?": "2026-11-29",
        "geçen hafta sonu": "2026-11-28..2026-11-29",
    },
    "dutch": {
        "wat heb ik gisteren gezegd?": "2026-11-29",
        "wat deed ik eergisteren?": "2026-11-28",
        "wat was er vorige dinsdag?": "2026-11-24",
        "afgelopen vrijdag": "2026-11-27",
        "wat gebeurde er in maart?": "2026-03-01..2026-03-31",
        "3 dagen geleden": "2026-11-27",
        "twee weken geleden": "2026-11-16..2026-11-22",
        "een maand geleden": "2026-10-01..2026-10-31",
        "vorige week": "2026-11-23..2026-11-29",
        "vorig jaar": "2025-01-01..2025-12-31",
        "12 maart 2026": "2026-03-12",
        "wat heb ik in mei gedaan?": "2026-05-01..2026-05-31",
    },
    "czech": {
        "co jsem dělal včera?": "2026-11-29",
        "předevčírem": "2026-11-28",
        "minulé úterý": "2026-11-24",
        "co bylo minulý týden?": "2026-11-23..2026-11-29",
        "co se stalo v březnu?": "2026-03-01..2026-03-31",
        "před 3 dny": "2026-11-27",
        "před dvěma týdny": "2026-11-16..2026-11-22",
        "12. března 2026": "2026-03-12",
        "12. 3. 2026": "2026-03-12",
        "minulý měsíc": "2026-10-01..2026-10-31",
        "vloni": "2025-01-01..2025-12-31",
    },
    "polish": {
        "co robiłem wczoraj?": "2026-11-29",
        "przedwczoraj": "2026-11-28",
        "w zeszły wtorek": "2026-11-24",
        "co się stało w marcu?": "2026-03-01..2026-03-31",
        "co było we wrześniu?": "2026-09-01..2026-09-30",
        "3 dni temu": "2026-11-27",
        "dwa tygodnie temu": "2026-11-16..2026-11-22",
        "w zeszłym tygodniu": "2026-11-23..2026-11-29",
        "12 marca 2026": "2026-03-12",
        "w zeszłym roku": "2025-01-01..2025-12-31",
        "co było w środę?": "2026-11-25",
    },
    "swedish": {
        "vad gjorde jag igår?": "2026-11-29",
        "vad gjorde jag i förrgår?": "2026-11-28",
        "vad hände i tisdags?": "2026-11-24",
        "förra tisdagen": "2026-11-24",
        "vad hände i mars?": "2026-03-01..2026-03-31",
        "för 3 dagar sedan": "2026-11-27",
        "för två veckor sedan": "2026-11-16..2026-11-22",
        "förra veckan": "2026-11-23..2026-11-29",
        "den 12 mars 2026": "2026-03-12",
        "förra året": "2025-01-01..2025-12-31",
    },
    "greek": {
        "τι έκανα χθες;": "2026-11-29",
        "τι είπα προχθές;": "2026-11-28",
        "την περασμένη τρίτη": "2026-11-24",
        "Τι έγινε την Τρίτη;": "2026-11-24",
        "τι έγινε τον Μάρτιο;": "2026-03-01..2026-03-31",
        "πριν από 3 μέρες": "2026-11-27",
        "πριν δύο εβδομάδες": "2026-11-16..2026-11-22",
        "την προηγούμενη εβδομάδα": "2026-11-23..2026-11-29",
        "12 Μαρτίου 2026": "2026-03-12",
        "πέρσι": "2025-01-01..2025-12-31",
    },
    "ukrainian": {
        "що я робив учора?": "2026-11-29",
        "позавчора": "2026-11-28",
        "минулого вівторка": "2026-11-24",
        "що було у березні?": "2026-03-01..2026-03-31",
        "3 дні тому": "2026-11-27",
        "два тижні тому": "2026-11-16..2026-11-22",
        "минулого тижня": "2026-11-23..2026-11-29",
        "12 березня 2026": "2026-03-12",
        "торік": "2025-01-01..2025-12-31",
        "у п'ятницю що було?": "2026-11-27",
    },
    "arabic": {
        "ماذا فعلت أمس؟": "2026-11-29",
        "أول أمس": "2026-11-28",
        "يوم الثلاثاء الماضي": "2026-11-24",
        "ماذا حدث في مارس؟": "2026-03-01..2026-03-31",
        "قبل ثلاثة أيام": "2026-11-27",
        "قبل 3 أيام": "2026-11-27",
        "قبل أسبوعين": "2026-11-16..2026-11-22",
        "الأسبوع الماضي": "2026-11-23..2026-11-29",
        "الشهر الماضي": "2026-10-01..2026-10-31",
        "12 مارس 2026": "2026-03-12",
        "العام الماضي": "2025-01-01..2025-12-31",
        "٢٠٢٦-٠٣-١٢": "2026-03-12",
    },
    "hebrew": {
        "מה עשיתי אתמול?": "2026-11-29",
        "שלשום": "2026-11-28",
        "מה קרה ביום שלישי?": "2026-11-24",
        "יום שלישי שעבר": "2026-11-24",
        "מה קרה במרץ?": "2026-03-01..2026-03-31",
        "לפני 3 ימים": "2026-11-27",
        "לפני שבועיים": "2026-11-16..2026-11-22",
        "בשבוע שעבר": "2026-11-23..2026-11-29",
        "12 במרץ 2026": "2026-03-12",
        "בשנה שעברה": "2025-01-01..2025-12-31",
    },
    "hindi": {
        "मैंने कल क्या किया?": "2026-11-29",
        "मैं कल क्या करूँगा?": "2026-12-01",
        "परसों क्या हुआ था?": "2026-11-28",
        "पिछले मंगलवार": "2026-11-24",
        "पिछले मंगलवार को क्या हुआ?": "2026-11-24",
        "मार्च में क्या हुआ?": "2026-03-01..2026-03-31",
        "3 दिन पहले": "2026-11-27",
        "दो हफ्ते पहले": "2026-11-16..2026-11-22",
        "पिछले हफ्ते": "2026-11-23..2026-11-29",
        "12 मार्च 2026": "2026-03-12",
        "पिछले साल": "2025-01-01..2025-12-31",
    },
    "thai": {
        "เมื่อวานฉันทำอะไร": "2026-11-29",
        "เมื่อวานซืน": "2026-11-28",
        "วันอังคารที่แล้ว": "2026-11-24",
        "เกิดอะไรขึ้นในเดือนมีนาคมบ้าง": "2026-03-01..2026-03-31",
        "3 วันก่อน": "2026-11-27",
        "สองสัปดาห์ที่แล้ว": "2026-11-16..2026-11-22",
        "12 มีนาคม 2569": "2026-03-12",
        "สัปดาห์ที่แล้ว": "2026-11-23..2026-11-29",
        "ปีที่แล้ว": "2025-01-01..2025-12-31",
    },
    "vietnamese": {
        "hôm qua tôi làm gì?": "2026-11-29",
        "hôm kia": "2026-11-28",
        "thứ ba tuần trước": "2026-11-24",
        "tháng 3 đã xảy ra chuyện gì?": "2026-03-01..2026-03-31",
        "3 ngày trước": "2026-11-27",
        "hai tuần trước": "2026-11-16..2026-11-22",
        "tuần trước": "2026-11-23..2026-11-29",
        "ngày 12 tháng 3 năm 2026": "2026-03-12",
        "tháng 3 năm ngoái": "2025-03-01..2025-03-31",
        "năm ngoái": "2025-01-01..2025-12-31",
    },
}
NO_TIME = [
    "in the sedan I sat",
    "I ordered it from Temu",
    "Mart is open",
    "ocak kapalı mı?",
    "pazar nerede?",
    "Ekim ve Aralık",
    "het dagboek van mei",
    "Mars is a planet",
    "she wrote to Maja",
    "maja har en hund",
    "listopad to mój ulubiony film",
    "i love mars bars",
    "την τρίτη φορά που πήγα",
    "η πέμπτη σελίδα",
    "आजकल क्या चल रहा है",
    "कला की किताब",
    "कलम कहाँ है",
    "मई",
    "thứ hai là gì",
    "lần thứ ba",
    "מרץ רב",
    "שבת בבית",
    "elke dinsdag",
    "her pazartesi ne yapıyorum?",
    "her brother called",
    "κάθε Τρίτη",
    "varje fredag",
    "co tydzień w środę",
    "كل يوم أحد",
    "the week I sailed",
    "let it be 5 years",
    "Dobro jutro, Ana",
    "Kasım ne dedi?",
    "Temmuz is his surname",
    "Nisan is a month",
    "we drove the sedan in 3 hours",
    "2 oda ve 1 salon",
    "Marca es un diario",
    "deze man en zijn hond",
]


def days(text):
    """The days that a question asks for, each span as `first..last`."""
    found = asked(text, TODAY)
    spans = found.spans if found is not None else ()
    return [f"{since}..{until}" if since != until else f"{since}" for since, until in spans]


@pytest.mark.parametrize("language", MEANT)
def test_words_of_twelve_languages_mean_these_days(language):
    assert {text: days(text) for text in MEANT[language]} == {text: [meant] for text, meant in MEANT[language].items()}


@pytest.mark.parametrize("text", NO_TIME)
def test_other_words_of_these_languages_are_no_time(text):
    assert days(text) == []


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("dün", "2026-11-29", "2026-11-29"),
        ("gisteren", "2026-11-29", "2026-11-29"),
        ("wczoraj", "2026-11-29", "2026-11-29"),
        ("χθες", "2026-11-29", "2026-11-29"),
        ("कल", "2026-11-29", "2026-11-29"),
        ("hôm qua", "2026-11-29", "2026-11-29"),
        ("maart", "2026-03-01", "2026-03-31"),
        ("březen", "2026-03-01", "2026-03-31"),
        ("มีนาคม", "2026-03-01", "2026-03-31"),
        ("מרץ", "2026-03-01", "2026-03-31"),
        ("i fjol", "2025-01-01", "2025-12-31"),
        ("3 dagen geleden", "2026-11-27", "2026-11-27"),
    ],
)
def test_a_person_gives_a_date_in_these_languages(text, since, until):
    assert tuple(map(str, read_date(text, TODAY))) == (since, until)


def test_a_memory_is_about_the_day_that_its_word_meant_then():
    assert [str(span.since) for span in about("Dün kiradan konuştuk", date(2026, 3, 2))] == ["2026-03-01"]


@pytest.mark.parametrize(
    "text", ["dün ne yaptım?", "vad gjorde jag igår?", "ماذا فعلت أمس؟", "मैंने कल क्या किया?", "hôm qua tôi làm gì?"]
)
def test_a_question_for_a_time_alone_is_known_for_one(text):
    found = asked(text, TODAY)
    assert found is not None
    assert found.only


def test_a_text_in_english_is_read_by_no_other_table():
    for text in ("what did I say yesterday?", "over 3 days in May", "the last week of March", "let it be, 5 years on"):
        assert times_elsewhere.languages(text) == ()


def test_every_name_of_a_time_is_worth_a_look():
    body = pack_files.table("times-elsewhere")
    rows = [
        row for table in body.values() for name in ("phrases", "weekdays", "months") for row in table[name].values()
    ]
    words = [word for row in rows for word in row.replace("\n", "").split("|")]
    assert len(words) > 800
    assert [word for word in words if not times_asked.may_name(word)] == []
