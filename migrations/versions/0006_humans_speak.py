"""Humans speak in conversations.

Revision: 0006_humans_speak, after 0005_made_people.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006_humans_speak"
down_revision = "0005_made_people"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("awaits", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("silent_at", sa.Float(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("silent_at_minute", sa.BigInteger(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.add_column(sa.Column("message_id", sa.String(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.drop_column("message_id")
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_column("attempts")
        batch_op.drop_column("silent_at_minute")
        batch_op.drop_column("silent_at")
        batch_op.drop_column("awaits")
