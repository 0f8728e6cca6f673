"""What a role that is no member of a workspace asks of its schema, its log and its server: thousands of questions, by
which it reads no row, writes none, locks no table and hears of no change."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from nanomem_tui.store.database import models, postgres
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work import work_store
from tests.store.servers import connect
from tests.store.stores import add
from tests.store.test_members import hear
from tests.store.test_members import places as places

pytestmark = pytest.mark.vectors
QUESTIONS = 2_000

OF_A_RELATION = (
    "SELECT * FROM {r}", "SELECT count(*) FROM {r}", "SELECT 1 FROM {r} LIMIT 1", "SELECT EXISTS (SELECT 1 FROM {r})",
    "SELECT ctid FROM {r}", "SELECT xmin FROM {r}", "SELECT r FROM {r} AS r", "SELECT to_json(r) FROM {r} AS r",
    "SELECT * FROM ONLY {r}", "SELECT * FROM {r} TABLESAMPLE SYSTEM (100)", "TABLE {r}", "COPY {r} TO STDOUT",
    "COPY (SELECT * FROM {r}) TO STDOUT", "SELECT * FROM {r} FOR UPDATE",
    "SELECT * FROM {r} FOR KEY SHARE SKIP LOCKED",
    "WITH x AS (SELECT * FROM {r}) SELECT * FROM x", "WITH x AS (DELETE FROM {r} RETURNING *) SELECT * FROM x",
    "EXPLAIN SELECT * FROM {r}", "EXPLAIN ANALYZE SELECT * FROM {r}", "DECLARE c CURSOR FOR SELECT * FROM {r}",
    "INSERT INTO {r} DEFAULT VALUES", "INSERT INTO {r} DEFAULT VALUES ON CONFLICT DO NOTHING RETURNING *",
    "INSERT INTO {r} SELECT * FROM {r}", "DELETE FROM {r}", "DELETE FROM {r} WHERE false", "TRUNCATE {r}",
    "LOCK TABLE {r}", "LOCK TABLE {r} IN ACCESS SHARE MODE NOWAIT", "LOCK TABLE {r} IN ROW EXCLUSIVE MODE NOWAIT",
    "DROP TABLE {r}", "DROP VIEW {r}", "ALTER TABLE {r} RENAME TO taken", "ALTER TABLE {r} OWNER TO eve",
    "ALTER TABLE {r} DISABLE ROW LEVEL SECURITY", "CREATE TABLE public.taken AS SELECT * FROM {r}",
    "CREATE TABLE public.taken (LIKE {r} INCLUDING ALL)", "CREATE TABLE public.taken () INHERITS ({r})",
    "CREATE VIEW public.taken AS SELECT * FROM {r}", "CREATE MATERIALIZED VIEW public.taken AS SELECT * FROM {r}",
    "CREATE RULE taken AS ON INSERT TO {r} DO ALSO SELECT 1", "GRANT SELECT ON {r} TO eve",
    "COMMENT ON TABLE {r} IS ''",
    "CREATE TRIGGER taken AFTER INSERT ON {r} EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()",
    "CREATE PUBLICATION taken FOR TABLE {r}", "SECURITY LABEL ON TABLE {r} IS 'x'",
    "CREATE STATISTICS s ON id, at FROM {r}",
    "SELECT table_to_xml('{r}', true, true, '')", "SELECT query_to_xml('SELECT * FROM {r}', true, true, '')",
    "SELECT * FROM pg_stats WHERE schemaname = '{s}' AND tablename = '{t}'",
    "SELECT * FROM information_schema.columns WHERE table_schema = '{s}' AND table_name = '{t}'",
    ("SELECT 1 WHERE has_table_privilege('eve', (SELECT oid FROM pg_class WHERE relname = '{t}' AND relnamespace ="
        " (SELECT oid FROM pg_namespace WHERE nspname = '{s}')), 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')"),
    "ANALYZE {r}", "VACUUM {r}", "REINDEX TABLE {r}", "CLUSTER {r}",
)  # fmt: skip
OF_A_COLUMN = (
    "SELECT {c} FROM {r}", "UPDATE {r} SET {c} = {c}", "SELECT max({c}) FROM {r}",
    "CREATE INDEX ON {r} ({c})", "ALTER TABLE {r} DROP COLUMN {c}",
    "CREATE TABLE public.taken (x text REFERENCES {r} ({c}))",
)  # fmt: skip
OF_THE_SERVER = (
    "SET ROLE ana", "SET ROLE bob", "SET SESSION AUTHORIZATION ana", "SET ROLE {g}", "GRANT {g} TO eve",
    "GRANT USAGE ON SCHEMA {q} TO eve", "ALTER SCHEMA {q} OWNER TO eve", "ALTER SCHEMA {q} RENAME TO taken",
    "DROP SCHEMA {q} CASCADE", "CREATE TABLE {q}.taken (x int)",
    "CREATE FUNCTION {q}.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER DEFAULT PRIVILEGES FOR ROLE ana GRANT SELECT ON TABLES TO eve", "REASSIGN OWNED BY ana TO eve",
    "DROP OWNED BY ana", "ALTER ROLE eve SUPERUSER", "ALTER ROLE ana PASSWORD 'x'", "DROP ROLE ana",
    "SELECT schema_to_xml('{s}', true, true, '')", "SELECT pg_read_file('PG_VERSION')", "SELECT pg_ls_dir('.')",
    "SELECT * FROM pg_statistic", "SELECT * FROM pg_authid", "SELECT * FROM pg_stats WHERE schemaname = '{s}'",
    "SELECT query FROM pg_stat_activity WHERE usename <> current_user AND query NOT LIKE '<insuff%' AND query <> ''",
    # CASE: without it the server may ask for the end of every backend, eve's own first, before it looks at the name
    "SELECT 1 FROM pg_stat_activity WHERE CASE WHEN usename = 'ana' THEN pg_terminate_backend(pid) END",
    "SELECT * FROM pg_listening_channels()", "SELECT lo_export(1, '/tmp/taken')", "COPY pg_authid TO '/tmp/taken'",
    "SELECT * FROM information_schema.tables WHERE table_schema = '{s}'", "DO $$BEGIN PERFORM 1 FROM {q}.meta; END$$",
    "SELECT * FROM information_schema.role_table_grants WHERE table_schema = '{s}'",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT pg_logical_slot_peek_changes('x', NULL, NULL)",
    "SELECT * FROM pg_create_logical_replication_slot('x', 'y')",
    "SET search_path TO {q}; SELECT channel FROM meta", "SET search_path TO {q}; SELECT * FROM operations",
)  # fmt: skip


@pytest.fixture
def workspace(places):
    """A memory of ana's and bob's with rows in it and an agent's work beside them, where eve is a stranger."""
    store = places.store("ana")
    for number in range(5):
        add(store, f"k{number}", f"a secret {number}")
    work_store.make(places.database("ana"), "w")
    postgres.grant(places.database("ana"), "bob")
    places.postgres.run("postgres", "GRANT CREATE ON SCHEMA public TO eve")
    yield places
    places.postgres.run("postgres", "REVOKE CREATE ON SCHEMA public FROM eve")


def columns_of(postgres, schema):
    """Every table, view and sequence of a schema, with its columns."""
    asked = f"""SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relnamespace = '"{schema}"'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'S', 'p')"""
    found: dict[str, list[str]] = {}
    for table, column in postgres.run("postgres", asked):
        found.setdefault(table, []).append(column)
    return found


def rows_of(postgres, schema, tables):
    return [
        postgres.run("postgres", f'SELECT md5(string_agg(ROW(t.*)::text, chr(10))) FROM "{schema}"."{t}" t')
        for t in tables
    ]


def questions(schema, group, columns):
    for table, names in columns.items():
        fields = {"r": f'"{schema}"."{table}"', "s": schema, "t": table}
        yield from (shape.format(**fields) for shape in OF_A_RELATION)
        yield from (shape.format(**fields, c=f'"{name}"') for shape in OF_A_COLUMN for name in names)
    yield from (shape.format(q=f'"{schema}"', s=schema, g=f'"{group}"') for shape in OF_THE_SERVER)


def test_thousands_of_questions_read_write_and_lock_nothing(workspace):
    import psycopg

    postgres, schema = workspace.postgres, workspace.schema
    columns = columns_of(postgres, schema)
    expected = {table.name for table in (*models.METADATA.sorted_tables, *work_models.METADATA.sorted_tables)}
    assert expected <= columns.keys()
    ((group,),) = postgres.run(
        "postgres", f"SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = '{schema}'"
    )
    before = rows_of(postgres, schema, sorted(columns))
    asked, met = 0, Counter[str]()
    with connect(postgres.url("postgres", "eve")) as eve:
        locks = f"""SELECT relation::regclass FROM pg_locks WHERE pid = {eve.info.backend_pid} AND relation IN
            (SELECT oid FROM pg_class WHERE relnamespace = '"{schema}"'::regnamespace)"""
        for statement in questions(schema, group.strip('"'), columns):
            asked += 1
            alone = statement.startswith("VACUUM")  # in no transaction
            if not alone:
                eve.execute("BEGIN")
            try:
                cursor = eve.execute(statement)
            except psycopg.Error as error:
                met[type(error).__name__] += 1
            else:
                met["answered"] += 1
                rows = [] if statement.startswith("COPY") or not cursor.description else cursor.fetchall()
                assert rows == [], statement
                assert not statement.startswith(("INSERT", "UPDATE", "DELETE", "COPY")), statement
                assert postgres.run("postgres", locks) == [], statement
            finally:
                assert not eve.closed, statement
                if not alone:
                    eve.execute("ROLLBACK")
    print(asked, dict(met))
    assert asked >= QUESTIONS
    assert met["InsufficientPrivilege"] > asked * 0.8
    assert rows_of(postgres, schema, sorted(columns)) == before
    assert postgres.run("postgres", "SELECT 1 FROM pg_tables WHERE tablename = 'taken'") == []


def test_no_guessed_channel_tells_of_a_change_and_none_is_spoken_on(workspace):
    """The channel is a secret: a stranger neither hears the members on a name that it can know, nor is heard."""
    schema = workspace.schema
    known = ["nanomem", schema, "w", "*", "%", "nanomem_*", *columns_of(workspace.postgres, schema)]
    guessed = [f"nanomem_{number:024x}" for number in range(500)]
    of_ana, listening = workspace.store("ana"), workspace.database("ana", poll_seconds=30)
    assert listening.changed()
    with connect(workspace.postgres.url("postgres", "eve")) as eve:
        for channel in (*known, *guessed):
            eve.execute(f'LISTEN "{channel}"')
        for channel in itertools.chain(known, guessed[:50]):
            eve.execute("SELECT pg_notify(%s, 'x')", (f"{channel}_",))
        add(of_ana, "more", "a secret more")
        assert [note.channel for note in eve.notifies(timeout=0.5)] == []
    hear(listening)
    assert not listening.changed(), "and of nothing else"
