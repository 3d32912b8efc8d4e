"""The ranking of the words that `deid_review` proposes: evidence about them, and its weights."""
