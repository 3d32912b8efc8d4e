"""The browser front end and the REST service: ``spacy-deid serve``."""
