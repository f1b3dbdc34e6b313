"""A conversation may hold its world's clock.

Revision: 0010_held_clock, after 0009_what_the_game_knows.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010_held_clock"
down_revision = "0009_what_the_game_knows"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("holds_clock", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_column("holds_clock")
