"""What the database itself refuses: changing a trace, a link or an erasure, and deleting one outside retention.

Installed after every migration, so that a table made anew by one has its guards again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

# table: the condition under which a row may be deleted
TABLES = {
    "runs_trace": "EXISTS (SELECT 1 FROM runs_erasure WHERE runs_erasure.entry_id = OLD.entry_id)",
    "runs_chainentry": None,
    "runs_erasure": None,
}
REFUSED = "a trace is written once: it is never changed, and deleted only with a reason (docs/runs.md)"


def install(using: str = "default", **_: Any) -> None:
    """Make the triggers, or make them again."""
    connection = connections[using]
    if not set(TABLES) <= set(connection.introspection.table_names()):
        return  # an older state of the database, on the way to this one
    statements = _postgresql() if connection.vendor == "postgresql" else _sqlite()
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def remove(using: str = "default") -> None:
    """Drop the triggers: for emptying a whole database only."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for table in TABLES:
            for event in ("update", "delete"):
                where = f" ON {table}" if connection.vendor == "postgresql" else ""
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_no_{event}{where}")


@contextmanager
def lifted(using: str = "default") -> Iterator[None]:
    """Without the guards, for emptying a whole database."""
    remove(using)
    try:
        yield
    finally:
        install(using)


def _sqlite() -> Iterator[str]:
    for table, unless in TABLES.items():
        yield f"CREATE TRIGGER IF NOT EXISTS {table}_no_update BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
        when = f"WHEN NOT {unless} " if unless else ""
        yield f"CREATE TRIGGER IF NOT EXISTS {table}_no_delete BEFORE DELETE ON {table} {when}BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"


def _postgresql() -> Iterator[str]:
    yield (
        "CREATE OR REPLACE FUNCTION runs_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION '{REFUSED}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    for table, unless in TABLES.items():
        yield (
            f"CREATE OR REPLACE TRIGGER {table}_no_update BEFORE UPDATE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION runs_refuse()"
        )
        # A trigger's WHEN can't hold a subquery there, so the condition is a function of its own.
        body = f"IF {unless} THEN RETURN OLD; END IF; " if unless else ""
        yield (
            f"CREATE OR REPLACE FUNCTION {table}_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}"
            f"RAISE EXCEPTION '{REFUSED}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
        yield (
            f"CREATE OR REPLACE TRIGGER {table}_no_delete BEFORE DELETE ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {table}_refuse_delete()"
        )
