"""Whom facts are about, by id.

Revision: 0021_whom_facts_are_about, after 0020_recalled. Of a fact from before nobody knows it: it is found by the
name of whom it is about, and by whom it was heard from.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021_whom_facts_are_about"
down_revision = "0020_recalled"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("facts", sa.Column("people", sa.JSON(), nullable=False, server_default="[]"))
    with op.batch_alter_table("facts") as facts:
        facts.alter_column("people", server_default=None)
