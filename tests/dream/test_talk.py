"""Talk is no fact: what somebody unnamed exclaims is not remembered, and who said something is kept with it."""

from __future__ import annotations

import pytest

from nanomem_tui.dream.facts import stated
from tests.dream.test_consolidator import said, summarised
from tests.dream.test_rules import dream


@pytest.mark.parametrize(
    "content",
    [
        "[durable] I've had them for 3 years! I can't live without my little ones!",
        "I can't live without my little ones!",
        "[durable] John: I think this is exactly what I need.",
        "[durable] John said: I think this is exactly what I need.",
        "[durable] I love it!",
        "My pups mean the world to me!",
    ],
)
def test_talk_of_somebody_unnamed_is_no_fact(content: str) -> None:
    proposal = dream(f"- {content}")
    assert (proposal.edits, [line.why for line in proposal.skipped]) == ((), ["talk"])


@pytest.mark.parametrize(
    "content",
    [
        "[durable] I live in Berlin", "[durable] I'm vegetarian!", "[durable] My name is Anna!", "I work at ACME",
        "[durable] I decided that we use Postgres", "[permanent] I love it!", "[durable] I like short replies",
        "[durable] We moved it to srv3",
    ],
)  # fmt: skip
def test_what_a_person_tells_of_themselves_stays(content: str) -> None:
    assert len(dream(f"- {content}").edits) == 1


def test_a_message_that_names_its_speaker_keeps_the_name() -> None:
    summary = summarised(said("user", "Andrew: I've had two dogs for 3 years. I live in Rome."))
    facts = [line.text for line in summary.lines if line.mark != "ephemeral"]
    assert facts
    assert all(text.startswith("Andrew said: ") for text in facts)
    assert [edit.new.startswith("- Andrew: ") for edit in dream(*(f"- [durable] {text}" for text in facts)).edits]


def test_an_exclamation_does_not_reach_the_archive() -> None:
    assert stated("I've had them for 3 years! I can't live without my little ones!") == ""
    assert stated("I've had them for 3 years!", named=True) != ""
