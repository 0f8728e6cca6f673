"""Settings: our files, then the environment, then the agent's configuration; each refusal is one clear line."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import config, settings
from nanomem_tui.core.errors import BadInput, InvalidConfig, NanomemError
from nanomem_tui.core.paths import find_workspace, user_settings
from nanomem_tui.core.settings import Settings
from tests.store.homes import make_home

pytestmark = pytest.mark.usefixtures("recall_as_set")


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "user.toml"))
    return find_workspace(make_home(tmp_path, config={"agents": {"memory": {"flushEveryUpdates": 5}}}))


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_a_setting_of_an_earlier_version_is_named_and_has_no_effect(tmp_path):
    paths = find_workspace(make_home(tmp_path))
    paths.settings.parent.mkdir(exist_ok=True)
    paths.settings.write_text("tiers_undo_days = 3\nmax_items = 7\n")
    loaded = config.load(paths)
    assert loaded.settings.max_items == 7
    assert [(problem.what, problem.fix) for problem in loaded.problems] == [
        ("`tiers_undo_days` is no setting any more", "remove the line")
    ]


def test_the_nearer_source_wins_and_is_named(paths, monkeypatch):
    agent = str(paths.agent_config)
    assert config.load(None).settings == Settings()
    steps = [(5, agent)]
    loaded = [config.load(paths)]
    monkeypatch.setenv("NANOMEM_FLUSH_EVERY_UPDATES", "6")
    steps.append((6, "environment"))
    loaded.append(config.load(paths))
    write(user_settings(), "flush_every_updates = 7")
    steps.append((7, str(user_settings())))
    loaded.append(config.load(paths))
    write(paths.settings, "flush_every_updates = 8")
    steps.append((8, str(paths.settings)))
    loaded.append(config.load(paths))
    assert [(found.settings.flush_every_updates, found.sources["flush_every_updates"]) for found in loaded] == steps


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("flush_every_updates = ", "do not parse"),
        ("= 5", "do not parse"),
        ('flush_every_updates = "8"', "must be a whole number"),
        ("flush_every_updates = 0", "at least 1"),
        ("flush_every_updates = true", "must be a whole number"),
        ("export = 1", "must be true or false"),
        ("flush_interval_seconds = nan", "must be a number"),
        ("flush_interval_seconds = inf", "must be a number"),
        ("flush_interval_seconds = -1", "at least 0"),
    ],
)
def test_our_own_file_is_taken_seriously(paths, text, says):
    write(paths.settings, text)
    with pytest.raises(InvalidConfig, match=says) as caught:
        open_workspace(paths.workspace)
    assert str(paths.settings) in caught.value.line()
    assert "\n" not in caught.value.line()


@pytest.mark.parametrize("text", ["theme = 5", 'theme = "solarized"', "keys = 5", "[keys]\ndelete = 3", "ascii = 1"])
def test_a_wrong_look_of_the_console_keeps_nobody_from_their_memory(paths, text):
    write(paths.settings, text)
    loaded = config.load(paths)
    usual = Settings()
    assert loaded.settings[-6:] == usual[-6:]  # the looks stand last
    assert len(loaded.problems) == 1
    assert "is used instead" in loaded.problems[0].what
    assert loaded.problems[0].where == str(paths.settings)


def test_bytes_that_are_no_text_and_a_folder_in_place_of_a_file(paths):
    write(paths.settings, "")
    paths.settings.write_bytes(b'theme = "\xff"')
    with pytest.raises(InvalidConfig):
        config.load(paths)
    paths.settings.unlink()
    paths.settings.mkdir()
    with pytest.raises(NanomemError, match="reading the settings"):
        config.load(paths)


def test_a_misspelt_name_is_only_a_warning_with_a_hint(paths):
    write(paths.settings, "flush_every_update = 3\nzzz = 1")
    problems = config.load(paths).problems
    assert [(p.severity, p.fix) for p in problems] == [
        ("warning", "did you mean `flush_every_updates`?"),
        ("warning", ""),
    ]
    write(paths.settings, "[recall]\nmax_results = 3")
    assert [p.text() for p in config.load(paths).problems] == [
        f"{paths.settings}: unknown setting `recall` (did you mean `recall_max_results`?)"
    ]


def test_a_settings_file_may_begin_with_a_byte_order_mark(paths):
    write(paths.settings, "\ufeffmax_items = 7\n")
    assert config.load(paths).settings.max_items == 7
    write(paths.settings, "\ufeffmax_items = -7\n")
    assert [problem.line for problem in config.load(paths, forgiving=True).problems] == [1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"agents": []}',
        b'{"agents": {"memory": {"flushEveryUpdates": "x"}}}',
    ],
)
def test_an_agents_configuration_stops_nothing(paths, content):
    assert paths.agent_config is not None
    paths.agent_config.write_bytes(content)
    loaded = config.load(paths)
    usual = Settings()
    assert loaded.settings[-6:] == usual[-6:]  # the looks stand last
    assert all(problem.severity == "warning" for problem in loaded.problems)
    assert len(loaded.problems) == 1
    assert loaded.problems[0].where.startswith(str(paths.agent_config))


def test_the_agents_own_settings_are_used(paths):
    assert paths.agent_config is not None
    body = {
        "agents": {
            "memory": {"flushEveryUpdates": 3, "flushIntervalSeconds": 9},
            "selfImprovement": {"maxLessons": 50, "maxLessonsInPrompt": 2},
            "sessions": {"compactKeepMessages": 40},
            "defaults": {"dream": {"maxBatchSize": 5, "maxIterations": 2}},
        }
    }
    paths.agent_config.write_text(json.dumps(body))
    got = config.load(paths).settings
    assert got == Settings(
        flush_every_updates=3,
        flush_interval_seconds=9.0,
        max_lessons=50,
        max_lessons_in_prompt=2,
        session_keep_messages=40,
        dream_max_batch_size=5,
        dream_max_iterations=2,
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("export", "off", False),
        ("export", " YES ", True),
        ("max_items", "12", 12),
        ("flush_interval_seconds", "1.5", 1.5),
        ("theme", "nord", "nord"),
        ("keys", '{"undo": "x"}', {"undo": "x"}),
    ],
)
def test_text_becomes_the_value_it_means(name, text, value):
    assert settings.from_text(name, text, "here") == value


@pytest.mark.parametrize(
    ("name", "text"), [("export", "maybe"), ("max_items", "1.5"), ("max_items", ""), ("themes", "x")]
)
def test_text_that_means_nothing_is_refused(name, text):
    with pytest.raises(BadInput, match="here"):
        settings.from_text(name, text, "here")


def test_the_environment_is_refused_by_name(paths, monkeypatch):
    monkeypatch.setenv("NANOMEM_MAX_ITEMS", "many")
    monkeypatch.setenv("NANOMEM_NO_SUCH_SETTING", "1")
    with pytest.raises(InvalidConfig, match="NANOMEM_MAX_ITEMS"):
        config.load(paths)


def test_every_setting_is_explained():
    assert tuple(settings.ABOUT) == Settings._fields
    assert all(about.help for about in settings.ABOUT.values())


def test_a_setting_of_few_words_takes_no_other(tmp_path):
    assert settings.from_text("mirrors", "off", "here") == "off"
    with pytest.raises(InvalidConfig, match="one of auto, on, off"):
        settings.from_text("mirrors", "sometimes", "here")


SEED_001 = {
    "enabled": True,
    "dbPath": "~/.nanobot/memory/longterm.db",
    "backend": "sqlite_fts",
    "recall": {"maxResults": 8, "maxPromptChars": 2400, "userPreferenceLayerResults": 2},
    "capture": {
        "enabled": True,
        "mode": "heuristic",
        "minConfidence": 0.78,
        "minImportance": 0.6,
        "channels": ["cli", "telegram", "whatsapp", "discord", "feishu"],
        "captureAssistant": False,
        "maxEntriesPerTurn": 4,
    },
    "retention": {"episodicDays": 90, "factDays": 3650, "preferenceDays": 3650, "decisionDays": 3650},
    "wal": {"enabled": True, "stateDir": "memory/session-state"},
    "embedding": {"enabled": False, "backend": "reserved_hybrid"},
}
SEED_000 = {
    "memory": {"flushEveryUpdates": 8, "flushIntervalSeconds": 120, "shortTermTurns": 12, "pendingLimit": 20},
    "sessions": {
        "compactThresholdMessages": 400,
        "compactThresholdBytes": 2_000_000,
        "compactKeepMessages": 300,
    },
    "selfImprovement": {
        "enabled": True,
        "maxLessonsInPrompt": 5,
        "minLessonConfidence": 1,
        "maxLessons": 200,
        "lessonConfidenceDecayHours": 168,
        "feedbackMaxMessageChars": 220,
        "feedbackRequirePrefix": True,
        "promotionEnabled": True,
        "promotionMinUsers": 3,
        "promotionTriggers": ["response:length", "response:language"],
    },
}


def agent_says(paths, body):
    assert paths.agent_config is not None
    paths.agent_config.write_text(json.dumps(body))
    return config.load(paths)


def test_the_two_published_configurations_are_our_defaults_and_every_key_of_them_is_known(paths):
    loaded = agent_says(paths, {"memory": SEED_001, "agents": SEED_000})
    assert loaded.problems == ()
    other = {
        "recall_backend": "sqlite_fts",
        "memory_db_path": "~/.nanobot/memory/longterm.db",
        "recall_user_layer_results": 2,  # ours gives as many as there is room for
    }
    embedding = {"embedding_enabled": False, "embedding_backend": "reserved_hybrid"}  # ours searches where it can
    assert loaded.settings == Settings(**other, **embedding)
    given = {name for name, about in settings.ABOUT.items() if about.agent_key and not name.startswith("dream_")}
    assert set(loaded.sources) == (given | {"retention_days"}) - {"agent_name"}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("enabled", False), {"memory_enabled": False}),
        (("capture", {"enabled": False}), {"capture_enabled": False}),
        (("capture", {"channels": ["cli"]}), {"capture_channels": ("cli",)}),
        (("recall", {"maxPromptChars": 600}), {"recall_max_prompt_chars": 600}),
        (
            ("capture", {"minConfidence": 0.95, "minImportance": 0.88}),
            {"capture_min_confidence": 0.95, "capture_min_importance": 0.88},
        ),
        (("wal", {"enabled": False}), {"wal_enabled": False}),
        (("embedding", {"enabled": False}), {"embedding_enabled": False}),
    ],
)
def test_every_steering_example_steers(paths, keys, expected):
    loaded = agent_says(paths, {"memory": {keys[0]: keys[1]}})
    assert loaded.problems == ()
    assert loaded.settings == Settings(**expected)
    assert set(loaded.sources) == set(expected)


def test_an_unknown_key_of_the_agents_memory_is_named_with_the_nearest(paths):
    body = {
        "memory": {
            "capture": {"minConfidance": 0.9},
            "recal": {"maxResults": 3},
            "somethingElse": 1,
            "recall": {"minScor": 1},
            "maxResults": 3,
        },
        "agents": {"selfImprovement": {"maxLesson": 3}, "defaults": {"model": "x"}},
        "channels": {"telegram": {}},
    }
    problems = {problem.what: problem.fix for problem in agent_says(paths, body).problems}
    assert problems == {
        "unknown key `memory.capture.minConfidance`": "did you mean `memory.capture.minConfidence`?",
        "unknown key `memory.recal`": "did you mean `memory.recall`?",
        "unknown key `memory.somethingElse`": problems["unknown key `memory.somethingElse`"],
        "unknown key `memory.recall.minScor`": "`memory.recall` may hold maxPromptChars, maxResults, "
        "userPreferenceLayerResults",
        "unknown key `memory.maxResults`": "did you mean `memory.recall.maxResults`?",
        "unknown key `agents.selfImprovement.maxLesson`": "did you mean `agents.selfImprovement.maxLessons`?",
    }


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ([], ["the agent's configuration must be an object, not []"]),
        ({"memory": []}, ["`memory` must be an object, not [] (`memory` may hold backend, capture, dbPath, "]),
        (
            {"memory": {"recall": "on", "wal": None}},
            ['`memory.recall` must be an object, not "on" (`memory.recall` may'],
        ),
        ({"agents": {"defaults": {"dream": 2}}}, ["`agents.defaults.dream` must be an object, not 2"]),
        ({"learning": {"enabled": 0}}, ["key `learning.enabled` (did you mean `agents.selfImprovement.enabled`?)"]),
        ({"lessons": {"enabled": 0}}, ["key `lessons.enabled` (did you mean `agents.selfImprovement.enabled`?)"]),
        (
            {"agents": {"defaults": {"memory": {"shortTermTurns": 3}}}, "recall": True},
            [
                "unknown key `recall` (`memory.recall` may hold",
                "key `agents.defaults.memory.shortTermTurns` (did you mean `agents.memory.shortTermTurns`?)",
            ],
        ),
        ({"shortTermTurns": 3}, ["unknown key `shortTermTurns` (did you mean `agents.memory.shortTermTurns`?)"]),
        ({"agents": {"wal": {"enabeld": True}}}, ["`agents.wal.enabeld` (did you mean `memory.wal.enabled`?)"]),
    ],
)
def test_a_wrong_shape_and_a_wrong_place_in_the_agents_configuration_are_named(paths, body, says):
    loaded = agent_says(paths, body)
    usual = Settings()
    assert loaded.settings[-6:] == usual[-6:]  # the looks stand last
    assert len(loaded.problems) == len(says)
    for problem, words in zip(loaded.problems, says, strict=True):
        assert problem.text().startswith(f"{paths.agent_config}: ")
        assert words in problem.text()


def test_what_an_agent_keeps_for_itself_is_no_mistake(paths):
    body = {
        "agents": {"defaults": {"model": "x", "contextWindowTokens": 5, "dream": {"modelOverride": "y"}}},
        "channels": {"enabled": True},
        "tools": {"web": {"search": {"maxResults": 5}}, "mcpServers": {"memory": {"enabled": True}}},
    }
    assert agent_says(paths, body).problems == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("capture_min_confidence = 1.5", "from 0 to 1"),
        ('capture_channels = "cli"', "must be a list"),
        ("capture_channels = [1]", "must be a list"),
        ('capture_inbox_roles = ["everyone"]', "cannot be 'everyone'"),
        ("retention_days = {mood = 3}", "cannot hold 'mood'"),
        ("retention_days = {fact = -1}", "of fact must be a whole number of at least 0, not -1"),
        ("retention_days = {fact = true}", "of fact must be a whole number"),
        ('recall_backend = "oracle"', "cannot be 'oracle'"),
    ],
)
def test_lists_tables_and_bounds_are_checked(paths, text, says):
    write(paths.settings, text)
    with pytest.raises(InvalidConfig, match=says):
        config.load(paths)


def test_the_days_of_each_kind_come_from_whoever_names_it_first_by_its_old_or_its_new_name(paths, monkeypatch):
    paths.agent_config.write_text(json.dumps({"memory": {"retention": {"episodicDays": 7, "decisionDays": 8}}}))
    monkeypatch.setenv("NANOMEM_RETENTION_PREFERENCE_DAYS", "0")
    write(paths.settings, "retention_fact_days = 12\n[retention_days]\nepisodic = 9\n")
    loaded = config.load(paths)
    assert loaded.settings.retention_days == {"episodic": 9, "fact": 12, "preference": 0, "decision": 8}
    assert [(one.what, one.where) for one in loaded.problems] == [
        ("`retention_fact_days` is now `retention_days`", str(paths.settings)),
        ("`retention_preference_days` is now `retention_days`", config.ENVIRONMENT),
    ]


def test_the_path_of_an_embedding_model_is_read_by_its_old_name(paths):
    write(paths.settings, 'embedding_path = "~/m"\n')
    loaded = config.load(paths)
    assert loaded.settings.embedding_model == "~/m"
    assert [one.what for one in loaded.problems] == ["`embedding_path` is now `embedding_model`"]


def test_lists_and_tables_are_read_from_every_source(paths, monkeypatch):
    monkeypatch.setenv("NANOMEM_CAPTURE_CHANNELS", "cli, matrix")
    write(paths.settings, 'keys = {undo = "f6"}\ncapture_inbox_roles = []')
    got = config.load(paths).settings
    assert got.capture_channels == ("cli", "matrix")
    assert got.keys == {"undo": "f6"}
    assert got.capture_inbox_roles == ()
    assert settings.from_text("capture_senders", '["a", "b"]', "here") == ("a", "b")
