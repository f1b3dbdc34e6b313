"""The memories before a turn stand beside its note: no later prompt repeats them.

Revision: 0020_recalled, after 0019_wanted_worlds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020_recalled"
down_revision = "0019_wanted_worlds"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("recalled", sa.String(), nullable=False, server_default=""))
    with op.batch_alter_table("turns") as turns:
        turns.alter_column("recalled", server_default=None)
