"""Recall of what is written in one way and asked for in another: as one word or two, with or without separators, in
letters with or without marks, in traditional or simplified characters; from RAM and from the database."""

import contextlib
import sqlite3
import time

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import pack_files
from nanomem_tui.language.tokens import TAIL, index_tokens, is_part, query_words
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.store.database.full_text import AT_ONCE
from tests.store.homes import make_home

SHARES_A_HOME = True

ASKED = [
    ("The wi-fi in the cabin is slow", "wifi"),
    ("Set up VS Code on the laptop", "vscode"),
    ("gitlab runs on the box in the attic", "git lab"),
    ("e-mail goes through mail.example.org", "email"),
    ("Call get_user_profile_by_id() first", "getUserProfileById"),
    ("fetchInvoiceTotals() returns cents", "invoice totals"),
    ("parse-feed-entries drops the year", "parseFeedEntries"),
    ("Turnover was 1234567 yen", "1,234,567"),
    ("The loan is 2,450,000 crowns", "2450000"),
    ("The plumber: +44 20 7946 0958", "+442079460958"),
    ("The electrician: (020) 7946-0123", "+44 20 7946 0123"),
    ("the on-call rota", "oncall"),
    ("The whiteboard pens are in the drawer", "white board"),
    ("Her note book is green", "notebook"),
    ("The server is at 192.168.1.10", "192.168.1.10"),
    ("Łódź is her hometown", "lodz"),
    ("Søren plays the cello", "soren"),
    ("Đorđe repairs clocks", "dorde"),
    ("The favourite colour of Ilse is dark green", "what is her favorite color?"),
    ("The fitness center is closed on Sundays", "fitness centre"),
    ("The dermatologist: +49 171 2345678", "00491712345678"),
    ("Frau Müller has the key", "Mueller"),
    ("Herr Jaeger mows the lawn", "Jäger"),
    ("他在體育館打羽毛球", "体育馆"),
    ("周末去图书馆", "圖書館"),
    ("اشترى الكتاب من دمشق", "كتاب"),
    ("היא אוהבת את הספר", "ספר"),
    ("הילדים בגינה", "ילדים"),
]
ASKED_ELSEWHERE = [
    ("Le chiavi dell'ufficio sono da Luca", "ufficio"),
    ("L'ombrello è all'ingresso", "dov'è l'ombrello?"),
    ("Quest’estate andiamo in Grecia", "estate"),
    ("Un'amica lavora in banca", "amica"),
    ("Sant'Agnese è la sua parrocchia", "Agnese"),
    ("Le bail court jusqu'octobre", "octobre"),
    ("Lorsqu’Anaïs vient, on mange du riz", "Anaïs"),
    ("L'arròs és bo", "arròs"),
    ("D'Angelo is the optician", "dangelo"),
    ("O'Brien is the tiler", "O’Brien"),
    ("الرمز ٠٥٦٣", "0563"),
    ("कोड ९८७६", "9876"),
    ("The safe: 4477", "٤٤٧٧"),
    ("The account is DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
    ("Tax account: GB82 WEST 1234 5698 7654 32", "GB82WEST12345698765432"),
    ("Ljiljana Đorđević keeps bees", "Djordjevic"),
    ("他是軟體工程師", "软件"),
    ("Die Haustürschlüssel liegen im Flur", "Schlüssel"),
    ("Die Winterreifen sind im Keller", "wo sind die Reifen?"),
    ("Das Kinderzimmer wird blau", "Zimmer"),
    ("De fietssleutels liggen boven", "sleutels"),
    ("Skolresan går till Lund", "resa"),
    ("Hundevalpen heter Bamse", "valp"),
    ("Kirjahylly tulee Ikeasta", "hylly"),
]


@pytest.mark.parametrize(
    "told",
    [
        "Notification settings are stored in the database",
        "Il calendario della parrocchia è nell'ingresso",
        "Çalışma odasının anahtarı komşuda",
    ],
)
def test_only_languages_that_join_words_have_them_found_by_their_tail(told):
    tails = {part[:-1] for part in index_tokens(told) if is_part(part) and len(part) == 1 + TAIL}
    assert not tails


@pytest.fixture(scope="module")
def ws(tmp_path_factory):
    with open_workspace(filled(tmp_path_factory.mktemp("spellings"), ASKED)) as made:
        yield made


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    with open_workspace(filled(tmp_path_factory.mktemp("elsewhere"), ASKED_ELSEWHERE)) as made:
        yield made


def filled(base, told):
    """A home whose database holds what was told."""
    workspace = make_home(base, items=0)
    with open_workspace(workspace) as ws:
        for text, _ in told:
            ws.items.add(text)
        ws.flush()
    return workspace


@pytest.mark.parametrize("backend", ["ram", "sqlite_fts"])
@pytest.mark.parametrize(("told", "asked"), ASKED)
def test_what_is_spelt_in_another_way_is_the_first_hit(ws, told, asked, backend):
    assert first_hit(ws, asked, backend) == [told]


@pytest.mark.parametrize("backend", ["ram", "sqlite_fts"])
@pytest.mark.parametrize(("told", "asked"), ASKED_ELSEWHERE)
def test_what_other_languages_join_or_write_in_their_own_signs_is_the_first_hit(elsewhere, told, asked, backend):
    assert first_hit(elsewhere, asked, backend) == [told]


def first_hit(ws, asked, backend):
    """The text of the first memory that a question finds in one of the two indexes."""
    recall = Recall(ws.store, Settings(recall_backend=backend))
    if backend == "ram":
        recall.warm(background=False)
    recalled = recall.ask(Question(asked))
    assert recalled.backend == backend
    return [hit.item.text for hit in recalled.hits][:1]


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ("wifi", ["wifi"]),
        ("get user profile by id", ["get", "id", "profil", "user"]),
        ("أين كتابي", ["كتاب"]),
    ],
)
def test_what_was_found_is_told_in_words_that_a_person_reads(ws, asked, terms):
    found = Recall(ws.store, Settings(recall_backend="ram")).ask(Question(asked, whole=True)).hits
    assert found[0].parts["terms"] == terms
    assert "alike" not in found[0].parts


def test_a_word_that_stands_for_another_is_told_with_it(tmp_path):
    with open_workspace(make_home(tmp_path, items=0)) as ws:
        ws.items.add("We bought a cot for the daughter")
        (hit,) = ws.recall.ask(Question("where does my kid sleep?")).hits
    assert (hit.parts["terms"], hit.parts["alike"]) == (["daughter"], {"daughter": "kid"})


@pytest.mark.parametrize("greeting", ["Good morning!", "早上好！", "Guten Morgen", "thanks so much 🙏", "доброе утро"])
def test_a_greeting_brings_no_memory_with_it(tmp_path, greeting):
    with open_workspace(make_home(tmp_path, items=0)) as ws:
        ws.items.add("Yoga every morning, early; thanks to Ines. 早上好喝咖啡。 Morgen ist Yoga. Доброе утро с йогой")
        found = ws.recall.ask(Question(greeting))
        assert not found.hits
        assert all(cut.is_unrelated for cut in found.cut)


def test_two_words_of_a_question_are_not_one_that_nobody_wrote(tmp_path):
    with open_workspace(make_home(tmp_path, items=0)) as ws:
        ws.items.add("The garden gate squeaks")
        found = ws.recall.ask(Question("garden gate"))
    assert found.words == ("garden", "gate")
    assert not found.corrected


def test_the_small_words_with_accents_are_kept_as_they_are_read_too():
    words = {word for word, codes in pack_files.table("words").items() if "en" not in codes}
    words.update(pack_files.table("tokens")["small_words"].split())
    accented = [word for word in words if not (word.isascii() and word.isalpha())]
    read = {run for word in accented for run in query_words(word).values() if len(run) > 1}
    assert read == pack_files.words("tokens", "folded")


KEY = "The cellar key hangs behind the boiler"


@pytest.mark.slow
@pytest.mark.sqlite
def test_an_index_of_an_older_version_is_made_anew_in_the_background_and_recall_answers_meanwhile(
    tmp_path,
):
    workspace = make_home(tmp_path, items=AT_ONCE + 200)
    with open_workspace(workspace) as ws:
        ws.items.add(KEY)
        ws.flush()
        file = ws.paths.database
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE memory_meta SET value = '1' WHERE key = 'tokens'")
    with open_workspace(workspace) as ws:
        before = ws.store.journal.count()
        ws.start_checkpoints()
        assert [hit.item.text for hit in ws.recall.ask(Question("where is the cellar key?")).hits] == [KEY]
        until = time.monotonic() + 60
        while not ws.store.index_state().current and time.monotonic() < until:
            time.sleep(0.05)
        assert ws.store.index_state() == (AT_ONCE + 201, AT_ONCE + 201, True)
        assert ws.store.journal.count() == before
    with open_workspace(workspace) as ws:
        recalled = ws.recall.ask(Question("where is the cellar key?"))
    assert [hit.item.text for hit in recalled.hits] == [KEY]
    assert recalled.backend == "sqlite_fts"
