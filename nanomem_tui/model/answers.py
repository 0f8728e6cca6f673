"""What an endpoint sent back, read with suspicion: the text of its answer, the object in it, what it says was used.

Owns finding one JSON object of the asked shape, whatever stands around it. Pure: bytes and texts in, values out.
Must not know how an answer travelled.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from nanomem_tui.core.text import one_line

MAX_TOKENS_TOLD = 1_000_000_000
_MAX_SAID = 200
_MAX_TRIES = 20
_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL)
_WIRE_LEFT_OUT = frozenset({"maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum"})
_NEUTRAL: Mapping[str, Any] = {"string": "", "integer": 0, "array": ()}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class Unusable(ValueError):
    """An answer that cannot be used, and why, in words that the model can be told."""


class CutAnswer(Unusable):
    """An answer that ends in the middle, because it reached the limit of its length."""


class Declined(ValueError):
    """The model, or a filter before it, does not want to answer."""


class Reply(NamedTuple):
    """The text of an answer, and whether it was cut."""

    text: str
    cut: bool


class Counted(NamedTuple):
    """What the endpoint says was used; None where it says nothing that can be believed."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


def parsed(data: bytes) -> dict[str, Any]:
    """The body of a response as an object, `{}` when it is none."""
    try:
        value = _DECODER.decode(data.decode("utf-8").strip().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def reply_of(body: Mapping[str, Any], secrets: tuple[str, ...]) -> Reply:
    """What the model wrote. Raises Unusable when there is nothing to read, Declined when it would not."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        said = _said(body, secrets)
        raise Unusable(f"the endpoint says: {said}" if said else "the response holds no answer")
    finish = choice.get("finish_reason")
    if finish == "content_filter":
        raise Declined("a content filter")
    text = _text(message.get("content"))
    refusal = message.get("refusal")
    if not text.strip() and isinstance(refusal, str) and refusal:
        raise Declined(_short(refusal, secrets))
    if not text.strip():
        if finish == "length":
            raise CutAnswer("it was cut before it began")
        raise Unusable("it calls a tool instead of answering" if message.get("tool_calls") else "it is empty")
    return Reply(scrubbed(text, secrets), finish == "length")


def value_of(reply: Reply, schema: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> dict[str, Any]:
    """The one object in the answer that fits `schema`, without the fields that nobody asked for.

    Raises Unusable: no object, one that does not fit, or two different ones. CutAnswer when it ends in the middle."""
    fitting: list[dict[str, Any]] = []
    why = ""
    for found in _objects(_THOUGHT.sub("", reply.text)):
        try:
            value = _fitted(found, schema, "the answer")
        except Unusable as error:
            why = why or str(error)
            continue
        if value not in fitting:
            fitting.append(value)
    if len(fitting) > 1:
        raise Unusable("it holds more than one JSON object")
    if fitting:
        clean: dict[str, Any] = _cleaned(fitting[0], secrets)
        return clean
    if reply.cut:
        raise CutAnswer("it ends in the middle")
    raise Unusable(why or "it holds no complete JSON object")


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` as endpoints take it: every field required, no other allowed, and no limits, which many do not know.

    The words under `suggested` are all that is allowed there; here they are not, as one wrong word spoils one entry."""
    result: dict[str, Any] = {key: value for key, value in schema.items() if key not in _WIRE_LEFT_OUT}
    if "suggested" in result:
        result["enum"] = result.pop("suggested")
    if schema.get("type") == "object":
        result["properties"] = {name: strict(inner) for name, inner in schema["properties"].items()}
        result |= {"required": list(result["properties"]), "additionalProperties": False}
    if schema.get("type") == "array":
        result["items"] = strict(schema["items"])
    return result


def told(data: bytes, secrets: tuple[str, ...]) -> str:
    """What the body of an error says, on one short line; nothing when it is a page for a browser."""
    found = _said(parsed(data), secrets)
    if found:
        return found
    text = data[:4000].decode("utf-8", "replace").strip()
    return "" if text.startswith(("<", "{")) else _short(text, secrets)


def counted(body: Mapping[str, Any]) -> Counted:
    """The tokens and the price that the response tells."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return Counted()
    cost = usage.get("cost")
    believed = isinstance(cost, int | float) and not isinstance(cost, bool) and math.isfinite(cost) and cost >= 0
    return Counted(
        _number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens")),
        float(cost) if believed and isinstance(cost, int | float) else None,
    )  # fmt: skip


def scrubbed(text: str, secrets: tuple[str, ...]) -> str:
    """`text` without any of `secrets`."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _text(content: Any) -> str:
    """The text of a message: a string, or blocks of which some are text."""
    if isinstance(content, list):
        blocks = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
        return "".join(text for text in blocks if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand in `text`, from left to right, those inside another left out."""
    at, tries = text.find("{"), 0
    while at >= 0 and tries < _MAX_TRIES:
        tries += 1
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _fitted(value: Any, schema: Mapping[str, Any], where: str) -> Any:
    """`value` as `schema` wants it, what is left out or null filled with nothing unless it is required."""
    kind = schema["type"]
    if kind == "object":
        if not isinstance(value, dict):
            raise Unusable(f"{where} is no object")
        fields = {}
        for name, inner in schema["properties"].items():
            given = value.get(name)
            if given is None:
                if name in schema.get("required", ()):
                    raise Unusable(f"{where} has no `{name}`")
                fields[name] = _NEUTRAL[inner["type"]]
            else:
                fields[name] = _fitted(given, inner, f"`{name}`")
        return fields
    if kind == "array":
        if not isinstance(value, list):
            raise Unusable(f"{where} is no list")
        if len(value) > schema.get("maxItems", len(value)):
            raise Unusable(f"{where} has more than {schema['maxItems']} entries")
        return tuple(_fitted(entry, schema["items"], f"an entry of {where}") for entry in value)
    return _string(value, schema, where) if kind == "string" else _integer(value, where)


def _string(value: Any, schema: Mapping[str, Any], where: str) -> str:
    if not isinstance(value, str):
        raise Unusable(f"{where} is no text")
    if len(value) > schema.get("maxLength", len(value)):
        raise Unusable(f"{where} is longer than {schema['maxLength']} characters")
    if "enum" in schema and value not in schema["enum"]:
        raise Unusable(f"{where} must be one of {', '.join(schema['enum'])}")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise Unusable(f"{where} holds half a character")
    return value


def _integer(value: Any, where: str) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not whole or isinstance(value, bool) or abs(value) > MAX_TOKENS_TOLD:
        raise Unusable(f"{where} is no number that can be meant")
    return int(value)


def _cleaned(value: Any, secrets: tuple[str, ...]) -> Any:
    """`value` with the secrets taken out of its texts: an escape in the JSON may have hidden one."""
    if isinstance(value, str):
        return scrubbed(value, secrets)
    if isinstance(value, dict):
        return {name: _cleaned(inner, secrets) for name, inner in value.items()}
    return tuple(_cleaned(inner, secrets) for inner in value) if isinstance(value, tuple) else value


def _said(body: Mapping[str, Any], secrets: tuple[str, ...]) -> str:
    error = body.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    found = next((x for x in (inner, body.get("message"), body.get("detail")) if isinstance(x, str) and x), "")
    return _short(found, secrets)


def _short(text: str, secrets: tuple[str, ...]) -> str:
    return one_line(scrubbed(text[:4000], secrets), _MAX_SAID)


def _number(value: Any) -> int | None:
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS_TOLD
    return value if fine else None
