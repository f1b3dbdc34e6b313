"""A game tells what it knows: flags of its world, and what goes on around a conversation.

Revision: 0009_what_the_game_knows, after 0008_client_events.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009_what_the_game_knows"
down_revision = "0008_client_events"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.add_column(sa.Column("flags", sa.JSON(), nullable=False, server_default="{}"))
    for table in ("conversations", "turns"):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.add_column(sa.Column("told", sa.JSON(), nullable=True))


def downgrade() -> None:
    for table in ("turns", "conversations"):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column("told")
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.drop_column("flags")
