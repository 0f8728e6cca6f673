"""Keeping what was read: an object as it was, with only the changed fields replaced. Values in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No keys: the default of a value's mappings, which nobody can write into."""


def merged(
    origin: Mapping[str, Any], known: Mapping[str, Any], as_read: Mapping[str, Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """`origin` with the fields of `known` that differ from `as_read` replaced, in its own order, unknown keys kept.

    `as_read` holds the known fields as they were read from `origin`: a field that is absent there and still has that
    value stays absent, and one of a strange type stays as it is until somebody changes it. `extra`: the unknown keys.
    """
    result: dict[str, Any] = {}
    for key, value in origin.items():
        if key in known:
            result[key] = value if known[key] == as_read[key] else known[key]
        elif key in extra:
            result[key] = extra[key]
    for key, value in known.items():
        if key not in result and (not origin or value != as_read[key]):
            result[key] = value
    result.update((key, value) for key, value in extra.items() if key not in result)
    return result


def unknown(origin: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The keys of `origin` that are not in `known`, in their order."""
    return {} if origin.keys() <= known else {key: value for key, value in origin.items() if key not in known}


def text_of(value: object, default: str = "") -> str:
    """`value` when it is text, else `default`."""
    return value if isinstance(value, str) else default


def whole(value: object, default: int = 0) -> int:
    """`value` as a whole number; `default` for a truth value, a text or a fraction."""
    if isinstance(value, bool):
        return default
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else default
