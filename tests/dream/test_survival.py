"""How many of a Dream's lines stand after each later version, against a count that looks at every version anew."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.dreams.blame import DreamSurvival, LineFate, Version, survival
from nanomem_tui.widgets.plots import small_curve

FILES = ("USER.md", "memory/MEMORY.md")
texts = st.one_of(
    st.none(),
    st.lists(st.sampled_from(["- tea", "- coffee", "  - coffee ", "# Title", "", "- Bremen", "---"])).map("\n".join),
)
histories = st.lists(st.tuples(st.booleans(), st.dictionaries(st.sampled_from(FILES), texts)), max_size=12)


def versions(history: list[tuple[bool, dict[str, str | None]]]) -> list[Version]:
    return [Version(f"{n:040x}", f"2026-04-{n + 1:02}", dream, files) for n, (dream, files) in enumerate(history)]


def states(found: list[Version]) -> list[Counter[str]]:
    """Every line that says something, of all files, as of each version."""
    files: dict[str, str | None] = {}
    result = []
    for version in found:
        files |= version.files
        lines = [line.strip() for text in files.values() for line in (text or "").split("\n")]
        result.append(Counter(line for line in lines if any(map(str.isalnum, line)) and not line.startswith("#")))
    return result


@given(histories)
def test_the_shares_are_those_of_a_count_of_every_version(history: list[tuple[bool, dict[str, str | None]]]) -> None:
    given_versions = versions(history)
    after = states(given_versions)
    found = {one.number: one for one in survival(given_versions)}
    assert list(found) == [n for n, version in enumerate(given_versions) if version.is_dream]
    for n, one in found.items():
        added = after[n] - (after[n - 1] if n else Counter())
        standing = [sum((added & later).values()) for later in after[n:]]
        assert one.added == sum(added.values())
        assert one.curve() == [count / one.added if one.added else 1.0 for count in standing]
        assert (one.standing, one.versions) == (standing[-1], len(given_versions))
        assert {fate.text for fate in one.lines if fate.gone is None} == {
            text for text, count in added.items() if after[-1][text] >= count
        }


@given(histories)
def test_the_steps_only_name_versions_that_changed_the_number(
    history: list[tuple[bool, dict[str, str | None]]],
) -> None:
    for one in survival(versions(history)):
        numbers = [number for number, _ in one.steps]
        assert numbers == sorted(set(numbers))
        assert len(one.curve()) == one.versions - one.number


def last(*states: str) -> DreamSurvival:
    """What became of the first of these texts, which a Dream wrote."""
    given_versions = [Version("a", "", True, {"USER.md": states[0]})]
    later = zip("bcd", states[1:], strict=False)
    given_versions += [Version(name, "", False, {"USER.md": text}) for name, text in later]
    return survival(given_versions)[0]


def test_a_line_is_gone_since_the_version_that_took_it_away() -> None:
    found = last("- tea\n- cake", "- cake", "- cake\n- other")
    assert found.curve() == [1.0, 0.5, 0.5]
    assert found.lines == (LineFate("- tea", "b"), LineFate("- cake", None))
    assert (found.added, found.standing, found.share) == (2, 1, 0.5)


def test_the_lines_stand_in_the_order_of_the_file() -> None:
    words = [f"- fact {n}" for n in range(40)]
    assert [fate.text for fate in last("\n".join(words)).lines] == words


def test_a_line_that_comes_back_stands_and_one_that_moves_never_went() -> None:
    assert last("- tea", "", "- tea").curve() == [1.0, 0.0, 1.0]
    assert last("- tea", "", "- tea").lines == (LineFate("- tea", None),)
    moved = [
        Version("a", "", True, {"USER.md": "- tea"}),
        Version("b", "", True, {"USER.md": "", "memory/MEMORY.md": "- tea"}),
    ]
    first, second = survival(moved)
    assert first.curve() == [1.0, 1.0]
    assert (second.added, second.share, second.curve()) == (0, 1.0, [1.0])


def test_headings_blanks_and_rules_are_no_lines_of_a_dream() -> None:
    assert last("# User\n\n---\n- tea", "# Other").added == 1


@pytest.mark.parametrize("later", [12, 13, 14, 15, 19, 40, 200])
def test_the_last_cell_of_a_curve_is_how_things_are_now(later: int) -> None:
    back = [1.0] * (later - 5) + [0.0] * 4 + [1.0]
    gone = [1.0] * (later - 1) + [0.0]
    assert small_curve(back, 14).endswith("█")
    assert "▁" in small_curve([*back, 1.0, *([1.0] * later)], 14), "what was lost for a while is not hidden"
    assert (small_curve(gone, 14)[-1], small_curve([0.5], 14)) == ("▁", "▅")
    assert max(len(small_curve(back, width)) for width in range(1, 20)) <= 19
