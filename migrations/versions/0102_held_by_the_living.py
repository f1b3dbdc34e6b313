"""An answer to a request that may be sent again is kept for a day, also when its world is gone. Who works on a row
holds it for as long as its process lives.

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
    for table, column in LEASES:
        is_time = column.endswith("until")
        kind, default = (sa.Float(), "0") if is_time else (sa.String(), None)
        op.add_column(table, sa.Column(column, kind, nullable=not is_time, server_default=default))
