"""The web pages and the REST service: ``spacy-deid serve``."""
