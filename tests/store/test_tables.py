"""Owns the tests of what tables offer beside their columns."""

from sqlalchemy import inspect

from service.store.tables import SummaryRow, shared_alias


def test_an_alias_that_threads_share_knows_all_its_columns_before_any_of_them_asks() -> None:
    index = inspect(shared_alias(SummaryRow)).selectable.c._proxy_index
    assert {metrics.column.name for found in index.values() for metrics in found} == set(SummaryRow.model_fields)
