"""docs/benchmarks.md and its pictures are made from what was measured: whole, the same each time, readable anywhere."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from scripts.report import page, pictures
from scripts.report.measure import Measure, number, times
from tests.hygiene.repository import ROOT

PARTS = json.loads(page.KEPT.read_bytes())
FILES = page.files()
PICTURES = [name for name in FILES if name.endswith(".svg")]
SVG = "{http://www.w3.org/2000/svg}"
WRITER = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/scripts"]
import docs
docs.DOCS = Path(sys.argv[2])
sys.exit(docs.main(sys.argv[3:]))
"""


def docs(folder, *words):
    line = [sys.executable, "-c", WRITER, str(ROOT), str(folder), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_every_program_that_was_run_has_its_table():
    text = FILES["benchmarks.md"]
    for name in PARTS:
        section = text.split(f"### {name}\n", 1)[1].split("\n### ")[0]
        assert section.count("\n| ") >= 2, name


def test_every_table_says_its_command_day_machine_load_seed_and_runs():
    text = FILES["benchmarks.md"]
    for name, part in PARTS.items():
        about = " ".join(text.split(f"### {name}\n", 1)[1].split("\n|")[0].split())
        command = " ".join(["python", f"benchmarks/{name}.py", *part["options"]])
        versions = [f"{library} {version}" for library, version in part["versions"].items()]
        for told in (f"`{command}`", part["at"][:10], f"{part['machine']['cores']} cores", *versions, "Load "):
            assert told in about, (name, told)
        assert re.search(r"(seed |nothing is drawn).*; \d+ runs?\.", about), name


@pytest.mark.slow
def test_what_is_stale_is_named_and_written_anew(tmp_path):
    assert docs(tmp_path).returncode == 0
    assert docs(tmp_path, "--check").returncode == 0
    picture = tmp_path / PICTURES[0]
    picture.write_text(picture.read_text("utf-8").replace("ms", "s"), encoding="utf-8")
    (tmp_path / "benchmarks.md").write_text("better figures", encoding="utf-8")
    (tmp_path / page.IMAGES / "old.svg").write_text("<svg/>", encoding="utf-8")
    done = docs(tmp_path, "--check")
    assert done.returncode == 1
    assert all(name in done.stderr for name in ("benchmarks.md", PICTURES[0], "old.svg"))
    docs(tmp_path)
    assert docs(tmp_path, "--check").returncode == 0


def test_other_figures_make_another_page(tmp_path):
    kept = tmp_path / "figures.json"
    parts = json.loads(page.KEPT.read_bytes())
    parts["git_speed"]["figures"]["loose"]["log"]["ours"] *= 2
    kept.write_text(json.dumps(parts), encoding="utf-8")
    changed = {name for name, text in page.files(kept).items() if FILES[name] != text}
    assert changed == {"benchmarks.md", f"{page.IMAGES}/git.svg", f"{page.IMAGES}/goals.svg"}


def test_a_peer_that_was_not_there_is_named(tmp_path):
    kept = tmp_path / "figures.json"
    parts = {"recall_speed": json.loads(page.KEPT.read_bytes())["recall_speed"]}
    for engines in parts["recall_speed"]["figures"]["items"].values():
        engines.pop("tantivy en_stem")
    parts["recall_speed"]["figures"]["left out"] = {"tantivy": "not installed"}
    kept.write_text(json.dumps(parts), encoding="utf-8")
    text = " ".join(page.files(kept)["benchmarks.md"].partition("## With a million items")[0].split())
    assert "Left out: tantivy (not installed)." in text
    assert "tantivy en_stem" not in text


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_whole_asks_for_nothing_and_can_be_read_in_the_light_and_in_the_dark(name):
    text = FILES[name]
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title") is not None
    assert not re.search(r"href|url\(|@import|@font-face|<script|<image", text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    style = text.split("<style>")[1].split("</style>")[0]
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for colours, ground in ((light, pictures.LIGHT["ground"]), (dark, pictures.DARK["ground"])):
        assert f".ground {{ fill: {ground} }}" in colours
        for drawn in re.findall(r"\.(?:text|weak|missed|c\d) \{ fill: (#\w+)", colours):
            least = 4.5 if drawn in {pictures.LIGHT["text"], pictures.DARK["text"]} else 2.0
            assert contrast(drawn, ground) > least, drawn
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for one in root.iter(f"{SVG}rect"):
        assert float(one.get("x", "0")) + float(one.get("width", "0")) <= width
        assert float(one.get("y", "0")) + float(one.get("height", "0")) <= height
    for one in root.iter(f"{SVG}text"):
        long, x = 7 * len(one.text or ""), float(one.get("x", "0"))
        first = x - {"start": 0, "middle": long / 2, "end": long}[one.get("text-anchor", "start")]
        assert first > -16, one.text
        assert first + long < width + 16, one.text


def test_the_same_figures_make_the_same_bytes():
    line = [sys.executable, "-c", "from scripts.report import page; print(repr(page.files()))"]
    told = {
        subprocess.run(line, cwd=ROOT, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }
    assert told == {f"{FILES!r}\n"}


def test_a_goal_is_of_the_ratio_or_of_ours():
    slower = Measure("x", 4.0, floor={"bare": 2.0}, of="bare", most=1.5)
    assert (slower.ratio, slower.met) == (2.0, False)
    assert slower.of_goal == pytest.approx(4 / 3)
    found = Measure("x", 0.8, "share", peers={"other": 0.4}, of="other", goal=0.6, at_least=True)
    assert (found.ratio, found.met, found.of_goal) == (2.0, True, pytest.approx(0.75))
    assert Measure("x", 0.0, "bytes", goal=0.0).met
    assert Measure("x", 1.0).met is None


def test_numbers_have_three_digits_that_count():
    told = [number(value) for value in (1234.5, 123.4, 12.34, 1.234, 0.1234, 0.01234, 0.00123, 50, 0)]
    assert told == ["1,234", "123", "12.3", "1.23", "0.123", "0.0123", "0.00123", "50", "0"]
    assert times(0.0481) == "0.0481 ×"


def contrast(one, other):
    """Of two colours, by WCAG's formula."""

    def light(colour):
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    least, most = sorted((light(one), light(other)))
    return (most + 0.05) / (least + 0.05)
