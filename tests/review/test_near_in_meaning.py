"""Items that say the same in other words are found by their vectors, and are never sure."""

from nanomem_tui import open_workspace
from nanomem_tui.review.duplicates import Duplicates, NearInMeaning
from nanomem_tui.review.pairs import Pairs
from nanomem_tui.vectors.semantic_search import SemanticSearch
from tests.vectors.fakes import Words, unavailable


class SameSense(Words):
    """Knows that some words mean the same."""

    def vector(self, text):
        for word, meant in (("manager", "boss"), ("evening", "morning"), ("茶", "boss")):
            text = text.replace(word, meant)
        return super().vector(text)


class Strangers(Pairs):
    """Finds nothing by shared words."""

    def all(self):
        return []


def duplicates(ws, senses):
    meaning = SemanticSearch(ws.store, ws.settings, lambda: senses)
    return Duplicates(ws.store, dict, ws.perform, NearInMeaning(lambda: meaning), Strangers(ws.store))


def test_other_words_for_the_same_are_shown_and_need_a_look(tmp_path):
    with open_workspace(tmp_path) as ws:
        for text in ("The boss of the harbour office is kind", "The manager of the harbour office is kind"):
            ws.items.add(text)
        ws.items.add("The bike needs a new chain")

        (cluster,) = duplicates(ws, SameSense()).clusters()

        assert (cluster.grade, cluster.sure, len(cluster.items)) == ("meaning", False, 2)
        assert "alike in meaning" in cluster.why


def test_what_the_judge_parts_no_vector_brings_together(tmp_path):
    with open_workspace(tmp_path) as ws:
        for text in ("The ferry leaves in the morning", "The ferry leaves in the evening", "Ana likes the boss of Ben"):
            ws.items.add(text)
        ws.items.add("Ana does not like the boss of Ben")

        assert duplicates(ws, SameSense()).clusters() == []


def test_what_the_model_cannot_read_is_left_alone(tmp_path):
    with open_workspace(tmp_path) as ws:
        ws.items.add("经理喝绿茶")
        ws.items.add("老板喝绿水")

        assert duplicates(ws, SameSense("all-MiniLM-L6-v2")).clusters() == []


def test_without_a_model_there_is_what_the_words_tell(tmp_path):
    senses = SameSense()
    senses.broken = unavailable()
    with open_workspace(tmp_path) as ws:
        for text in ("The boss is kind", "The manager is kind", "the boss is kind"):
            ws.items.add(text)

        assert [one.grade for one in duplicates(ws, senses).clusters()] == ["same"]
