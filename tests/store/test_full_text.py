"""The full-text index finds what its words say, on both databases, and is in step with the rows."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import text, update

from nanomem_tui.core.operations import new_operation
from nanomem_tui.language.tokens import index_tokens, tokens
from nanomem_tui.store import lookup
from nanomem_tui.store.database import full_text, models
from nanomem_tui.store.database.queries import CoreReading
from nanomem_tui.store.database.reading import SqliteReading
from nanomem_tui.store.item_index import rate
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.store.stores import add, delete, edit
from tests.store.test_reading import Memory

WORDS = {
    "en": "garden coffee meeting deploy python release tuesday sister prefers window quarterly budget sailing violin",
    "de": "Straße Garten Kaffee Besprechung Größe Schwester bevorzugt Fenster Übung Rechnung Bahnhof",
    "fr": "jardin café réunion sœur préfère fenêtre été naïve budget voile",
    "ru": "сад кофе встреча сестра предпочитает окно бюджет скрипка",
    "zh": "女儿 小满 喜欢 咖啡 会议 周二 花园 窗户 预算 提琴 部署",
    "ja": "ダークモード が 好き 会議 コーヒー 庭 窓 予算",
    "th": "ชอบ กาแฟ ดำ สวน ประชุม หน้าต่าง",
    "hi": "बगीचा कॉफ़ी बैठक बहन खिड़की",
    "emoji": "🍕 🎻 ☕ likes pizza",
}


def in_several_languages(number, *, without=()):
    """Texts as people write them, none twice: a few words of one language, sometimes a word of another."""
    dice = random.Random(11)
    languages = [name for name in WORDS if name not in without]
    made: dict[str, None] = {}
    while len(made) < number:
        language = dice.choice([*languages, "en", "en"])
        words = [dice.choice(WORDS[language].split()) for _ in range(dice.randrange(3, 18))]
        words.insert(dice.randrange(len(words)), f"n{dice.randrange(900)}")
        if dice.random() < 0.2:
            words.append(dice.choice(WORDS[dice.choice(languages)].split()))
        made["".join(words) if language in {"zh", "ja", "th"} else " ".join(words)] = None
    return [*made]


def of_the_samples(samples):
    """Every line that the agents of the sample homes wrote into their notes."""
    files = sorted(path for path in samples.rglob("*.md") if path.is_file())
    lines = (line.strip() for path in files for line in path.read_text("utf-8", "replace").splitlines())
    return [*dict.fromkeys(line for line in lines if line)]


def reading_of(store, folder):
    file = folder / "nanomem.db"
    return SqliteReading(file) if file.exists() else CoreReading(store.database.reading)


def found(store, folder, words):
    """The ids that a question finds, best first."""

    def ask(index, _pending):
        terms = tokens(words)
        rows = index.candidates(terms, lambda item: item.enabled)
        rated = rate(rows, dict.fromkeys(terms, 1.0), index.statistics(terms))
        return [one.item.id for one in sorted(rated, key=lambda one: (-one.score, one.item.id))]

    answer = lookup.full_text(Memory(store, reading_of(store, folder)), ask)
    assert answer is not None
    return answer


def fill(store, texts):
    items = [Item(f"a_{number:04}", text, scope_key=str(number)) for number, text in enumerate(texts)]
    store.perform(new_operation("import", "import", [change_of("item", None, item) for item in items]))
    return items


@pytest.mark.parametrize(
    ("query", "key"),
    [("PREFER concise", "a_0000"), ("小满", "a_0001"), ("満", ""), ("กาแฟ", "a_0002"), ("ﾀﾞｰｸ", "a_0003"),
     ("strasse", "a_0004"), ("flush_every_updates", "a_0005"), ('(paren) " *', "a_0006"), ("🍕", "a_0007")],
)  # fmt: skip
def test_words_of_any_script_find_their_memory(store, folder, query, key):
    texts = [
        "User prefers concise replies",
        "女儿小满 2019 年 5 月生",
        "ชอบกาแฟดำ",
        "ダークモードが好き",
        "Straße, NAÏVE",
    ]
    fill(store, [*texts, "flush_every_updates is 8", "quotes \" and ' and -- and \\ (paren)", "likes 🍕"])
    assert found(store, folder, query) == ([key] if key else [])


def test_the_index_is_in_step_with_every_change(store, folder):
    add(store, "a", "likes green tea")
    add(store, "b", "likes black tea")
    edit(store, "a", text="likes coffee")
    assert found(store, folder, "tea") == ["b"]
    delete(store, "b")
    assert found(store, folder, "tea") == []
    store.undo()
    assert found(store, folder, "black tea") == ["b"]
    edit(store, "a", pinned=True)
    assert found(store, folder, "coffee") == ["a"]
    assert full_text.index_state(reading_of(store, folder)) == (2, 2, True)


@pytest.mark.slow
def test_words_beyond_what_a_server_takes_cost_only_themselves(store, folder):
    many = " ".join(f"word{number}" for number in range(200_000))
    fill(store, ["x" * 3_000 + " garden", many + " attic"])
    assert found(store, folder, "garden") == ["a_0000"]
    assert found(store, folder, "word17") == ["a_0001"]


def test_the_nearest_and_the_longer_words_are_those_of_the_rows(store, folder):
    fill(store, ["Grundstücksverkehr", "Grundstücke Grundstücke", "Grundstücke", "violoncello", "o'neill"])
    with reading_of(store, folder).open() as read:
        index = full_text.full_text(read)
        assert index is not None
        assert index.nearest("violoncelo") == "violoncello"
        assert index.nearest("piano") is None
        assert index.longer("grund") == ["grundstuck", "grundstueck", "grundstucksverkehr"]
        assert index.longer("gru") == []
        assert index.statistics(["grundstuck"]).rows_with == {"grundstuck": 2}


def test_an_index_of_another_tokenizer_is_not_asked_and_the_next_writer_makes_it_anew(store, folder, again):
    add(store, "a", "likes green tea")
    add(store, "b", "gone")
    delete(store, "b")
    marker = models.table(models.Marker)
    with store.database.writing(durable=True) as connection:
        connection.execute(update(marker).values(value="0"))
        connection.execute(text("DELETE FROM memory_entries_fts"))
    read = reading_of(store, folder)
    assert lookup.full_text(Memory(store, read), lambda *_: "found") is None
    assert full_text.index_state(read) == (1, 0, False)
    add(again(), "c", "drinks tea")
    assert sorted(found(store, folder, "tea")) == ["a", "c"]
    assert full_text.index_state(read) == (2, 2, True)


@pytest.mark.slow
def test_a_large_index_of_another_tokenizer_is_made_anew_a_part_at_a_time_between_the_changes(store, folder, again):
    many = 2 * full_text.AT_ONCE + 500
    fill(store, [f"tea number {number}" for number in range(many)])
    marker = models.table(models.Marker)
    with store.database.writing(durable=True) as connection:
        connection.execute(update(marker).where(marker.c.key == full_text.MARKER).values(value="0"))
    read, writer = reading_of(store, folder), again()
    edit(writer, "a_4400", text="rum of the first change")
    assert full_text.index_state(read) == (many, full_text.AT_ONCE + 1, False)
    assert lookup.full_text(Memory(store, read), lambda *_: "found") is None
    edit(writer, "a_0001", text="rum of the second change")
    delete(writer, "a_4401")
    assert full_text.index_state(read) == (many - 1, many - 1, True)
    assert sorted(found(store, folder, "rum")) == ["a_0001", "a_4400"]
    assert found(store, folder, "4400") == found(store, folder, "4401") == []
    assert found(store, folder, "4402") == ["a_4402"]


def test_where_the_agents_files_changed_the_index_is_not_asked(store, folder):
    add(store, "a", "likes green tea")
    memory = Memory(store, reading_of(store, folder), database_is_all=False)
    assert lookup.full_text(memory, lambda *_: "found") is None


def test_rows_that_are_loaded_are_given_as_they_are_in_ram(store, folder):
    add(store, "a", "likes green tea")
    store.snapshot.count("item", "a", 5, "2026-03-02T10:00:00+00:00")
    memory = Memory(store, reading_of(store, folder), loaded=True)
    rows = lookup.full_text(memory, lambda index, pending: pending(index.candidates(["tea"], lambda item: True)))
    assert [row.hits for row in rows or []] == [5]


def test_what_is_not_accepted_takes_no_place_from_what_is(store, folder):
    items = fill(store, [f"tea number {number}" for number in range(700)])
    seen: list[str] = []

    def accept(item):
        seen.append(item.id)
        return len(seen) > 690

    rows = lookup.full_text(
        Memory(store, reading_of(store, folder)), lambda index, _: index.candidates(["tea"], accept)
    )
    assert sorted(seen) == [item.id for item in items]
    assert [row.id for row in rows or []] == seen[690:]


def questions(texts, number):
    """Words that are looked for: some of one or two texts, and slips of them."""
    dice = random.Random(5)
    for _ in range(number):
        words = tokens(f"{dice.choice(texts)} {dice.choice(texts)}")
        yield [*dict.fromkeys(dice.sample(words, min(len(words), dice.randrange(1, 6))))] or ["nothing"]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["samples", "generated"])
def test_what_the_index_finds_is_what_a_look_at_every_row_finds(store, folder, samples, source):
    texts = of_the_samples(samples) if source == "samples" else in_several_languages(2_000)
    items = fill(store, texts)
    assert len(items) > 300
    words_of = [set(index_tokens(item.text)) for item in items]
    with reading_of(store, folder).open() as read:
        index = full_text.full_text(read)
        assert index is not None
        compared = 0
        for words in questions(texts, 60):
            held = [item for item, has in zip(items, words_of, strict=True) if has & {*words}]
            if len(held) > full_text.CANDIDATES:
                continue
            weights, statistics = dict.fromkeys(words, 1.0), index.statistics(words)
            assert statistics.rows_with == {word: sum(word in has for has in words_of) for word in words}
            found = rate(index.candidates(words, lambda item: True), weights, statistics)
            assert sorted(one.item.id for one in found) == sorted(item.id for item in held), words
            compared += 1
        assert compared > 10
