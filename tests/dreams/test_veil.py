"""No secret of an entry or a memory file reaches the endpoint of a model, and what the model leaves alone stays."""

from dataclasses import replace

from nanomem_tui.dreams.edits import LineEdit
from nanomem_tui.dreams.guards import MaskedFiles, on_its_line
from tests.dreams.dreaming import Dreaming, edit, fact, step, study
from tests.store.git_samples import needs_git

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAA1\n-----END OPENSSH PRIVATE KEY-----"
FILE = f"# User\n- NAS password: hunter2secret!\n- key\n{KEY}\n- token {TOKEN} of CI\n- Likes tea\n"
MASK = MaskedFiles({"": FILE}).files[""]


def line(number):
    return MASK.split("\n")[number - 1]


@needs_git
def test_no_secret_of_an_entry_or_a_file_is_in_a_question(tmp_path):
    said = f"- [durable] The password for the router is tulip-42x!\n- the token {TOKEN} of CI has a new owner, Anna"
    number = FILE.split("\n").index("- Likes tea") + 1
    on = Dreaming(
        tmp_path, (said,), study(fact("owner Anna", 21)),
        step(edit("replace", 21, line=number - 1, old=line(number - 1), new=line(number - 1) + ", owner Anna"),
             status="more"),
        step(),
    )  # fmt: skip
    on.bench.paths.user.write_text(FILE)
    result = on.run()
    assert len(on.asked) == 3
    for asked in on.asked:
        assert not any(part in asked.text for part in ("hunter2", "tulip-42x", TOKEN[4:], "b3BlbnNz"))
        assert f"{number}| - Likes tea" in asked.text
        assert "[GitHub token #" in asked.text
    assert result.refused == ()
    assert on.user == FILE.replace("of CI", "of CI, owner Anna")


@needs_git
def test_a_masked_secret_is_written_nowhere_else(tmp_path):
    def copies(asked):
        at = asked.text.index("[GitHub token #")
        return step(edit("add", 21, new=f"- The token is {asked.text[at : at + 24]}"))

    on = Dreaming(tmp_path, (f"- the token is {TOKEN}",), study(fact("token", 21)), copies)
    result = on.run()
    assert ([one.why for one in result.refused], result.files) == (["it holds a secret: GitHub token"], {})


def test_each_line_has_its_own_mask_and_is_put_back():
    lines = FILE.split("\n")
    assert len(MASK.split("\n")) == len(lines)
    veil = MaskedFiles({"USER.md": FILE})
    for number, real in enumerate(lines, 1):
        assert veil.lift(LineEdit("remove", "USER.md", line=number, old=line(number))).old == real


def test_two_values_never_have_one_mask():
    text = "".join(f"- password: pass{number}word\n" for number in range(900))
    veil = MaskedFiles({"USER.md": text})
    assert len(set(veil.files["USER.md"].split("\n"))) == 901


def test_a_kept_edit_is_put_on_the_one_line_that_was_masked():
    there = f"- token {TOKEN} of CI"
    masked = line(FILE.split("\n").index(there) + 1)
    kept = LineEdit("replace", "USER.md", old=masked, new=f"{masked}, owner Anna")
    assert on_its_line(kept, {"USER.md": FILE}) == replace(kept, old=there, new=f"{there}, owner Anna")
    for other in (FILE.replace(TOKEN, f"ghp_{'z9Y8x7W6v5U4' * 3}"), FILE.replace(there, masked), "", f"{there} \n"):
        assert on_its_line(kept, {"USER.md": other}) == kept
