"""Keys are given out beside the one of the settings. What a day has cost is counted by world, conversation, player and
key, and in money.

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
    op.create_table(
        "spent",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("money", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "scope", "name", name="pk_spent"),
    )
    for table in ("installation", "usage"):
        op.add_column(table, sa.Column("money", sa.Float(), nullable=False, server_default="0"))
    op.add_column("conversations", sa.Column("asked_with", sa.String(), nullable=False, server_default=""))
    # Rows that were kept hold all that is needed.
    op.execute(sa.text("UPDATE snapshots SET schema_revision = :now").bindparams(now=revision))


def downgrade() -> None:
    op.drop_column("conversations", "asked_with")
    for table in ("installation", "usage"):
        op.drop_column(table, "money")
    op.drop_table("spent")
    op.drop_table("api_keys")
