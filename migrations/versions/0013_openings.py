"""People who speak to players first.

Revision: 0013_openings, after 0012_choices.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013_openings"
down_revision = "0012_choices"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("opened_for", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("matter", sa.String(), nullable=False, server_default=""))
    with op.batch_alter_table("people", schema=None) as batch_op:
        batch_op.add_column(sa.Column("busy", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table("people", schema=None) as batch_op:
        batch_op.drop_column("busy")
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_column("matter")
        batch_op.drop_column("opened_for")
