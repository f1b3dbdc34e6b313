"""Keys are given out beside the one of the settings.

Revision: 0103_keys_and_budgets
"""

import sqlalchemy as sa
from alembic import op

revision = "0103_keys_and_budgets"
down_revision = "0102_held_by_the_living"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("only_world", sa.String(), nullable=True),
        sa.Column("only_player", sa.String(), nullable=True),
        sa.Column("made_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_api_keys"),
        sa.UniqueConstraint("name", name="uq_api_keys_name"),
    )
    # Rows that were kept hold all that is needed.
    op.execute(sa.text("UPDATE snapshots SET schema_revision = :now").bindparams(now=revision))


def downgrade() -> None:
    op.drop_table("api_keys")
