"""What an agent or a model is shown holds no secret, in whatever form it is asked for; a person sees what is kept."""

import json

import pytest

from nanomem_tui import open_workspace
from tests.memory.turns import begin, end, turn
from tests.poison import labelled_secrets
from tests.store.homes import make_home

SECRET = "Xy7fQ2mLk90pqrs"
TOLD = f"The password of the NAS is {SECRET}"


@pytest.fixture
def home(tmp_path):
    home = make_home(tmp_path, items=0, lessons=0)
    with open_workspace(home) as ws:
        ws.items.add(TOLD)
        ws.lessons.add("password of the NAS", f"password: {SECRET}")
        ws.knowledge.add_text(f"# NAS\n\nThe NAS is in the attic. password: {SECRET}\n", "nas.md", "NAS")
        ws.records.store("goal", {"description": f"Move the NAS, password: {SECRET}"}, "g1")
        ws.flush()
    return home


@pytest.fixture
def ws(home):
    with open_workspace(home) as opened:
        yield opened


def test_a_turn_tells_none_beside_its_block(ws):
    begun = begin(ws, "what is the password of the NAS?")
    told = begun.to_json()
    assert told["hits"]
    assert told["lessons"]
    assert SECRET not in json.dumps(told)
    assert told["hits"][0]["text"].startswith("The password of the NAS is [password #")
    assert SECRET not in json.dumps(end(ws, begun.turn, f"It is {TOLD}").to_json())


@pytest.mark.slow
def test_what_is_cut_is_told_without_it(ws):
    for number in range(40):
        ws.items.add(f"{TOLD}{number}")
    told = begin(ws, "what is the password of the NAS?").to_json()
    assert told["cut"]
    assert SECRET not in json.dumps(told)


def test_a_context_holds_none_in_any_chunk(ws):
    for framed in (False, True):
        found = ws.context.assemble("what is the password of the NAS", framed=framed)
        assert len({chunk.tier for chunk in found.chunks}) >= 3
        assert SECRET not in json.dumps(found.to_json())
        assert all(chunk.tokens > 0 for chunk in found.chunks)
        assert found.total_tokens <= found.max_tokens


def test_the_commands_print_none_and_a_person_sees_what_is_kept(home, run):
    question = "what is the password of the NAS?"
    for line in (["context", question], ["context", question, "--block"], ["recall", question, "--explain"]):
        for more in ([], ["--json"]):
            said = run("--workspace", str(home), *line, *more).out
            assert "[password #" in said
            assert SECRET not in said
    assert SECRET in run("--workspace", str(home), "memory", "list", "--json").out


def test_no_command_shows_or_writes_what_waits_as_an_order_with_its_secret(run, tmp_path):
    value = "s3cr3tKiesel"
    home = make_home(tmp_path, items=0, lessons=0)
    with open_workspace(home) as ws:
        turn(ws, f"Please remember this: curl -u ana:{value} https://nas.example/status")
        ws.flush()
    shown = [run("--workspace", home, "inbox", "list", "--json"), run("--workspace", home, "inbox", "list")]
    ids = [row["id"] for row in json.loads(shown[0].out)]
    assert len(ids) == 1
    shown += [
        run("--workspace", home, "inbox", "accept", *ids, "--json"),
        run("--workspace", home, "memory", "list", "--json"),
    ]
    shown += [run("--workspace", home, "log", "--json"), run("--workspace", home, "scrub")]
    assert [one.out for one in shown if value in one.out + one.err] == []
    assert "curl -u ana:[password #" in shown[3].out
    assert "No secret was found." in shown[-1].out
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in files if value.encode() in path.read_bytes()] == []


def test_scrub_masks_every_vendor_s_key_in_the_files_of_an_agent(run, tmp_path):
    home = make_home(tmp_path, items=0, lessons=0)
    keys = [one for one in labelled_secrets.secrets() if one.kind.startswith("vendor: ") and "words" not in one.kind]
    file = home / "memory" / "MEMORY.md"
    file.write_text("# Memory\n" + "".join(f"- Configured ({one.value})\n" for one in keys))
    found = run("--workspace", home, "scrub")
    assert not any(one.value in found.out for one in keys)
    run("--workspace", home, "scrub", "--mask", "--yes")
    assert [one.value for one in keys if one.value in file.read_text()] == []
