"""Attributes that people plainly say of themselves, in ten languages, and what says none; how much of it is found."""

import json
from pathlib import Path
from string import Formatter

import pytest

from nanomem_tui.language.statements.attributes import (
    attributes,
    clauses,
    confirmed,
    ended,
    is_one_statement,
    is_yes,
    pack,
)
from tests.facts.talking import facts_in

OPEN = Path(__file__).resolve().parents[1] / "data" / "language" / "open"
LABELS = [
    json.loads(line) for path in sorted(OPEN.glob("facts-*.jsonl")) for line in path.read_text("utf-8").splitlines()
]
TAUGHT = Path(__file__).resolve().parents[2] / "scripts" / "language" / "taught"
FOUND = {"en": 0.58, "en2": 0.9, "zh": 0.8, "zh2": 0.9, "more": 0.55}
"""How much is found of what people say in passing, in words of their own (`taught/facts-*.jsonl`)."""
LANGUAGES = ("de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh")
SAID = [
    ("en", "My daughter Lily starts school in August.", ("Family", "daughter's name", "Lily")),
    ("en", "I take 50 mg of sertraline daily.", ("Health", "sertraline", "takes")),
    ("en", "I've switched from Vim to Helix.", ("Tools", "Helix", "uses")),
    ("de", "Wir sind letzten Monat nach Dresden gezogen.", ("Home", "wohnt in", "Dresden")),
    ("de", "Meine Lieblingsfarbe ist Grün.", ("Preferences", "Lieblingsfarbe", "Grün")),
    ("es", "Soy enfermera.", ("Work", "profesión", "enfermera")),
    ("es", "No me gusta el cilantro.", ("Preferences", "cilantro", "no le gusta")),
    ("fr", "Je ne mange pas de porc.", ("Health", "porc", "ne mange pas")),
    ("pt", "Eu moro em Porto Alegre há dois anos.", ("Home", "mora em", "Porto Alegre")),
    ("it", "Il mio compleanno è il 2 giugno.", ("Identity", "compleanno", "2 giugno")),
    ("ru", "Я пользуюсь Firefox.", ("Tools", "Firefox", "использует")),
    ("ja", "私は看護師です。", ("Work", "職業", "看護師")),
    ("ja", "猫を二匹飼っています。", ("Pets", "猫", "二匹")),
    ("ko", "네이버에서 일해요.", ("Work", "직장", "네이버")),
    ("zh", "我毕业于复旦大学。", ("Education", "学校", "复旦大学")),
    ("zh", "我對花生過敏", ("Allergies", "花生", "過敏")),
]
ENDED = [
    ("en", "I quit my job at Acme", ("works at", "Acme")),
    ("de", "Ich wohne nicht mehr in Bonn", ("wohnt in", "Bonn")),
    ("es", "Ya no trabajo en Iberdrola", ("trabaja en", "Iberdrola")),
    ("fr", "Je ne travaille plus chez Orange", ("travaille chez", "Orange")),
    ("pt", "Já não moro em Recife", ("mora em", "Recife")),
    ("it", "Non vivo più a Pisa", ("vive a", "Pisa")),
    ("ru", "Я больше не живу в Казани", ("живёт в", "Казани")),
    ("zh", "我不再住在北京了", ("住在", "北京")),
    ("ja", "もう横浜に住んでいません", ("住まい", "横浜")),
    ("ko", "이제 서울에 안 살아요", ("사는 곳", "서울")),
]
OF_NOBODY = [
    ("My sister is vegan and lives in Oslo.", "vegan"),
    ("My aunt is allergic to wasps and her cat is called Tom.", "wasps"),
    ("Mein Bruder wohnt in Kiel.", "Kiel"),
    ("我妈妈住在长沙。", "长沙"),
    ("我老婆叫陈静，今年五岁。", "五岁"),
    ("I live in Oslo, right?", "Oslo"),
    ("我住在北京，对吗？", "北京"),
    ("remember this for a sec: 4, 17, 23. Now multiply them", "17"),
    ("For the persona use: my name is Kim, I live in Seoul.", "Seoul"),
    ("Everything I do is for my dog. He lives in Rome.", "Rome"),
]


@pytest.mark.parametrize(("language", "text", "fact"), SAID, ids=[text for _, text, _ in SAID])
def test_a_plain_statement_gives_an_attribute_and_its_value(language, text, fact):
    wanted = (fact[0], fact[1], fact[2])
    found = [(one.category, one.key, one.value) for one in attributes(text, language)]
    assert found in ([wanted], [(*wanted[:2], wanted[2].replace("過", "过"))])
    assert [(one.category, one.key) for one in facts_in(text)] == [wanted[:2]]


@pytest.mark.parametrize(("language", "text", "fact"), ENDED, ids=[text for _, text, _ in ENDED])
def test_what_is_so_no_longer_names_what_was_so(language, text, fact):
    assert fact in [(one.key, one.value) for one in ended(text, language)]
    assert attributes(text, language) == []


@pytest.mark.parametrize(("text", "value"), OF_NOBODY)
def test_nothing_is_said_of_who_only_asks_or_tells_of_others(text, value):
    assert [one for one in facts_in(text) if value in one.value or value in one.key] == []


def test_a_clause_goes_on_about_its_own_subject_alone():
    assert clauses("I live in Berlin and work at Siemens", "en") == ["I live in Berlin", "I work at Siemens"]
    assert clauses("我女儿叫小满，今年五岁", "zh") == ["我女儿叫小满", "今年五岁"]
    assert clauses("Mi hermana vive en Lugo y trabajo en Vigo", "es") == ["Mi hermana vive en Lugo", "trabajo en Vigo"]


def test_one_statement_is_told_from_several():
    assert is_one_statement("My name is Luka", "en")
    assert is_one_statement("My name is not Olga, it's Elena", "en")
    assert not is_one_statement("they sang: my name is Luka", "en")
    assert not is_one_statement("My name is Luka and I live in Oslo", "en")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("So you live in Porto, right?", "I live in Porto"),
        ("Du wohnst in Kiel, oder?", "ich wohne in Kiel"),
        ("¿Vives en Lugo?", ""),
        ("Tu habites à Brest, c'est ça ?", "j'habite à Brest"),
        ("你住在南京，对吗？", "我住在南京"),
        ("Nice to meet you.", ""),
    ],
)
def test_a_yes_says_what_the_question_asked(question, says):
    assert says in confirmed(question)
    assert bool(confirmed(question)) >= bool(says)


@pytest.mark.parametrize("text", ["yes", "Ja, genau!", "sí", "oui", "да, верно", "对的", "はい", "네"])
def test_a_plain_yes_is_known_in_each_language(text):
    assert is_yes(text)
    assert not is_yes(f"{text} 42")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_frame_of_a_language_can_be_read(language):
    words = pack(language)
    frames = [*words.frames("frames"), *words.frames("asked")]
    assert len(frames) >= 25
    for frame in frames:
        assert frame.key
        assert frame.value
        shown = {name for shape in (frame.key, frame.value) for _, name, _, _ in Formatter().parse(shape) if name}
        assert shown <= {*frame.sentence.groupindex}, "what it says stands in its sentence"
    assert words.ends


@pytest.mark.slow
def test_nearly_all_that_is_plainly_said_is_found_and_next_to_nothing_is_invented():
    said, found, invented = 0, 0, 0
    for label in LABELS:
        proposed = [f"{one.category} {one.text}" for one in facts_in(label["text"], label["before"])]
        said += len(label["facts"])
        found += sum(any(_says(text, one) for text in proposed) for one in label["facts"])
        true = [*label["facts"], *label.get("may", [])]
        invented += sum(not any(_says(text, one) for one in true) for text in proposed)
    assert said >= 100
    assert found >= 0.95 * said
    assert invented <= 3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), FOUND.items())
def test_what_is_said_in_passing_is_found_and_next_to_nothing_else(name, least):
    labels = [json.loads(line) for line in (TAUGHT / f"facts-{name}.jsonl").read_text("utf-8").splitlines()]
    said, found, proposed, invented = 0, 0, 0, 0
    for label in labels:
        texts = [f"{one.category} {one.text}" for one in facts_in(label["text"], label.get("before", ""))]
        said += len(label["facts"])
        found += sum(any(_says(text, one) for text in texts) for one in label["facts"])
        proposed += len(texts)
        values = [one["value"].lower().split("|") for one in (*label["facts"], *label.get("may", []))]
        invented += sum(not any(word in text.lower() for value in values for word in value) for text in texts)
    assert found >= least * said
    assert invented <= 0.05 * proposed


def test_a_phrase_in_passing_is_of_the_one_who_speaks():
    said = attributes("been vegan since uni, living in Ghent these days", "en")
    assert {(one.key, one.value) for one in said} == {("diet", "vegan"), ("lives in", "Ghent")}
    assert attributes("my sister, based in Ghent, is vegan", "en") == []
    assert attributes("I'm not based in Ghent", "en") == []
    assert attributes("she said I'm allergic to nuts", "en") == []
    said = attributes("My husband Raj is a GP and our cat Tom is old", "en")
    assert [(one.key, one.value) for one in said] == [("husband's name", "Raj"), ("cat's name", "Tom")]


def _says(text, fact):
    return all(any(word in text.lower() for word in fact[part].lower().split("|")) for part in ("key", "value"))
