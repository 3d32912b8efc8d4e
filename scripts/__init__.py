"""Commands that build what the package ships: corpora, lists, models. Run one with ``python -m scripts.NAME``."""
