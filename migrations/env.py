"""Alembic's entry: runs on the connection the service hands over, or on KATARIBE_DATABASE_URL from the command line."""

import os
from typing import Literal

from alembic import context
from sqlalchemy import Connection
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import AutoString

import service.store.tables  # noqa: F401 - fills the metadata
from service.store.session import Database


def render_item(kind: str, item: object, _: object) -> str | Literal[False]:
    """Write SQLModel's own string type as plain SQLAlchemy: a migration outlives the library that drew it."""
    return "sa.String()" if kind == "type" and isinstance(item, AutoString) else False


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=SQLModel.metadata,
        render_as_batch=True,
        compare_type=True,
        render_item=render_item,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = Database(os.environ["KATARIBE_DATABASE_URL"])
    with database.engine.begin() as own:
        run(own)
    database.close()
