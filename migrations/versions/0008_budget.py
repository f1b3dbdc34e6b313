"""what the model calls of a day have cost

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


def downgrade() -> None:
    op.drop_table("spending")
