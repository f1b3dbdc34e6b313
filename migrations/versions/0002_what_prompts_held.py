"""What prompts held is kept beside their text, which may be let go; and what decisions were made from.

Revision: 0002_what_prompts_held, after 0001_world_keys.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002_what_prompts_held"
down_revision = "0001_world_keys"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "decisions",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("call", sa.String(), nullable=False),
        sa.Column("basis", sa.JSON(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("prompt", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("world_id", "person_id", "at", "call", name=op.f("pk_decisions")),
    )
    with op.batch_alter_table("prompts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("knew", sa.JSON(), nullable=False, server_default="{}"))
        batch_op.alter_column("system", existing_type=sa.String(), nullable=True)
        batch_op.alter_column("context", existing_type=sa.String(), nullable=True)
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.add_column(sa.Column("reminded", sa.JSON(), nullable=False, server_default="[]"))
        batch_op.add_column(sa.Column("cached_tokens", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.drop_column("cached_tokens")
        batch_op.drop_column("reminded")
    with op.batch_alter_table("prompts", schema=None) as batch_op:
        batch_op.alter_column("context", existing_type=sa.String(), nullable=False)
        batch_op.alter_column("system", existing_type=sa.String(), nullable=False)
        batch_op.drop_column("knew")
    op.drop_table("decisions")
