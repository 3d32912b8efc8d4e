"""Commands that measure the package. Run one with ``python -m benchmarks.NAME``; figures go to metrics/."""
