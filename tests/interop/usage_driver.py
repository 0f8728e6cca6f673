"""Has a real nanobot-ai 0.3.5 write its token log, and tell what it makes of it; stays alive until its input ends.

Runs under the Python of the agent's own environment: the standard library and nanobot only, nothing of ours.

    usage_driver.py LOG TIMEZONE    calls come as one line of JSON on standard input; prints the agent's own payload
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from nanobot.llm_usage.models import LLMCallRecord
from nanobot.llm_usage.store import LLMUsageStore
from nanobot.providers.base import LLMUsage


def main() -> None:
    store = LLMUsageStore(Path(sys.argv[1]))
    for call in json.loads(sys.stdin.readline()):
        tokens = call.pop("tokens")
        usage = None
        if tokens is not None:
            asked, answered, total, estimated = tokens
            usage = LLMUsage(
                input_tokens=asked, output_tokens=answered, total_tokens=total, reported_tokens=total - estimated,
                estimated_tokens=estimated, request_count=1,
            )  # fmt: skip
        record = LLMCallRecord(duration_ms=1, provider="openai", stream=True, usage=usage, **call)
        store.record(record)
    print(json.dumps(store.usage_payload(timezone_name=sys.argv[2])), flush=True)
    sys.stdin.read()  # an agent does not close its log as long as it lives


if __name__ == "__main__":
    main()
