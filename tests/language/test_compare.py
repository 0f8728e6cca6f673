"""Two statements are the same, a newer value, a denial, different, or for a person to ask about: in ten languages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui.language.statements import compare
from nanomem_tui.language.statements.compare import compared, holds, least_holding

ROOT = Path(__file__).resolve().parents[2]
HARMFUL = {"same", "newer", "denial"}
SURE = [
    # the same in other words
    ("I live in Porto", "i live in porto.", "same"),
    ("My sister works in Madrid.", "Madrid is where my sister is working.", "same"),
    ("The mill is 4 km from the church.", "it's 4000 m from the church to the mill", "same"),
    ("The budget is 1,500 euros.", "budget: 1500 EUR", "same"),
    ("Meine Frau arbeitet in Bonn.", "In Bonn arbeitet meine Frau.", "same"),
    ("La réunion est à 15h30.", "Réunion à 15:30", "same"),
    ("Я живу в Самаре.", "Живу в Самаре.", "same"),
    ("我對花生過敏", "花生會讓我過敏", "same"),
    # another value of one thing
    ("The dentist is on Monday at nine.", "the dentist was moved to Wednesday at ten", "newer"),
    ("We deploy with Jenkins.", "since March we deploy with Argo instead of Jenkins", "newer"),
    ("Der Kurs ist am Montag.", "Der Kurs wurde auf Mittwoch verlegt.", "newer"),
    ("El alquiler es de 600 €.", "Desde enero el alquiler sube a 650 €.", "newer"),
    ("Le loyer est de 600 €.", "Depuis mars le loyer est de 650 €.", "newer"),
    ("O aluguel é de 900 reais.", "O aluguel passou para 980 reais.", "newer"),
    ("Репетиция по средам.", "Репетицию перенесли на пятницу.", "newer"),
    # not so, and nothing in its place
    ("I live in Porto", "I don't live in Porto any more", "denial"),
    ("Rita has a dog", "Rita never had a dog", "denial"),
    ("We sell candles.", "We don't sell candles any more.", "denial"),
    ("Wir haben einen Hund.", "Wir haben keinen Hund mehr.", "denial"),
    ("Toco el piano.", "Ya no toco el piano.", "denial"),
    ("Le magasin accepte les cartes.", "Non, le magasin n'accepte pas les cartes.", "denial"),
    ("Tenho um cachorro.", "Não tenho mais cachorro.", "denial"),
    ("Ho una moto.", "Non ho più la moto.", "denial"),
    ("Я курю.", "Я больше не курю.", "denial"),
    ("駐車場があります。", "駐車場はありません。", "denial"),
    ("우리 집에 개가 있다.", "우리 집에 개가 없다.", "denial"),
    ("我在学法语", "我没在学法语", "denial"),
]
APART = [
    ("My sister lives in Ghent.", "My brother lives in Ghent."),
    ("The staging server is in Oslo.", "The production server is in Turin."),
    ("Rita lives in Zurich.", "I collect stamps."),
    ("My office is on floor two.", "My flat is on floor five."),
    ("I speak English.", "I also speak Greek."),
    ("Take 5 mg in the morning.", "Take 10 mg in the evening."),
    ("I lived in Rome.", "I live in Milan."),
    ("I owe Lars 50.", "Lars owes me 50."),
    ("The boat needs paint.", "Our cat is afraid of thunder."),
    ("Meine Mutter ist Lehrerin.", "Mein Vater ist Lehrer."),
    ("Mi hermano vive en Cádiz.", "Mi hermana vive en Cádiz."),
    ("Ma mère a un jardin.", "Mon père a un jardin."),
    ("Minha mãe mora em Natal.", "Meu pai mora em Natal."),
    ("Mia madre è medico.", "Mio padre è medico."),
    ("Моя сестра живёт в Туле.", "Мой брат живёт в Туле."),
    ("父は医者です。", "母は医者です。"),
    ("아버지는 의사다.", "어머니는 의사다."),
    ("我爸血压高", "我妈血压高"),
    ("我不吃羊肉", "我女儿不吃牛肉"),
]
"""Pairs of which nothing may be given up."""
DENIED = [
    ("I eat meat", "I don't eat meat"),
    ("call before 9", "don't call before 9"),
    ("Ich rauche", "Ich rauche nicht"),
    ("Como carne", "No como carne"),
    ("Je bois du café", "Je ne bois pas de café"),
    ("Como carne de porco", "Não como carne de porco"),
    ("Mangio pesce", "Non mangio pesce"),
    ("Я ем мясо", "Я не ем мясо"),
    ("肉を食べる", "肉を食べない"),
    ("나는 고기를 먹는다", "나는 고기를 안 먹는다"),
    ("我吃辣", "我不吃辣"),
]
VALUES = [
    ("The fee is 25 EUR", "The fee is 25 USD"),
    ("The cold store is at -18 °C", "The cold store is at 18 °C"),
    ("The dose is 5 mg", "The dose is 5 ml"),
    ("The meeting is at 10", "The meeting is at 11"),
    ("Das Seil ist 3 m lang", "Das Seil ist 3 km lang"),
    ("票价八十元", "票价九十元"),
    ("回線は100 GB", "回線は100 MB"),
]


@pytest.mark.parametrize(("a", "b", "relation"), SURE)
def test_a_plain_pair_is_what_anybody_would_call_it(a, b, relation):
    shares = compare.shares_of(a, b)
    assert max(shares, key=shares.__getitem__) == relation, shares
    assert compared(a, b).relation in (relation, "unsure"), shares


@pytest.mark.parametrize(("a", "b"), APART)
def test_both_statements_stay_where_each_holds(a, b):
    assert compared(a, b).relation not in HARMFUL, compare.shares_of(a, b)


@pytest.mark.parametrize(("a", "b"), DENIED)
def test_a_statement_is_never_the_same_as_its_denial(a, b):
    assert compare.shares_of(a, b)["same"] == 0
    assert compare.shares_of(b, a)["same"] == 0


@pytest.mark.parametrize(("a", "b"), VALUES)
def test_two_statements_with_other_values_are_never_the_same(a, b):
    assert compare.shares_of(a, b)["same"] == 0
    assert compare.shares_of(b, a)["same"] == 0


@pytest.mark.parametrize(("a", "b"), [pair for pair in APART if compare.shares_of(*pair)["newer"] == 0])
def test_other_people_take_no_place(a, b):
    shares = compare.shares_of(a, b)
    assert {shares["same"], shares["newer"], shares["denial"]} == {0}


def test_most_pairs_of_other_family_are_barred_by_rule():
    family = APART[:1] + APART[9:18]
    assert all(compare.shares_of(*pair)["newer"] == 0 for pair in family)


@pytest.mark.parametrize("text", ["I live in Porto", "Мы не едим мясо", "会議は10時から", "", "?", "12", "a " * 2000])
def test_a_text_is_the_same_as_itself(text):
    assert compared(text, text) == ("same", 1.0)


def test_a_question_is_not_the_same_as_a_statement():
    assert compared("I live in Porto.", "I live in Porto?").relation != "same"


def test_shares_are_between_nothing_and_one():
    for a, b, _ in SURE:
        shares = compare.shares_of(a, b)
        assert set(shares) == set(compare.RELATIONS)
        assert abs(sum(shares.values()) - 1) < 1e-6
        assert 0 <= compared(a, b).share <= 1


HELD = [
    ("Club: the fee goes up to 85 in July. Then talked about the boat.", "The club fee goes up to 85 in July."),
    (
        "Long talk about the kitchen. In the end they settled on oak for the floor.",
        "They settled on oak for the floor.",
    ),
    ("Das Fest wurde auf den 10. Mai verlegt, sagt Anna.", "Das Fest ist am 10. Mai."),
    ("用户：我们决定日志保留30天。", "日志保留30天"),
]
UNHELD = [
    ("User asked whether the blog should go to Astro.", "The blog goes to Astro."),
    ("The freezer is set to -18 degrees.", "The freezer is set to 18 degrees."),
    ("The fee is 85 from July.", "The fee is 58 from July."),
    ("My brother is allergic to nuts.", "User is allergic to nuts."),
    ("Er verträgt kein Penicillin mehr.", "Er verträgt Penicillin."),
    ("Preguntó si el perro puede comer uvas.", "El perro puede comer uvas."),
    ("On ne chauffe plus la chambre.", "La chambre est chauffée."),
    ("Some of the parents want a trip to Wales.", "All parents want a trip to Wales."),
    ("用户说他不再给超市供货。", "用户给超市供货"),
    ("犬にぶどうをあげていいか聞いた。", "犬にぶどうをあげている。"),
]


@pytest.mark.parametrize(("entry", "line"), UNHELD)
def test_an_entry_does_not_hold_what_it_does_not_say(entry, line):
    assert holds(entry, line) < least_holding()


@pytest.mark.parametrize(("entry", "line"), HELD)
def test_an_entry_holds_what_it_says_plainly(entry, line):
    assert holds(entry, line) > 0.5


@pytest.mark.slow
def test_the_packs_are_made_of_what_is_taught():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "language" / "teach_pairs.py", "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_is_taught_is_none_of_what_is_measured():
    def texts(folder, pattern):
        found = set()
        for path in folder.glob(pattern):
            for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                pair = (line["a"], line["b"]) if "a" in line else (line["entry"], line["line"])
                found.add("\n".join(pair).lower())
        return found

    for kind in ("pairs", "evidence"):
        taught = texts(ROOT / "scripts" / "language" / "taught", f"{kind}-*.jsonl")
        for half in ("open", "sealed"):
            assert not taught & texts(ROOT / "tests" / "data" / "language" / half, f"{kind}-*.jsonl")


STRANGE = [
    "I live in Porto.", "The backup runs at two.", "Rita has a dog.", "We sell candles.", "My office is on floor two.",
    "Answer in German, please.", "The boat needs new paint.", "I don't eat fish any more.", "The fee is 25 euros now.",
    "Our coach moved to Leeds.", "Nobody uses the old printer.", "The exam was moved to June.",
]  # fmt: skip


def test_what_has_nothing_to_do_with_another_takes_no_place():
    found = {(a, b): compared(a, b) for a in STRANGE for b in STRANGE if a != b}
    assert not {pair: one for pair, one in found.items() if one.relation in HARMFUL}
