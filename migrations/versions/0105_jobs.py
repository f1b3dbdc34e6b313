"""Work waits as jobs: what was due, and when it is tried again, follows from the other rows.

Revision: 0105_jobs
"""

import sqlalchemy as sa
from alembic import op

revision = "0105_jobs"
down_revision = "0104_one_owner_a_world"
branch_labels = None
depends_on = None

GONE = {
    "conversations": (("runner", sa.String(), None),),
    "reflections": (("failure", sa.String(), None),),
    "memory_owners": (
        ("vectors_due", sa.Integer(), "0"),
        ("projection_attempts", sa.Integer(), "0"),
        ("projection_due", sa.Float(), "0"),
        ("projection_error", sa.String(), ""),
    ),
}


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("is_cancelled", sa.Boolean(), nullable=False),
        sa.Column("last_error", sa.String(), nullable=False),
        sa.Column("runner", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("world_id", "kind", "key", name="pk_jobs"),
    )
    op.create_index("ix_jobs_order", "jobs", ["priority", "created_at"])
    held = sa.text("runner IS NOT NULL")
    one = ("world_id", "kind", "owner")
    op.create_index("ix_jobs_one_at_a_time", "jobs", one, unique=True, sqlite_where=held, postgresql_where=held)
    # Not in a batch: that makes the tables anew, and what refers to them goes with the old ones.
    for table, columns in GONE.items():
        if op.get_bind().dialect.name == "sqlite":
            for event in ("insert", "update", "delete"):  # they name the columns; what runs migrations makes them anew
                op.execute(f"DROP TRIGGER IF EXISTS keep_{table}_{event}")
        for column, _, _ in columns:
            op.drop_column(table, column)
    # Rows that were kept hold all that is needed.
    op.execute(sa.text("UPDATE snapshots SET schema_revision = :now").bindparams(now=revision))


def downgrade() -> None:
    for table, columns in GONE.items():
        for column, kind, default in columns:
            op.add_column(table, sa.Column(column, kind, nullable=default is None, server_default=default))
    op.drop_table("jobs")
