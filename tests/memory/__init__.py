"""Owns the tests of service/memory."""

import pytest

pytest.register_assert_rewrite("tests.memory.contract")
