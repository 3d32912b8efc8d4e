"""``python -m spacy_deid``."""

from .cli import app

if __name__ == "__main__":
    app(prog_name="spacy-deid")
