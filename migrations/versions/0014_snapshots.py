"""Worlds as they were kept, and where a world branched off.

Revision: 0014_snapshots, after 0013_openings.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014_snapshots"
down_revision = "0013_openings"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "snapshots",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.String(), nullable=False),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.Column("schema_revision", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "name", name=op.f("pk_snapshots")),
    )
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.add_column(sa.Column("timeline", sa.BigInteger(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("branched_from", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("branched_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.drop_column("branched_at")
        batch_op.drop_column("branched_from")
        batch_op.drop_column("timeline")
    op.drop_table("snapshots")
