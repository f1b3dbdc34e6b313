"""Lines that are suggested to a player.

Revision: 0012_choices, after 0011_action_calls.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012_choices"
down_revision = "0011_action_calls"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("choices", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.add_column(sa.Column("choices", sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.drop_column("choices")
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_column("choices")
