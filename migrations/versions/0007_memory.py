"""long-term memory in the service's own database

Revision: memory, after clock
"""

import sqlalchemy as sa
from alembic import op

revision = "memory"
down_revision = "clock"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "memory_owners",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", name=op.f("pk_memory_owners")),
    )
    op.create_table(
        "facts",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("relation", sa.String(), nullable=False),
        sa.Column("object", sa.String(), nullable=False),
        sa.Column("statement", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("importance", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("partner_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("valid_at", sa.BigInteger(), nullable=False),
        sa.Column("invalid_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expired_at", sa.BigInteger(), nullable=True),
        sa.Column("replaced_by", sa.String(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "id", name=op.f("pk_facts")),
    )
    with op.batch_alter_table("facts", schema=None) as batch_op:
        batch_op.create_index("ix_facts_revision", ["world_id", "person_id", "revision"], unique=False)
    op.create_table(
        "vectors",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "kind", "item_id", "model", name=op.f("pk_vectors")),
    )
    with op.batch_alter_table("vectors", schema=None) as batch_op:
        batch_op.create_index("ix_vectors_revision", ["world_id", "person_id", "revision"], unique=False)
    with op.batch_alter_table("summaries", schema=None) as batch_op:
        batch_op.drop_index("ix_summaries_pair")
    with op.batch_alter_table("summaries", schema=None) as batch_op:
        batch_op.drop_constraint("pk_summaries", type_="primary")
        batch_op.alter_column("character_id", new_column_name="person_id")
        batch_op.alter_column("npc_id", new_column_name="partner_id")
        batch_op.add_column(sa.Column("revision", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("summaries", schema=None) as batch_op:
        batch_op.create_primary_key("pk_summaries", ["world_id", "person_id", "conversation_id"])
        batch_op.create_index("ix_summaries_pair", ["world_id", "person_id", "partner_id", "at"], unique=False)
        batch_op.create_index("ix_summaries_revision", ["world_id", "person_id", "revision"], unique=False)
        batch_op.create_index("ix_summaries_conversation", ["conversation_id"], unique=False)
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.drop_index("ix_outbox_group")
        batch_op.drop_constraint("uq_outbox_conversation_id_character_id", type_="unique")
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.alter_column("character_id", new_column_name="person_id")
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.create_index("ix_outbox_group", ["world_id", "person_id"], unique=False)
        batch_op.create_unique_constraint("uq_outbox_conversation_id_person_id", ["conversation_id", "person_id"])


def downgrade() -> None:
    raise NotImplementedError("a world that has lived does not go back")
