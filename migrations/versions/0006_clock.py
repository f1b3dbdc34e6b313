"""how far a world's people have lived, and who runs its clock

Revision: clock, after memories
"""

import sqlalchemy as sa
from alembic import op

revision = "clock"
down_revision = "memories"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("worlds", sa.Column("reached", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("worlds", sa.Column("clock_runner", sa.String(), nullable=True))
    op.add_column("worlds", sa.Column("clock_lease_until", sa.Float(), nullable=False, server_default="0"))
