"""Lines merged three ways, hunks and words."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from nanomem_tui.core import merge
from tests.store.git_samples import needs_git

line = st.sampled_from(["alpha", "alphb", "c", "- x one", "- x two", "", "- z\r", "重庆", "u\u2028v", "# H"])
text = st.builds(lambda lines, end: "\n".join(lines) + end, st.lists(line, max_size=9), st.sampled_from(["", "\n"]))


@given(text, text)
def test_a_merge_with_one_side_unchanged_gives_the_other_side(base, other):
    assert merge.merge_lines(base, base, other) == merge.Merged(other, ())
    assert merge.merge_lines(base, other, base) == merge.Merged(other, ())
    assert merge.merge_lines(base, other, other) == merge.Merged(other, ())
    assert merge.merge_lines(base, other, base, keep_both=True) == merge.Merged(other, ())


@given(text, text, text)
def test_a_clean_merge_is_the_same_from_both_sides(base, ours, theirs):
    one, two = merge.merge_lines(base, ours, theirs), merge.merge_lines(base, theirs, ours)
    assert len(one.conflicts) == len(two.conflicts)
    if not one.conflicts:
        assert one.text == two.text


@given(text, text, text)
def test_no_line_that_both_sides_kept_is_lost(base, ours, theirs):
    merged = merge.merge_lines(base, ours, theirs, keep_both=True)
    new = set(ours.split("\n")) - set(base.split("\n"))
    lost = new - set(merged.text.split("\n"))
    assert not lost


@given(text, text)
def test_hunks_rebuild_both_texts(before, after):
    for context in (0, 3, 50):
        old, new = [], []
        for hunk in merge.hunks(before, after, context):
            for row in hunk.lines:
                whole = row.text + ("\n" if row.ends else "")
                if row.old is not None:
                    old.append((row.old, whole))
                if row.new is not None:
                    new.append((row.new, whole))
            assert hunk.old_count == sum(r.old is not None for r in hunk.lines)
            assert hunk.new_count == sum(r.new is not None for r in hunk.lines)
        old_lines, new_lines = merge.split_lines(before), merge.split_lines(after)
        assert all(old_lines[number - 1] == whole for number, whole in old)
        assert all(new_lines[number - 1] == whole for number, whole in new)
        added, removed = merge.count_changes(before, after)
        assert len(new_lines) - len(old_lines) == added - removed


@given(text, text)
def test_taking_back_every_hunk_gives_the_text_before(before, after):
    found = merge.hunks(before, after)
    now = after
    for number in reversed(range(len(found))):
        now = merge.revert_hunk(before, now, number)
    assert now == before


@given(text)
def test_split_lines_joins_to_the_text(value):
    assert "".join(merge.split_lines(value)) == value


def test_changes_of_neighbouring_lines_are_both_made():
    base = "# T\n- a\n- b\n- c\n"
    merged = merge.merge_lines(base, "# T\n- a\n- b\n- B2\n- c\n", "# T\n- a\n- c\n")
    assert merged == merge.Merged("# T\n- a\n- B2\n- c\n", ())


def test_two_different_changes_of_one_line_conflict_and_name_it():
    merged = merge.merge_lines("x\nyes\nz\n", "new\nx\nyes1\nz\n", "x\nyes2\nz\n")
    assert merged.text == "new\nx\nyes1\nz\n"
    assert merged.conflicts == (merge.ConflictHunk(3, ("yes\n",), ("yes1\n",), ("yes2\n",)),)


def test_the_text_of_a_conflict_holds_our_lines_or_theirs():
    texts = ("- tea\n- cat\n- end\n", "- tea!\n- cat\n- end\n", "- tea?\n- cat\n- end.\n")
    for win, line in ((False, "- tea!"), (True, "- tea?")):
        merged = merge.merge_lines(*texts, theirs_win=win)
        assert len(merged.conflicts) == 1
        assert merged.text == f"{line}\n- cat\n- end.\n"


def test_two_insertions_at_one_place_conflict_unless_both_are_to_be_kept():
    assert merge.merge_lines("a\n", "a\nb\n", "a\nc\n").conflicts
    assert merge.merge_lines("a\n", "a\nb\n", "a\nc\n", keep_both=True) == merge.Merged("a\nb\nc\n", ())
    assert merge.merge_lines("a", "a\nb\nc", "a\nc", keep_both=True) == merge.Merged("a\nb\nc", ())


def test_a_line_removed_is_no_conflict_with_a_new_one_in_its_place_but_with_its_rewrite_it_is():
    base, without = "- a\n- likes green tea\n", "- a\n"
    assert merge.merge_lines(base, "- a\n- born in 1980\n", without) == merge.Merged("- a\n- born in 1980\n", ())
    assert merge.merge_lines(base, "- a\n- likes black tea\n", without).conflicts


def test_crlf_and_a_missing_last_line_feed_stay_as_they_are():
    base = "a\r\nb\r\nc"
    assert merge.merge_lines(base, "a\r\nb\r\nc\r\nd", "A\r\nb\r\nc") == merge.Merged("A\r\nb\r\nc\r\nd", ())
    assert merge.hunks("a", "a\n")[0].lines[0] == merge.HunkLine("delete", "a", 1, None, False)


def _variant(data, base, mark):
    out: list[str] = []
    for number, kept in enumerate(base):
        out += {"keep": [kept], "drop": [], "new": [f"{mark}{number}\n"], "add": [kept, f"{mark}{number}\n"]}[
            data.draw(st.sampled_from(["keep", "keep", "keep", "drop", "new", "add"]))
        ]
    return out


@needs_git
@settings(max_examples=30, deadline=None)
@given(data=st.data(), size=st.integers(0, 12))
def test_where_git_merges_cleanly_so_do_we_and_alike(tmp_path_factory, data, size):
    base = [f"line {number}\n" for number in range(size)]
    texts = {"ours": _variant(data, base, "o"), "base": base, "theirs": _variant(data, base, "t")}
    folder: Path = tmp_path_factory.mktemp("merge")
    for name, lines in texts.items():
        (folder / name).write_text("".join(lines))
    found = subprocess.run(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True)
    if found.returncode == 0:
        merged = merge.merge_lines("".join(base), "".join(texts["ours"]), "".join(texts["theirs"]))
        assert merged == merge.Merged(found.stdout.decode(), ())


def test_a_unified_diff_reads_as_git_prints_it():
    assert merge.unified("USER.md", "a\nb", "a\nc\n") == (
        "--- a/USER.md\n+++ b/USER.md\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )
    assert merge.unified("USER.md", None, "a\n").startswith("--- /dev/null\n+++ b/USER.md\n@@ -0,0 +1,1 @@\n+a")
    assert merge.unified("USER.md", "a", "a") == ""
