"""An answer to a request that may be sent again is kept for a day, also when its world is gone.

Revision: 0102_answers_read_anew
"""

import sqlalchemy as sa
from alembic import op

revision = "0102_answers_read_anew"
down_revision = "0101_one_log"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # What was kept says neither since when, nor how it is read: nobody sends those requests again.
    op.execute("DELETE FROM idempotency_keys")
    with op.batch_alter_table("idempotency_keys") as batch_op:
        batch_op.alter_column("answer", existing_type=sa.JSON(), nullable=True)
        batch_op.add_column(sa.Column("is_read_anew", sa.Boolean(), nullable=False))
        batch_op.add_column(sa.Column("kept_until", sa.Float(), nullable=True))
        batch_op.create_index("ix_idempotency_keys_kept_until", ["kept_until"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("idempotency_keys") as batch_op:
        batch_op.drop_index("ix_idempotency_keys_kept_until")
        batch_op.drop_column("kept_until")
        batch_op.drop_column("is_read_anew")
    op.execute("DELETE FROM idempotency_keys")
    with op.batch_alter_table("idempotency_keys") as batch_op:
        batch_op.alter_column("answer", existing_type=sa.JSON(), nullable=False)
