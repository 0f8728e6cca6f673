"""What a line of an archive is, in ten languages."""

import pytest

from nanomem_tui.language import sentences
from nanomem_tui.language.classify import title_of, topics_of_heading
from nanomem_tui.language.statements.statement import (
    denied_value,
    names_given,
    owner_of,
    with_subject,
    without_denied,
    without_speaker,
)


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("- User lives in Turku with her two sons", "person"), ("- Allergic to penicillin", "person"),
        ("- User prefers short answers", "preference"), ("- 用户喜欢喝茶", "preference"),
        ("- Decided to use Postgres for the ledger", "decision"), ("- Backups go to the NAS every night", "project"),
        ("- User asked about the weather in Oslo", "narration"), ("- The assistant called web_search", "narration"),
        ("## Projects", "label"), ("|---|---|", "label"), ("[10:32] USER: ok thanks!", "chat"),
        ("- Wohnt in Graz", "person"), ("- Vive en Lugo", "person"), ("- Живёт в Казани", "person"),
    ],
)  # fmt: skip
def test_a_line_is_read_as_a_person_would(line, label):
    assert sentences.read(line).label == label


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("- [durable] **Editor**: Helix", "**Editor**: Helix"),
        ("3) [2026-03-01 09:00] rain", "rain"),
        ("- [x] done", "done"),
        ("  * lives in Rome [permanent]", "lives in Rome"),
        ("> quoted", "quoted"),
    ],
)
def test_what_stands_before_a_line_is_no_part_of_its_text(line, text):
    assert sentences.parted(line).text == text


def test_a_statement_is_kept_without_who_said_it_and_with_whom_it_is_of():
    assert without_speaker("User mentioned that she moved to Porto") == "She moved to Porto"
    assert without_speaker("用户说她住在苏州") == "她住在苏州"
    assert with_subject("His phone is 555 0142", "Ben") == "Ben's phone is 555 0142"
    assert without_speaker("请记住：我住在苏州") == "我住在苏州"
    assert owner_of("# User\n- **Name**: Ana\n- City: Porto") == "Ana"
    assert owner_of("# User\n- **Name**: (your name)\n") == ""
    assert names_given("- Имя: Ольга Крылова\n- 昵称：小满") == ["Ольга Крылова", "小满"]


@pytest.mark.parametrize(
    ("text", "wrong", "left"),
    [
        ("The office is in Osaka, not Kyoto", "Kyoto", "The office is in Osaka"),
        ("Der Preis ist 12 Euro, nicht 10 Euro", "10 Euro", "Der Preis ist 12 Euro"),
        ("Копия во вторник, не в пятницу", "в пятницу", "Копия во вторник"),
        ("小满是儿子，不是女儿", "女儿", "小满是儿子"),
        ("User keeps notes of the house", "", "User keeps notes of the house"),
    ],
)
def test_what_a_statement_says_is_not_so(text, wrong, left):
    assert (denied_value(text), without_denied(text)) == (wrong, left)


def test_headings_are_of_subjects_and_new_ones_are_in_the_language_of_the_file():
    assert topics_of_heading("Communication Style") == {"style"}
    assert topics_of_heading("家庭") == {"family"}
    assert title_of("health", "# Профиль") == "Здоровье"
