"""Tables (CSV, Excel, Parquet), with a policy for each column."""

from .cells import read_columns

__all__ = ["read_columns"]
