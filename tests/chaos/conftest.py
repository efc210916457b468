"""Fixtures of the chaos runs."""

from tests.chaos.fix_chaos import nursery, servers  # noqa: F401 - plugins can be named at the root alone
