"""What the pages say of figures is what the benchmarks measured; `make check` compares the generated pages."""

import json

from scripts import bench_forms
from scripts.report import trust_table
from tests.hygiene.repository import ROOT

KEPT = ROOT / "benchmarks" / "figures.json"
PARTS = json.loads(KEPT.read_bytes())
PROGRAMS = {
    path.stem: path.read_text("utf-8")
    for path in (ROOT / "benchmarks").glob("*.py")
    if '__name__ == "__main__"' in path.read_text("utf-8")
}


def test_each_part_says_when_and_on_what_it_was_measured():
    about = {"at", "seconds", "load", "options", "machine", "versions", "commit", "figures"}
    for name, part in PARTS.items():
        assert about <= set(part), name
        assert part["figures"]["runs"] >= 1, name
        assert "/" not in "".join(part["options"]).replace(".peers/nanobot-0.3.5/bin/python", ""), name


def test_the_counts_of_trust_are_kept_and_nothing_is_lost():
    found = PARTS["trust"]["figures"]
    assert set(found["named"]) == set(found["lost"])
    assert [harm for harm, counts in found["lost"].items() if counts["nanomem"][1]] == []
    readme = (ROOT / "README.md").read_text("utf-8")
    assert trust_table.front_page(readme, PARTS["trust"]) == readme, "run `make docs`"
    assert "`python benchmarks/trust.py --trials" in readme
    assert not any("{" in words for words in found["named"].values())


def test_every_program_keeps_what_it_found_and_is_named_among_them():
    page = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    for name, text in PROGRAMS.items():
        assert '"--json"' in text, name
        assert f"`{name}.py`" in page, name


def test_every_form_is_of_programs_that_are_there():
    assert set(bench_forms.QUICK) | set(bench_forms.USUAL) | bench_forms.ONLY_LARGE <= set(PROGRAMS)
    assert {one.program for one in bench_forms.LARGE} <= set(PROGRAMS)
    assert len({one.name for one in bench_forms.LARGE}) == len(bench_forms.LARGE)
    assert "soak" not in bench_forms.everyday(PROGRAMS)
    assert [one.words for one in bench_forms.usual(["tiers"])] == [["--n", "200000"]]
    assert {one.name for one in bench_forms.large(["records_meaning"])} == {
        "records_meaning",
        "records_meaning, pgvector",
    }
