"""An answer to a request that may be sent again is kept for a day, also when its world is gone. Who works on a row
holds it for as long as its process lives.
Work waits as jobs.

Revision: 0102_held_by_the_living
"""

import sqlalchemy as sa
from alembic import op

revision = "0102_held_by_the_living"
down_revision = "0101_one_log"
branch_labels = None
depends_on = None

LEASES = (
    ("conversations", "lease_until"),
    ("reflections", "lease_until"),
    ("reflections", "runner"),
    ("worlds", "lease_until"),
    ("worlds", "clock_lease_until"),
)


def upgrade() -> None:
    # Not in a batch: that makes the tables anew, and what refers to them goes with the old ones.
    for table, column in LEASES:
        if op.get_bind().dialect.name == "sqlite":
            for event in ("insert", "update", "delete"):  # they name the column; what runs migrations makes them anew
                op.execute(f"DROP TRIGGER IF EXISTS keep_{table}_{event}")
        op.drop_column(table, column)
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
    # Rows that were kept hold all that is needed.
    op.execute(sa.text("UPDATE snapshots SET schema_revision = :now").bindparams(now=revision))
    # What was kept says neither since when, nor how it is read: nobody sends those requests again.
    op.execute("DELETE FROM idempotency_keys")
    with op.batch_alter_table("idempotency_keys") as batch_op:
        batch_op.alter_column("answer", existing_type=sa.JSON(), nullable=True)
        batch_op.add_column(sa.Column("is_read_anew", sa.Boolean(), nullable=False))
        batch_op.add_column(sa.Column("kept_until", sa.Float(), nullable=True))
        batch_op.create_index("ix_idempotency_keys_kept_until", ["kept_until"], unique=False)


def downgrade() -> None:
    op.execute("DELETE FROM idempotency_keys")
    with op.batch_alter_table("idempotency_keys") as batch_op:
        batch_op.drop_index("ix_idempotency_keys_kept_until")
        batch_op.drop_column("kept_until")
        batch_op.drop_column("is_read_anew")
        batch_op.alter_column("answer", existing_type=sa.JSON(), nullable=False)
    op.drop_table("jobs")
    for table, column in LEASES:
        is_time = column.endswith("until")
        kind, default = (sa.Float(), "0") if is_time else (sa.String(), None)
        op.add_column(table, sa.Column(column, kind, nullable=not is_time, server_default=default))
