"""What the rules may not remember by themselves: it waits for a person with the reason, nothing is lost."""

import pytest

from nanomem_tui.dreams.guards import check
from tests.dreams.test_rules import FILES, dream
from tests.store.git_samples import needs_git


@pytest.mark.parametrize(
    ("content", "new", "why"),
    [
        ("[permanent] The deploy token: ghp_" + "a1B2c3D4e5F6" * 3, "- The deploy token: [GitHub", "it holds a secret"),
        ("[durable] Password of the NAS is hunter2secret!", "- Password of the NAS is [password", "it holds a secret"),
        ("[durable] login root / toor1234 on srv1", "- login root / [password", "it holds a secret: password"),
        ("[permanent] The user likes tea, " + "figs, jazz and plums " * 40, "- The user likes tea", "longer than"),
    ],
)  # fmt: skip
def test_a_line_with_a_secret_or_too_long_waits_for_a_person(content, new, why):
    proposal = dream(f"- {content}")
    assert (proposal.edits, proposal.skipped) == ((), ())
    (held,) = proposal.refused
    assert (held.edit.op, held.edit.evidence, held.edit.new.startswith(new)) == ("add", (1,), True)
    assert held.why.startswith(why)
    assert not any(secret in held.edit.new for secret in ("a1B2c3D4e5F6", "hunter2", "toor"))


@pytest.mark.slow
def test_a_line_that_no_file_takes_waits_in_parts_that_miss_nothing():
    text = " ".join(f"The user likes figs of sort {number}." for number in range(200)) + " " + "y" * 3000
    held = dream(f"- [permanent] {text}").refused
    assert all(check(dict(FILES), [one.edit], {1: text}).refused == () for one in held)
    assert "".join(one.edit.new.removeprefix("- ").replace(" ", "") for one in held) == text.replace(" ", "")


@needs_git
def test_what_is_held_comes_into_the_inbox_and_the_cursor_passes(on):
    on.remember("- [permanent] The password for the NAS is hunter2secret!\n- [durable] Likes tea", first=21)
    on.dreams.status()
    result = on.dreams.run()
    assert (result.cursor_after, [edit.new for edit in result.edits]) == (21, ["- Likes tea"])
    (hunk,) = on.review.waiting()
    assert hunk.why == "it holds a secret: password"
    assert "hunter2" not in hunk.edit.new + on.done[-1].label
