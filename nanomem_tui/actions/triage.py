"""What is done with findings beyond what is done with any row, and with the rules that are made from decisions."""

from __future__ import annotations

from nanomem_tui.actions.action import Action
from nanomem_tui.conditions import writable

ON_TRIAGE: tuple[Action, ...] = (
    Action("snooze", ("Z",), "put off", "Put it off for a week; it is asked about again then.", "screen",
           ("inbox", "duplicates", "conflicts"), headless="triage snooze ID", enabled=writable, footer=16),
    Action("split", ("S",), "move scope", "Move it to the scope where it belongs: global, a chat or a person.",
           "screen", ("inbox", "items", "scopes", "conflicts"),
           headless="triage split ID --scope S", enabled=writable, footer=18,
           footers={"items": 19, "scopes": 8}, labels={"items": "to scope", "scopes": "to scope"},
           helps={"conflicts": "Both are so, each in its scope: the one at the cursor of the detail moves, "
                               "else the older.",
                  "items": "Move or copy the row, or the selected ones, to another scope: choose it by typing.",
                  "scopes": "Move or copy what leaks, or all that a scope holds, to another scope."},
           twins={**dict.fromkeys(("items", "scopes"), "scopes move ID --to S · scopes copy ID --to S"),
                  "conflicts": "conflicts split ID --scope S"}),
    Action("all_like", ("&",), "all like this", "Decide alike on all that is like this: of its kind, scope and source, "
           "for such a reason. The rule is kept with it; u takes back both.", "screen", ("inbox", "rules"), "preview",
           "triage like ID DECISION", writable, 14, labels={"rules": "apply"},
           helps={"rules": "Apply the rule to what it is about now."}, twins={"rules": "triage rules apply ID"}),
)  # fmt: skip
