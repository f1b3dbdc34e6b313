"""People can be made while a world runs.

Revision: 0005_made_people, after 0004_reflection.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005_made_people"
down_revision = "0004_reflection"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "made_people",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("profile", sa.String(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", name=op.f("pk_made_people")),
    )
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.add_column(sa.Column("people_revision", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.drop_column("people_revision")
    op.drop_table("made_people")
