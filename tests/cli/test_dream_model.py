"""`--dreamer model` on the command line, on a real agent's home, against a scripted endpoint."""

import json
import re

import pytest

from tests.model.dreams import PORT, endpoints, step, study, with_a_fact
from tests.model.server import KEY, says, status

FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md", "memory/.dream_cursor")


@pytest.fixture
def nb035(home):
    """A workspace with one fact that waits for the next Dream."""
    return with_a_fact(home("nb035"))


@pytest.fixture
def endpoint(monkeypatch):
    """`endpoint(reply, …)`: a server with that script, which is the model of this test's settings."""
    with endpoints(monkeypatch) as serve:
        yield serve


def state(workspace):
    return {name: (workspace / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("line", [["--run-dream"], ["dream", "run"]])
def test_a_dream_by_a_model_tells_what_it_took(line, nb035, endpoint, run):
    server = endpoint(study(), step(PORT, {"file": "AGENTS.md", "new": "- x"}))
    before = state(nb035)
    looked = run(*line, "--dreamer", "model", "--dry-run", "--json").json
    assert state(nb035) == before
    server.script = [study(), step(PORT, {"file": "AGENTS.md", "new": "- x"})]
    done = run(*line, "--dreamer", "model", "--json").json
    assert done["edits"] == looked["edits"]
    assert (done["dreamer"], done["analysis"], done["cursor_after"]) == ("model", "a port", 283)
    assert (done["usage"]["tokens"], done["usage"]["cost"], done["usage"]["model"]) == (3200, 0.008, "scripted")
    assert [refused["reason"] for refused in done["refused"]] == ["a Dream may not change that file"]
    assert done["operation"]["meta"]["usage"]["tokens"] == 3200
    assert "8443" in (nb035 / "memory" / "MEMORY.md").read_text("utf-8")
    assert run("undo", done["operation"]["id"]).code == 0
    assert state(nb035) == before


def test_in_words(nb035, endpoint, run):
    endpoint(
        study("a port\n\x1b]52;c;aGk=\x07 is new"), step(PORT, {"file": "\x1b[2JAGENTS.md", "new": "- \x1b[31mred"})
    )
    told = run("--run-dream", "--dreamer", "model")
    assert told.code == 0
    assert "Asked scripted 2 times: 3,000 tokens in, 200 out" in told.out
    assert "cost 0.0080" in told.out
    assert "a port" in told.out
    assert re.search(r"Refused \(a Dream may not change that file\): .*AGENTS\.md \+ - ", told.out)
    assert "\x1b" not in told.out
    assert "\x07" not in told.out


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (status(401, f"wrong key {KEY}"), "refuses the key (401)"),
        (says("no JSON"), "no answer that can be used"),
        (says("{", finish="length"), "was cut"),
        (status(302, location="http://127.0.0.1:9/"), "not followed"),
    ],
)
@pytest.mark.parametrize("phase", [0, 1])
def test_a_failing_endpoint_is_exit_code_2_and_one_line(bad, words, phase, nb035, endpoint, run):
    endpoint(*[study()][:phase], bad)
    before = state(nb035)
    for flags in ((), ("--json",)):
        result = run("--run-dream", "--dreamer", "model", *flags)
        assert result.code == 2
        assert words in result.err + result.out
        assert KEY not in result.err + result.out
        assert (result.err + result.out).count("\n") == 1
        endpoint(*[study()][:phase], bad)
    assert state(nb035) == before


def test_nobody_listens(nb035, endpoint, run, monkeypatch):
    endpoint(study())
    monkeypatch.setenv("NANOMEM_MODEL_BASE_URL", "http://127.0.0.1:9/v1")
    before = state(nb035)
    result = run("--run-dream", "--dreamer", "model")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "connection refused" in result.err
    assert state(nb035) == before


def test_the_time_that_it_is_given(nb035, endpoint, run):
    endpoint(says({"facts": []}, wait=30))
    before = state(nb035)
    result = run("--run-dream", "--dreamer", "model", "--timeout", "0.5")
    assert result.code == 2
    assert "longer than 0.5 s" in result.err
    assert state(nb035) == before


def test_the_key_is_written_nowhere(nb035, endpoint, run):
    endpoint(study(f"the key is {KEY}", text=f"{KEY} is the key"), step(PORT, {"new": f"- the key is {KEY}"}))
    result = run("--run-dream", "--dreamer", "model")
    assert result.code == 0
    assert KEY not in result.out + result.err
    run("memory", "log", "--json")
    home = nb035.parent
    assert [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_rules_ask_nobody_and_the_settings_choose(nb035, endpoint, run, monkeypatch):
    server = endpoint(study(), step(PORT))
    monkeypatch.setenv("NANOMEM_DREAM_DREAMER", "rules")
    assert run("--run-dream", "--dry-run", "--json").json["dreamer"] == "rules"
    assert server.asked == []
    monkeypatch.delenv("NANOMEM_DREAM_DREAMER")
    assert run("--run-dream", "--dry-run", "--json").json["dreamer"] == "model"
    asked = len(server.asked)
    assert asked == 2
    assert run("--run-dream", "--dreamer", "rules", "--json").json["dreamer"] == "rules"
    assert len(server.asked) == asked


def test_the_agents_own_provider_is_asked(nb035, endpoint, run, monkeypatch):
    server = endpoint(study(), step(PORT))
    for name in ("BASE_URL", "NAME", "KEY"):
        monkeypatch.delenv(f"NANOMEM_MODEL_{name}")
    monkeypatch.setenv("SCRIPTED_KEY", KEY)
    config = json.loads((nb035.parent / "config.json").read_text())
    config["providers"]["custom"] |= {"apiBase": server.url, "apiKey": "${SCRIPTED_KEY}"}
    config["modelPresets"] = {"dreams": {"model": "small-one", "provider": "custom"}}
    config["agents"]["defaults"]["dream"]["modelOverride"] = "dreams"
    (nb035.parent / "config.json").write_text(json.dumps(config))
    done = run("--run-dream", "--dreamer", "model", "--json").json
    assert done["usage"]["model"] == "small-one"
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert server.asked[0].body["model"] == "small-one"


def test_without_a_model_it_says_so(nb035, run):
    result = run("--run-dream", "--dreamer", "model")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "no language model is set up" in result.err
    assert "--dreamer rules" in result.err


def test_what_the_model_found_and_made_no_edit_of_is_named(nb035, endpoint, run):
    endpoint(study(), step())
    told = run("--run-dream", "--dreamer", "model").out
    assert "Nothing changed; 1 fact found: the model found it and made no edit of it (1)." in told
    assert "the model found it and made no edit of it: " in told
    assert "Nothing to remember" not in told


def test_a_refused_line_as_long_as_an_entry_is_cut_where_it_is_printed(nb035, endpoint, run):
    endpoint(study(), step({**PORT, "new": f"- {'word ' * 1500}"}))
    told = run("--run-dream", "--dreamer", "model").out
    (line,) = (line for line in told.splitlines() if line.startswith("Refused ("))
    assert (len(line) < 1200, line.endswith("…")) == (True, True)
