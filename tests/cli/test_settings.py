"""`nanomem config` where a file holds what cannot be used, what can never work, and the way back from each change."""

import json
import shlex
import tomllib

import pytest
from textual.theme import BUILTIN_THEMES

from nanomem_tui.core import config, settings
from nanomem_tui.core.settings import LOOKS
from nanomem_tui.widgets.theme import THEME_NAMES
from tests.store.homes import make_home


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The user's settings file, beside a small home that is the default one."""
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(make_home(tmp_path)))
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "config.toml"))
    return tmp_path / "config.toml"


BROKEN = 'theme = "nord"\nrecall_max_results = "many"\n'


def test_a_bad_value_is_shown_with_its_line_and_what_is_used_instead(file, run):
    file.write_text(BROKEN)
    shown = run("config", "show", "--json").json
    assert (shown["settings"]["recall_max_results"], shown["settings"]["theme"]) == (8, "nord")
    (problem,) = shown["problems"]
    assert (problem["where"], problem["line"], problem["severity"]) == (str(file), 2, "error")
    assert problem["what"].endswith("not 'many'; 8 (default) is used instead")
    assert "8 (default) is used instead" in run("config", "show").out
    told = run("doctor", "--json")
    assert told.code == 1
    assert [entry for entry in told.json if "recall_max_results" in entry["what"]]
    assert (run("memory", "list").code, run("memory", "list").err.count("\n")) == (2, 1)


def test_a_file_that_does_not_parse_is_shown_and_never_written(file, run):
    file.write_text("max_items = \n")
    assert "do not parse" in run("config", "show").out
    assert "do not parse" in run("doctor").out
    assert run("config", "set", "max_items", "9").code == 2
    assert file.read_text() == "max_items = \n"


def test_a_file_with_a_bad_value_is_written_and_repaired(file, run):
    file.write_text(BROKEN)
    done = run("config", "set", "max_items", "9")
    assert (done.code, "max_items = 9" in done.out, "recall_max_results" in done.err) == (0, True, True)
    assert tomllib.loads(file.read_text())["max_items"] == 9
    repaired = run("config", "unset", "recall_max_results")
    assert (repaired.code, repaired.err) == (0, "")
    assert "takes it back" not in repaired.out  # what cannot be set is no way back
    assert run("memory", "list").code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wal_state_dir", "../x"),
        ("wal_state_dir", "/etc"),
        ("wal_state_dir", "."),
        ("theme", "nope"),
        ("dream_cron", "nope"),
        ("dream_cron", "61 * * * *"),
        ("capture_inbox_roles", "foo"),
        ("capture_min_confidence", "99"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_set_and_when_it_is_read(file, run, name, text):
    refused = run("config", "set", name, text)
    assert (refused.code, refused.err.count("\n"), name in refused.err) == (2, 1, True)
    assert not file.exists()
    value = {"capture_inbox_roles": [text], "capture_min_confidence": 99.0}.get(name, text)
    file.write_text(f"{name} = {config.toml_value(value)}\n")
    listed = run("memory", "list")
    assert (name in listed.err) is (name not in LOOKS)  # what only the console looks like hinders no command
    assert run("config", "show", "--json").json["settings"][name] == _plain(settings.Settings()._asdict()[name])


def _plain(value):
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    ("name", "text", "toml"),
    [
        ("capture_channels", "telegram", '["telegram"]'),
        ("keys", '{"undo": "f6"}', '{ undo = "f6" }'),
        ("export", "off", "false"),
        ("theme", "nord", '"nord"'),
        ("dream_cron", "0 4 * * *", '"0 4 * * *"'),
        ("capture_max_entries_per_turn", "0", "0"),
    ],
)
def test_what_was_set_is_told_in_toml_and_can_be_taken_back(file, run, name, text, toml):
    done = run("config", "set", name, text)
    assert done.out.startswith(f"{name} = {toml} in {file}; it was not set there; `nanomem config unset {name}` takes")
    assert tomllib.loads(f"{name} = {toml}") == tomllib.loads(file.read_text())
    assert toml in run("config", "show").out
    was = file.read_text()
    back = run("config", "unset", name, "--json").json["undo"]
    assert run(*shlex.split(back)[1:]).code == 0
    assert file.read_text() == was


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("undo=f6", {"undo": "f6"}),
        ("undo=f6, redo = f7", {"undo": "f6", "redo": "f7"}),
        ('{"undo": "f6"}', {"undo": "f6"}),
        ('{ undo = "f6" }', {"undo": "f6"}),
        ("{}", {}),
    ],
)
def test_a_table_is_set_as_people_write_it(file, run, text, value):
    assert run("config", "set", "keys", text).code == 0
    assert tomllib.loads(file.read_text())["keys"] == value


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("retention_days", "user", "must be a table of numbers, not 'user'"),
        ("retention_days", '{fact="soon"}', "of fact must be a whole number of at least 0, not 'soon'"),
        ("retention_days", "mood=3", "cannot hold 'mood'"),
        ("retention_days", "[1]", "must be a table of numbers"),
        ("keys", '{"undo": 3}', "must be a table of texts"),
        ("keys", '{"nosuch": "a"}', "there is no action `nosuch`: keys. Fix: docs/keys.md"),
        ("keys", "unda=a", "did you mean `undo`?"),
        ("keys", "undo=", "no key is given for “undo”"),
        ("keys", "undo=q", "q is both"),
    ],
)
def test_a_table_that_cannot_work_is_refused_in_a_line(file, run, name, text, says):
    refused = run("config", "set", name, text)
    assert (refused.code, refused.err.count("\n"), file.exists()) == (2, 1, False)
    assert says in refused.err
    assert "internal error" not in refused.err


def test_a_text_in_place_of_a_table_is_named_and_repaired(file, run):
    file.write_text('theme = "nord"\nretention_days = "x"\n')
    (problem,) = run("config", "show", "--json").json["problems"]
    assert problem["line"] == 2
    assert problem["what"].startswith("`retention_days` must be a table of numbers, not 'x'; { episodic = 90, fact = ")
    for line in (["recall", "tea"], ["memory", "status"]):
        assert f"{file}" in run(*line).err
    assert run("config", "unset", "retention_days").code == 0
    assert tomllib.loads(file.read_text()) == {"theme": "nord"}


@pytest.mark.parametrize(
    "address",
    ["ftp://x", "localhost:8080/v1", "http://", "http://me:s3cret@host/v1", "https://me@host/v1", "http://[x"],
)
def test_an_address_that_cannot_be_asked_is_refused_and_never_repeated(file, run, address):
    refused = run("config", "set", "embedding_base_url", address)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "s3cret" not in refused.err
    assert not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'embedding_base_url = "{address}"\n')
    shown = run("config", "show")
    assert "`embedding_base_url` cannot be used" in shown.out
    assert "s3cret" not in shown.out
    done = run("config", "set", "embedding_base_url", "http://127.0.0.1:8080/v1")
    assert done.code == 0
    assert "s3cret" not in done.out + done.err


LIKE = "postgresql+psycopg://user@host/database"


@pytest.mark.parametrize("name", ["database_url", "pgvector_url"])
@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("foo", "is no address of a PostgreSQL database"),
        ("mysql://me:s3cret@host/db", "is no address of a PostgreSQL database"),
        ("sqlite:///x.db", "is no address of a PostgreSQL database"),
        ("http://db.example/memory", "is no address of a PostgreSQL database"),
        ("postgresql+psycopg://owner1:s3cret@127.0.0.1:55432/memory", "holds a password"),
        ("postgres://owner1:s3cret/and#more?@host/memory", "holds a password"),
        ("postgresql://own@er:s3cret@host/memory", "holds a password"),
        ("postgresql://owner1@host/memory?sslmode=require&password=s3cret", "holds a password"),
        ("host=db dbname=memory password = 's3cret'", "holds a password"),
    ],
)
def test_an_address_that_leads_to_no_database_is_refused_and_no_password_is_repeated(file, run, name, address, says):
    refused = run("config", "set", name, address)
    assert (refused.code, refused.out, refused.err.count("\n"), file.exists()) == (2, "", 1, False)
    assert f"`{name}` {says}" in refused.err
    assert LIKE in refused.err
    assert "s3cret" not in refused.err
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{name} = {json.dumps(address)}\n")
    for line in (["show"], ["show", "--json"], ["set", name, LIKE, "--dry-run"], ["unset", name, "--dry-run"]):
        shown = run("config", *line)
        assert (shown.code, "s3cret" in shown.out + shown.err) == (0, False), shown
    done = run("config", "set", name, "")
    assert (done.code, "takes it back" in done.out, "s3cret" in done.out + done.err) == (0, False, False), done
    file.write_text(f"{name} = {json.dumps(address)}\n")
    told = run("config", "set", name, LIKE, "--json")
    assert (told.code, told.json["undo"], "s3cret" in told.out) == (0, "", False)
    assert tomllib.loads(file.read_text()) == {name: LIKE}


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://agent@db.internal/memory",
        "postgres://db.internal:5432/memory?user=agent@db.internal",
        "postgresql://agent@h1:5432,h2:5433/memory?options=-csearch_path%3Dmemory",
        "postgresql://[::1]:5432/memory?application_name=a@b",
        "postgresql://postgres:@/postgres?host=/var/run",
        "host=/var/run dbname=memory",
    ],
)
def test_an_address_of_a_database_is_taken_as_libpq_takes_it(file, run, address):
    assert run("config", "set", "database_url", address).code == 0
    assert tomllib.loads(file.read_text()) == {"database_url": address}
    assert shlex.quote(address) in run("config", "set", "database_url", "").out


@pytest.mark.sqlite("the file itself")
def test_a_memory_that_a_server_is_named_for_is_told_to_stay_in_its_file(workspace, run):
    address = "postgresql://agent@/memory?host=/var/run"
    assert run("config", "set", "--here", "database_url", address).err == ""
    run("config", "unset", "--here", "database_url")
    run("memory", "add", "--text", "Prefers trains over planes")
    (database,) = workspace.parent.rglob("nanomem.db")
    move = f"nanomem migrate-store sqlite '{address}'"
    note = f"Note: the memory in {database} stays there, out of use; `{move}` moves it.\n"
    assert run("config", "set", "--here", "database_url", address, "--dry-run").err == note
    done = run("config", "set", "--here", "database_url", address)
    assert (done.code, done.err) == (0, note)
    assert run("config", "set", "--here", "database_url", "").err == ""
    assert run("config", "set", "--here", "flush_interval_seconds", "60").err == ""


@pytest.mark.parametrize(
    ("name", "address", "code"),
    [
        ("chroma_url", "x", 2), ("chroma_url", "http://127.0.0.1", 2), ("chroma_url", "http://u:s3cret@h:8000", 2),
        ("chroma_url", "http://127.0.0.1:8000", 0), ("model_base_url", "foo", 2), ("model_base_url", "ftp://h/v1", 2),
        ("model_base_url", "http://127.0.0.1:8080/v1", 0), ("model_base_url", "https://u:s3cret@h/v1", 0),
    ],
)  # fmt: skip
def test_an_address_of_a_service_is_one_of_http(file, run, name, address, code):
    done = run("config", "set", name, address)
    assert (done.code, file.exists(), "s3cret" in done.out + done.err) == (code, not code, False), done


def test_the_themes_that_may_be_set_are_those_of_the_console():
    assert set(settings.THEMES) - {"auto", "dark", "light"} >= {*THEME_NAMES, *BUILTIN_THEMES}


def test_what_is_wrong_with_moved_keys_is_named_by_status_doctor_and_show(file, run):
    file.write_text('[keys]\ndisable = "f6"\ndelete = "q"\nundo = "ctrl+shift+mega"\n', encoding="utf-8")
    for command in (("memory", "status"), ("doctor",), ("config", "show")):
        shown = run(*command)
        text = shown.out + shown.err
        assert "there is no action “disable”; did you mean `toggle`?" in text
        assert "q is both" in text
        assert "there is no key “ctrl+shift+mega”" in text
