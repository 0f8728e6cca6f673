"""What of notes in Markdown becomes a memory, and what it needs before its words to be read alone."""

import pytest

from nanomem_tui.language import sentences
from nanomem_tui.language.sentences import readable
from nanomem_tui.memory.transfer import markdown


def texts(page, **how):
    return [note.text for note in sentences.notes_read(readable(page), **how).found]


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        ("## Aunt Vera\n- birthday 3 May 1950", ["Aunt Vera: birthday 3 May 1950"]),
        ("## 👵 Aunt Vera (Leeds)\n- can't climb stairs", ["Aunt Vera (Leeds): can't climb stairs"]),
        ("## Vera\n- Vera can't climb stairs", ["Vera can't climb stairs"]),
        ("## Friends\n- Anna lives in Porto.", ["Anna lives in Porto."]),
        ("## Important notes\n- The gate opens with the small key", ["The gate opens with the small key"]),
        ("## 2026-03-01\n- The stove was replaced", ["The stove was replaced"]),
        ("# Kite\n## Notes\n- Config: port 8080", ["Kite: Config: port 8080"]),
        ("- Heating\n  - oil tank holds 900 litres", ["Heating: oil tank holds 900 litres"]),
        ("Heating:\n- oil tank holds 900 litres", ["Heating: oil tank holds 900 litres"]),
        ("**Heating**\n\n- oil tank holds 900 litres", ["Heating: oil tank holds 900 litres"]),
        ("## 报销\n- “建华”是主要供应商", ["报销: “建华”是主要供应商"]),
    ],
)
def test_a_memory_has_the_heading_or_the_line_that_says_what_it_is_about(page, kept):
    assert texts(page) == kept


def test_the_title_of_a_page_that_is_about_everything_stands_before_nothing():
    page = "# Kite\n- The gate opens with the small key\n"
    assert texts(page) == ["Kite: The gate opens with the small key"]
    assert texts(page, titled=False) == ["The gate opens with the small key"]


def test_a_line_that_says_something_has_those_under_it_with_it():
    page = "- Our doctor is in the yellow house\n  - phone 555 0142\n  - call mum\n- Ana lives in Porto\n"
    assert texts(page)[-1] == "Ana lives in Porto"
    assert texts(page)[0].startswith("Our doctor is in the yellow house; phone 555 0142")


def test_a_wrapped_line_goes_on_and_one_that_ends_does_not():
    assert texts("Our doctor is in the yellow house at\nthe square.\nAna lives in Porto.") == [
        "Our doctor is in the yellow house at the square.",
        "Ana lives in Porto.",
    ]
    assert texts("- Ana lives in Porto,\n  a cat and a parrot") == ["Ana lives in Porto, a cat and a parrot"]
    assert texts("外婆住在泉州,\n只会说闽南话。") == ["外婆住在泉州,只会说闽南话。"]
    assert texts("Lives in Porto\nHas a dog", by_line=True) == ["Lives in Porto", "Has a dog"]


def test_a_row_has_the_headings_of_its_columns_where_they_say_something():
    page = "| Host | Port |\n|---|---|\n| web | 443 |\n| old | - |\n"
    assert texts(page) == ["Host: web, Port: 443"]
    assert texts("| Key | Value |\n|---|---|\n| Shoe size | 43 |\n") == ["Shoe size: 43"]


@pytest.mark.parametrize(
    "title",
    ["To do", "Ideas (not decided)", "Open questions", "Einkaufsliste", "Pendientes", "À faire", "待办", "할 일"],
)
def test_nothing_is_a_memory_where_nothing_is_settled(title):
    assert texts(f"## {title}\n- Ana lives in Porto\n## Family\n- Ana has a cat") == ["Ana has a cat"]
    assert texts(f"{title.partition(' (')[0]}:\n- Ana lives in Porto\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] call the plumber",
        "- Who has the key of the cellar?",
        "- Freezer",
        "- Next steps:",
        "assistant: Done.",
        "1. Read SOUL.md first",
        "Last updated: 2026-03-01",
        "- TODO: sort these lines",
        "- City: (your city)",
    ],
)
def test_tasks_questions_labels_and_what_a_page_says_of_itself_are_left_out(line):
    found = sentences.notes_read(f"- Ana lives in Porto\n\n{line}\n")
    assert [note.text for note in found.found] == ["Ana lives in Porto"]
    assert len(found.left) <= 1


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("- Ana lives in Porto", "fact"),
        ("- Prefers the window seat", "preference"),
        ("- Never book a trip without asking me", "preference"),
        ("## Decisions\n- The backup stays at Hetzner", "decision"),
        ("## House rules\n- The gate stays closed", "preference"),
        ("- The stove was replaced on 3 May 2026", "episodic"),
    ],
)
def test_the_words_or_the_heading_give_the_kind(page, kind):
    assert [note.kind for note in sentences.notes_read(page).found] == [kind]


def test_a_heading_that_is_a_day_dates_what_is_under_it():
    page = "## 2026-03-01\n- The stove was replaced\n## House\n- Ana lives in Porto\n"
    assert [piece.day for piece in markdown.markdown_pieces(page, "x.md")[0]] == ["2026-03-01", ""]


def test_a_ticked_answer_has_its_question():
    assert texts("### Technical Level\n- [ ] Beginner\n- [x] Expert\n") == ["Technical Level: Expert"]


def test_a_page_of_any_depth_and_length_is_read():
    deep = "\n".join(f"{' ' * depth}- Ana lives in Porto" for depth in range(60))
    assert texts(deep)
    assert max(map(len, texts("Ana lives in Porto and " * 200))) <= sentences.LONGEST
