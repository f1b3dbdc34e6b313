"""The number under which games are told that a world was restored.

Revision: 0017_told_restores, after 0016_scenes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017_told_restores"
down_revision = "0016_scenes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("client_event_counts") as table:
        table.add_column(sa.Column("restored", sa.BigInteger(), nullable=False, server_default="0"))
    with op.batch_alter_table("client_event_counts") as table:
        table.alter_column("restored", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("client_event_counts") as table:
        table.drop_column("restored")
