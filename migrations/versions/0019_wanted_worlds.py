"""Worlds that another process waits for.

Revision: 0019_wanted_worlds, after 0018_quality.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019_wanted_worlds"
down_revision = "0018_quality"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("worlds", sa.Column("wanted_until", sa.Float(), nullable=False, server_default="0"))
    with op.batch_alter_table("worlds") as worlds:
        worlds.alter_column("wanted_until", server_default=None)
