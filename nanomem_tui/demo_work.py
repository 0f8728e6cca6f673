"""The demonstration's work: what its agent was asked to reach, how it went, what went wrong, and what happens now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.tiers.knowledge_sources import Found, text_document
from nanomem_tui.tiers.records import Stored
from nanomem_tui.workspace import Workspace

RECORDS: tuple[tuple[float, str, str, Mapping[str, Any]], ...] = (
    (190, "procedure", "restore", {
        "name": "Restore a database from restic", "description": "Bring a PostgreSQL dump back into a fresh server",
        "steps": ["restic restore latest --target /tmp/r", "createdb lantern_new",
                  "pg_restore -d lantern_new /tmp/r/*"],
        "tags": ["postgres", "backup"]}),
    (72, "goal", "certificates", {
        "description": "Renew the certificates of lantern.example before they end", "status": "completed",
        "priority": 1, "result": "Valid until 20 February"}),
    (71, "task", "certificates-look", {
        "goal_id": "certificates", "description": "See which certificates end within 30 days", "agent": "ops",
        "status": "completed", "output": {"ending": ["www", "api"]}, "duration_ms": 2100}),
    (71, "tool-call", "certificates-openssl", {
        "task_id": "certificates-look", "tool_name": "exec", "agent": "ops", "success": True, "duration_ms": 840,
        "input": {"command": "openssl s_client -connect api.lantern.example:443"}, "output": {"days": 11},
        "reason": "the end of a certificate is told by its server, not by a file"}),
    (70, "task", "certificates-renew", {
        "goal_id": "certificates", "description": "Renew both and reload nginx", "agent": "ops", "status": "completed",
        "output": {"renewed": ["www", "api"]}, "duration_ms": 41200}),
    (70, "decision", "reload", {
        "context": "nginx has to read the new certificates", "options": ["reload", "restart"], "chosen": "reload",
        "reasoning": "a reload keeps the connections that are open; a restart drops them",
        "intelligence_level": "tactical", "task_id": "certificates-renew", "outcome": "no connection was lost"}),
    (69, "pattern", "reload-first", {
        "trigger": "nginx has a new certificate", "action": "nginx -t, then reload; restart only if that fails",
        "success_rate": 0.95, "uses": 19, "created_from": "certificates-renew"}),
    (46, "incident", "disk", {
        "description": "db.lantern.internal had 2 % of its disk left", "symptoms": ["slow queries", "no new WAL files"],
        "root_cause": "WAL files waited for a replica that was switched off",
        "resolution": "dropped the replication slot of the old replica", "resolved_by": "ops",
        "prevention": "max_slot_wal_keep_size = 20GB"}),
    (45, "config-change", "slots", {
        "file_path": "/etc/postgresql/16/main/postgresql.conf", "content": "max_slot_wal_keep_size = 20GB\n",
        "changed_by": "ops", "reason": "a replica that is gone must not fill the disk"}),
    (6, "goal", "restore-drill", {
        "description": "Prove that Sunday's backup can be restored", "status": "active", "priority": 2}),
    (5, "task", "restore-fetch", {
        "goal_id": "restore-drill", "description": "Fetch the backup from b2:lantern-backup", "agent": "ops",
        "status": "completed", "duration_ms": 512000}),
    (2, "task", "restore-load", {
        "goal_id": "restore-drill", "description": "Load it into a fresh PostgreSQL 16", "agent": "ops",
        "status": "failed", "procedure_id": "restore", "duration_ms": 9100,
        "error": "pg_restore: error: unsupported version (1.15) in file header"}),
)  # fmt: skip
"""Hours ago, kind, id, fields."""

EVENTS: tuple[tuple[float, str, str], ...] = (
    (50, "Terraform plan: no changes", "ops"),
    (31, "error: pg_restore is older than the dump", "ops"),
    (12, "standup moved to 09:40", "calendar"),
    (2, "deploy of the web client began", "ops"),
)
"""Minutes ago, what was told, by whom."""

METRICS: tuple[tuple[str, tuple[float, ...], str], ...] = (
    ("db.disk.free", (38.1, 38.0, 37.6, 37.7, 37.2), "%"),
    ("web.requests", (112.0, 131.0, 97.0, 140.0, 155.0), "/s"),
)
"""Name, the values of the last minutes, unit."""

SOLUTION = """# pg_restore says "unsupported version in file header"

The dump was written by a newer pg_dump. Take the pg_restore of the same release: /usr/lib/postgresql/16/bin/pg_restore.
"""


def work(ws: Workspace, now: datetime) -> None:
    """Keep all of that in a workspace."""
    for hours, kind, key, fields in RECORDS:
        with clock.at(now - timedelta(hours=hours)):
            ws.records.store_many([Stored(kind, _timed(kind, fields), key)])
    told: list[tuple[float, str, Mapping[str, Any], str]] = [
        *((minutes, "event", {"message": said}, source) for minutes, said, source in EVENTS),
        *(
            (len(values) - place, "metric", {"name": name, "value": value, "unit": unit}, "ops")
            for name, values, unit in METRICS
            for place, value in enumerate(values)
        ),
    ]
    for minutes, category, data, source in sorted(told, key=lambda one: -one[0]):
        with clock.at(now - timedelta(minutes=minutes)):
            ws.operational.push(category, data, source)
    with clock.at(now - timedelta(hours=1)):
        ws.knowledge.add(Found([text_document(SOLUTION, "what ops found out")], []), actor="agent")


def _timed(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with the present as their time."""
    at = clock.iso(clock.now())
    return {**fields, **({"started_at": at} if kind == "task" else {})}
