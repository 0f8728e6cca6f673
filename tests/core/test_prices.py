"""Prices are those that a person set, found by the name of a model; a model without one has none."""

import pytest

from nanomem_tui.core import config
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.core.settings import Price, Settings, from_text, price, price_of
from nanomem_tui.model.settings import model_config
from tests.store.homes import make_home

PRICES = {"gpt-4o": (2.5, 10), "gpt-4o-mini": (0.15, 0.6), "anthropic/claude": (15, 75), "qwen*": (1, 2)}


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("gpt-4o", 2.5),
        ("gpt-4o-2024-08-06", 2.5),
        ("openai/GPT-4o", 2.5),
        ("gpt-4o-mini-2024-07-18", 0.15),
        ("anthropic/claude-opus-4-5", 15),
        ("openrouter/qwen3-8b", 1),
        ("gpt-4omni", None),
        ("gpt-4", None),
        ("claude-opus-4-5", None),
        ("", None),
    ],
)
def test_a_model_has_the_price_of_the_longest_name_that_it_begins_with(model, asked):
    found = price_of(model, PRICES)
    assert (found.asked if found else None) == asked


def test_the_cost_of_tokens_is_told_by_the_million():
    assert Price(2.5, 10).cost(1_000_000, 100_000) == 3.5
    assert Price(0, 0).cost(5, 5) == 0


@pytest.mark.parametrize("value", [[2.5], [1, -2], [1, "x"], "2.5", "a/b", "1/nan", [1, True], {}, None, [1, None]])
def test_what_is_no_price_is_refused(value):
    with pytest.raises(ValueError, match=r"wanted|at least|convert"):
        price(value)


def test_prices_are_set_in_any_of_the_forms_of_a_table(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "user.toml"))
    wanted = {"gpt-4o": Price(2.5, 10), "qwen*": Price(1, 2)}
    (tmp_path / "user.toml").write_text('[model_prices]\n"gpt-4o" = [2.5, 10]\n"qwen*" = "1/2"\n')
    assert config.load(None).settings.model_prices == wanted
    for text in ("gpt-4o=2.5/10,qwen*=1/2", '{"gpt-4o": [2.5, 10], "qwen*": [1, 2]}'):
        assert from_text("model_prices", text, "") == wanted
    with pytest.raises(NanomemError, match="two numbers are wanted"):
        from_text("model_prices", "gpt-4o=2.5", "")
    with pytest.raises(NanomemError, match="must be a table"):
        from_text("model_prices", "gpt-4o", "")


def test_the_model_that_is_asked_costs_what_its_name_says(tmp_path):
    paths = find_workspace(make_home(tmp_path))
    known = Settings(model_base_url="http://127.0.0.1:1/v1", model_name="gpt-4o-mini", model_prices=PRICES)
    found = model_config(paths, known, {})
    assert (found.price_in, found.price_out) == (0.15, 0.6)
    every = model_config(paths, known._replace(model_prices={"*": (3.0, 0.0)}), {})
    assert (every.price_in, every.price_out) == (3.0, 0.0)
    assert model_config(paths, known._replace(model_name="other"), {}).price_in is None
