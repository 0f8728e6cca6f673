"""JSON that others may have written: what is nested too deep to be read is no JSON, as anything else that is none."""

from __future__ import annotations

import json
from typing import Any


def loads(data: str | bytes) -> Any:
    """The value of a text. Raises ValueError, also for a million brackets, at which `json.loads` raises RecursionError:
    a trap that callers forget."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
