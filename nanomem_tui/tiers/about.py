"""What each kind of records of an agent's work is, in a sentence: for the command line and the console."""

from __future__ import annotations

from collections.abc import Mapping

ABOUT: Mapping[str, str] = {
    "event": "What happened, as agents and the system told it.",
    "metric": "What was measured, value by value.",
    "metric-hour": "What was measured, as means of an hour: what is left of values that grew old.",
    "goal": "What the agent was asked to reach, how far it is, and what came of it.",
    "task": "The steps of goals: who did them, with what, how long it took.",
    "tool-call": "Every call of a tool: what went in, what came out, why.",
    "agent-state": "The last state that each agent told of itself.",
    "decision": "What was decided, out of which options, why, and how it turned out.",
    "pattern": "What to do when something happens, and how often that worked.",
    "procedure": "Solutions of several steps that worked, with their successes and failures.",
    "incident": "What went wrong, why, and how it was put right.",
    "config-change": "Files of configuration as they were written, by whom and why.",
}
