"""Chat clients hold conversations.

Revision: 0007_chats, after 0006_humans_speak.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007_chats"
down_revision = "0006_humans_speak"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("chat_idle_minutes", sa.Float(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_column("chat_idle_minutes")
