"""Owns the tests that every table says what becomes of its rows, and of all of them."""

from sqlalchemy import Column, MetaData, String, Table
from sqlmodel import SQLModel

from service.store.policy import POLICIES, TABLES
from service.store.tables import ConversationRow

PEOPLE = {
    *("person_id", "character_id", "owner_id", "other_id", "by_id", "to_id", "partner_id"),
    *("subject_id", "told_by", "via"),
}
"""The columns by which a row is a person's, or of one."""


def undeclared(metadata: MetaData) -> set[str]:
    """The tables without a policy."""
    return metadata.tables.keys() - POLICIES.keys()


def test_every_table_declares_its_policy() -> None:
    assert undeclared(SQLModel.metadata) == set()
    assert POLICIES.keys() == SQLModel.metadata.tables.keys()
    made = MetaData()
    Table("made", made, Column("world_id", String, primary_key=True))
    Table("memories", made, Column("world_id", String, primary_key=True))
    assert undeclared(made) == {"made"}


def test_a_policy_names_columns_of_its_table() -> None:
    for name, policy in POLICIES.items():
        columns = set(SQLModel.metadata.tables[name].c.keys())
        said = {policy.whose, policy.conversation, policy.turn, policy.known, policy.ended, policy.memory}
        said |= {
            policy.ended_by,
            *policy.passing_columns,
            *policy.names,
            *policy.unended,
            *policy.words,
            policy.text or None,
        }
        assert said - {None} <= columns, name


def test_whose_memory_a_row_is_and_whom_it_names_is_declared() -> None:
    for name, policy in POLICIES.items():
        columns = SQLModel.metadata.tables[name].c.keys()
        if policy.goes is not None:
            assert {*policy.names, policy.whose} == PEOPLE & {*columns}, name


def test_what_hangs_on_a_conversation_says_so() -> None:
    conversations = str(ConversationRow.__tablename__)
    for name, policy in POLICIES.items():
        keys = SQLModel.metadata.tables[name].foreign_key_constraints
        if any(key.referred_table.name == conversations for key in keys):
            assert policy.conversation == "conversation_id", name


def test_a_table_is_found_under_the_name_of_its_policy() -> None:
    assert {name: str(table.__tablename__) for name, table in TABLES.items()} == {name: name for name in POLICIES}
