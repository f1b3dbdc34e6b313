"""what the model calls of a day have cost, and why a clock was stopped

Revision: budget, after memory
"""

import sqlalchemy as sa
from alembic import op

revision = "budget"
down_revision = "memory"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "spending",
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_spending")),
    )
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.add_column(sa.Column("clock_stopped", sa.String(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.drop_column("clock_stopped")
    op.drop_table("spending")
