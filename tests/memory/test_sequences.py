"""Recall over ordered sources: what stands around a passage, who speaks, and what the question waits for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.language import cues
from nanomem_tui.memory.recall.passages import OrderedRecall, Passage


def talk(*lines, session="s1", at="2023-05-08"):
    """Passages from `Name: text`."""
    return [
        Passage(f"{session}:{n}", line.partition(": ")[2], session, line.partition(": ")[0], at)
        for n, line in enumerate(lines)
    ]


def best(recall, query, limit=20):
    return [hit.passage.key for hit in recall.search(query, limit)]


FILLER = talk(*(f"Ann: nothing about number {n} at all" for n in range(30)), session="filler")


def test_the_answer_behind_a_question_is_found_without_a_word_in_common():
    recall = OrderedRecall(
        [*FILLER, *talk("Ann: Where did you adopt the puppy?", "Bob: At the shelter downtown.", "Ann: How sweet.")]
    )
    assert best(recall, "Where did Bob adopt his puppy?")[0] == "s1:1"


def test_neighbours_count_within_their_session_only():
    recall = OrderedRecall(
        [
            *talk("Ann: the zebra ran", session="a"),
            *talk("Ann: something else", session="b"),
            *talk("Ann: and it was striped", session="a2"),
        ]
    )
    recall.add(Passage("late", "it was striped", "a", "Ann"))
    assert best(recall, "zebra") == ["a:0", "late"]


def test_mixed_sessions_keep_their_own_order():
    recall = OrderedRecall()
    for number in range(4):
        recall.add(Passage(f"x{number}", "zebra" if number == 0 else "plain", "x"))
        recall.add(Passage(f"y{number}", "plain", "y"))
    assert set(best(recall, "zebra")) == {"x0", "x1", "x2"}


def test_the_speaker_that_the_question_names_comes_first():
    recall = OrderedRecall(
        [*FILLER, *talk("Ann: I love pottery", "Cid: ok", "Cid: so", "Cid: hm", "Bob: I love pottery")]
    )
    assert best(recall, "What does Bob love about pottery?")[0] == "s1:4"
    assert best(recall, "What does Ann love about pottery?")[0] == "s1:0"
    assert best(recall, "What does Bbo love? And pottery, Bobb?")[0] in ("s1:4", "s1:0")


def test_a_question_about_time_prefers_what_tells_one():
    lines = ["Ann: We visited the museum, great", *["Cid: ok"] * 5, "Ann: We visited the museum yesterday"]
    recall = OrderedRecall([*FILLER, *talk(*lines)])
    assert best(recall, "When did they visit the museum?")[0] == "s1:6"


def test_the_day_of_the_question_finds_its_session_without_a_word_in_common():
    recall = OrderedRecall(
        [
            *talk("Ann: we went hiking", session="may", at="2023-05-07T10:00:00"),
            *talk("Ann: we went sailing", session="june", at="2023-06-07T10:00:00"),
        ]
    )
    assert best(recall, "What happened on 7 May 2023?")[0] == "may:0"
    assert recall.sessions("What happened on June 7, 2023?")[0][0] == "june"
    assert recall.search("What may happen?") == []


def test_a_question_of_names_alone_finds_where_they_are_called():
    recall = OrderedRecall(talk("Ann: hello Bob", "Bob: hi", "Ann: bye"))
    assert set(best(recall, "Bob?", 2)) == {"s1:0", "s1:1"}


def test_slips_and_words_of_one_root_are_found():
    recall = OrderedRecall([*FILLER, *talk("Ann: my counselor helped", "Ann: tea")])
    assert best(recall, "counselling")[0] == "s1:0"
    assert best(recall, "conselor")[0] == "s1:0"


def test_the_parts_sum_up_to_the_score():
    recall = OrderedRecall([*FILLER, *talk("Ann: Did you see the zebra?", "Bob: Yes, yesterday", "Ann: zebra it is")])
    hits = recall.search("When did Bob see the zebra?")
    assert hits
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.parts.values()))
        assert set(hit.parts) == {"words", "near", "session", "length", "cues"}
    assert hits == sorted(hits, key=lambda hit: -hit.score)


def test_sessions_are_ranked_by_their_best_passages():
    recall = OrderedRecall([*FILLER, *talk("Ann: the zebra", "Ann: zebra food", session="zoo")])
    assert recall.sessions("zebra food", 1)[0][0] == "zoo"
    assert recall.sessions("unheard", 5) == []


def test_chinese_is_found_by_two_characters_and_by_a_question():
    recall = OrderedRecall(
        [Passage("a", "我女儿小满五月出生"), Passage("b", "今天天气很好"), Passage("c", "咖啡不加糖")]
    )
    assert best(recall, "小满")[0] == "a"
    assert best(recall, "女儿是什么时候出生的？")[0] == "a"


@given(
    st.lists(st.tuples(st.sampled_from(["tea?", "dog", "tea dog", "", "小满"]), st.sampled_from("ab"))),
    st.text(max_size=30),
)
def test_no_question_breaks_it_and_only_what_is_there_is_found(rows, query):
    recall = OrderedRecall(Passage(str(n), text, session, "Ann") for n, (text, session) in enumerate(rows))
    found = best(recall, query)
    assert len(found) == len(set(found)) <= len(rows)
    assert len(recall) == len(rows)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("Did you go?", cues.QUESTION),
        ("Really? I did not know.", 0),
        ("Look at this? [shares a photo of a dog]", cues.QUESTION),
        ("你好吗？", cues.QUESTION),
        ("I went yesterday", cues.TIME),
        ("last week on Monday", cues.TIMES),
        ("昨天和上周", cues.TIMES),
        ("", 0),
    ],
)
def test_a_text_has_a_shape(text, shape):
    assert cues.shape(text) == shape


@pytest.mark.parametrize(
    ("question", "time", "months", "days", "years"),
    [
        ("When did she leave?", True, set(), set(), set()),
        ("In which month was it?", True, set(), set(), set()),
        ("What happened on 7 May 2023?", False, {5}, {7}, {2023}),
        ("May I ask what she did in march?", False, {3}, set(), set()),
        ("What did the march of dec 3rd show?", False, {12}, {3}, set()),
        ("What did I say in Sept?", False, set(), set(), set()),
        ("他什么时候来的？", True, set(), set(), set()),
        ("5月8日发生了什么", False, {5}, {8}, set()),
    ],
)
def test_what_a_question_waits_for(question, time, months, days, years):
    waits = cues.waits_for(question)
    assert (waits.time, waits.months) == (time, months)
    assert days <= waits.days
    assert waits.years == years


def test_a_forgotten_session_is_not_found_and_may_begin_anew():
    recall = OrderedRecall(
        [*FILLER, *talk("Ann: the zebra", "Ann: it ran", at="2023-05-08"), *talk("Ann: a zebra", session="s2")]
    )
    recall.forget("s1")
    recall.forget("never there")
    assert best(recall, "zebra") == ["s2:0"]
    assert all(session != "s1" for session, _ in recall.sessions("zebra in May 2023"))
    assert not any(key.startswith("s1") for key in best(recall, "what happened on 8 May 2023?"))
    recall.add(Passage("s1:0", "another zebra", "s1", "Ann"))
    recall.add(Passage("new:0", "zebra three", "new", "Ann"))
    assert sorted(best(recall, "zebra")) == ["new:0", "s1:0", "s2:0"]
    assert {session for session, _ in recall.sessions("zebra")} == {"s1", "s2", "new"}


def test_a_hit_names_its_words_and_its_neighbours():
    recall = OrderedRecall(
        [*FILLER, *talk(*(f"Ann: line {n}" for n in range(5))), *talk("Ann: zebra foods", session="s2")]
    )
    recall.add(Passage("s1:5", "the striped zebra", "s1", "Ann"))
    found = recall.search("striped zebra")
    hit = next(hit for hit in recall.explained("striped zebra", found) if hit.passage.key == "s1:5")
    assert hit.terms == ("stripe", "zebra")
    assert [one.key for one in hit.before] == ["s1:3", "s1:4"]
    assert hit.after == ()


def test_a_role_is_a_word_of_a_question_until_it_is_said_to_be_meant():
    rows = [("user", "green tea"), ("assistant", "so"), ("user", "fine"), ("user", "ok"), ("assistant", "green tea")]
    recall = OrderedRecall(
        (Passage(str(n), text, "s", who) for n, (who, text) in enumerate(rows)), ("user", "assistant")
    )
    recall.add(Passage("5", "the user table", "t", "assistant"))
    assert best(recall, "user table")[0] == "5"
    assert recall.search("green tea", speaker="user")[0].passage.key == "0"
    assert recall.search("green tea", speaker="assistant")[0].passage.key == "4"
    assert recall.search("green tea", speaker="nobody")


# -- who is called by a name -------------------------------------------------------------------------------------------


def chat(*lines, name="a", sender=""):
    """A chat of the user (`u:`) and the assistant (`a:`)."""
    roles = {"u": "user", "a": "assistant"}
    return [
        Passage(
            f"{name}#{n}", line[3:], f"{name}\n0", roles[line[0]], "2023-05-08", name, sender if line[0] == "u" else ""
        )
        for n, line in enumerate(lines)
    ]


ADDRESSED = chat(
    "u: I went swimming in the lake.",
    "a: Lovely, Melanie! I painted a sunrise.",
    "u: Which colours did you take?",
    "a: Orange and red, Melanie.",
    "u: My brother paints too.",
    "a: Thanks for telling me, Melanie!",
)


@pytest.mark.parametrize("query", ["What did Melanie do in the lake?", "Where did Melany swim?"])
def test_who_is_addressed_by_a_name_in_a_chat_is_found_by_it(query):
    recall = OrderedRecall(ADDRESSED, ("user", "assistant"))
    assert best(recall, query)[0] == "a#0"


def test_what_is_said_to_somebody_is_not_found_by_their_name():
    recall = OrderedRecall(ADDRESSED, ("user", "assistant"))
    assert best(recall, "Does Melanie's brother paint?")[0] == "a#4"


def test_who_says_their_name_is_known_by_it():
    lines = ["u: Hi, my name is Ana.", "a: Hello! I water the plants.", "u: I water the roses."]
    recall = OrderedRecall(chat(*lines), ("user", "assistant"))
    assert best(recall, "What does Ana water?")[0] == "a#2"


def test_a_name_of_one_chat_is_a_word_like_any_other_in_the_next():
    other = chat("u: Melanie is my sister, she plays the harp.", "a: How nice.", name="b")
    recall = OrderedRecall([*ADDRESSED, *other], ("user", "assistant"))
    assert best(recall, "What does Melanie play?")[0] == "b#0"


@pytest.mark.parametrize("text", ["Hello, World!", "I was in Rome, Paris and London.", "Wow, that is great!"])
def test_other_words_with_a_capital_name_nobody(text):
    recall = OrderedRecall(chat(*(("u: yes" if n % 2 else f"a: {text}") for n in range(12))), ("user", "assistant"))
    assert recall.names == []


def test_a_name_once_is_not_enough():
    recall = OrderedRecall(chat("u: hm", "a: Thanks, Melanie!"), ("user", "assistant"))
    assert recall.names == []


# -- a round is one ----------------------------------------------------------------------------------------------------


def test_a_question_and_its_long_answer_are_ranked_as_one():
    filler = " ".join(f"word{n}" for n in range(80))
    apart = chat("u: Tell me about violins.", f"a: They are made of spruce. {filler}", name="round")
    others = [
        *chat("u: We spoke of violins.", "a: Yes.", name="one"),
        *chat("u: The table is of spruce.", "a: Yes.", name="two"),
    ]
    recall = OrderedRecall([*others, *apart], ("user", "assistant"))
    assert best(recall, "violins made of spruce")[0].startswith("round#")
