"""A turn says whether one call made it with its whole talk.

Revision: 0106_sketched_talks
"""

import sqlalchemy as sa
from alembic import op

revision = "0106_sketched_talks"
down_revision = "0105_jobs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("draft", sa.JSON(), nullable=True))
    # Rows that were kept hold all that is needed.
    op.execute(sa.text("UPDATE snapshots SET schema_revision = :now").bindparams(now=revision))


def downgrade() -> None:
    op.drop_column("turns", "draft")
