"""what persons promise each other

Revision: commitments, after budget
"""

import sqlalchemy as sa
from alembic import op

revision = "commitments"
down_revision = "budget"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "commitments",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("by_id", sa.String(), nullable=False),
        sa.Column("to_id", sa.String(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "id", name=op.f("pk_commitments")),
    )
    op.create_index("ix_commitments_conversation", "commitments", ["world_id", "conversation_id"], unique=False)


def downgrade() -> None:
    raise NotImplementedError("a world that has lived does not go back")
