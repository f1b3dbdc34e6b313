"""One process owns a world, also its clock, and says whether the world is on its way.

Revision: 0104_one_owner_a_world
"""

import sqlalchemy as sa
from alembic import op

revision = "0104_one_owner_a_world"
down_revision = "0103_keys_and_budgets"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for event in ("insert", "update", "delete"):  # they name the columns; what runs migrations makes them anew
            op.execute(f"DROP TRIGGER IF EXISTS keep_worlds_{event}")
    # Not in a batch: that makes the table anew, and what refers to it goes with the old one.
    op.drop_column("worlds", "wanted_until")
    op.drop_column("worlds", "clock_runner")
    for name in ("is_moving", "is_wanted"):
        op.add_column("worlds", sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false()))
    added = {
        "sqlite": "json_set(row, '$.is_moving', 0, '$.is_wanted', 0)",
        "postgresql": """(row::jsonb || '{"is_moving": false, "is_wanted": false}')::text""",
    }[op.get_bind().dialect.name]
    op.get_bind().exec_driver_sql(
        f"UPDATE kept_rows SET row = {added} WHERE table_name = 'worlds' AND row IS NOT NULL"  # noqa: S608 - our own
    )
    op.execute(sa.text("UPDATE snapshots SET schema_revision = :now").bindparams(now=revision))


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for event in ("insert", "update", "delete"):
            op.execute(f"DROP TRIGGER IF EXISTS keep_worlds_{event}")
    op.drop_column("worlds", "is_wanted")
    op.drop_column("worlds", "is_moving")
    op.add_column("worlds", sa.Column("clock_runner", sa.String(), nullable=True))
    op.add_column("worlds", sa.Column("wanted_until", sa.Float(), nullable=False, server_default="0"))
