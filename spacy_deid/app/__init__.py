"""The web pages and the REST service that ``spacy-deid serve`` starts."""
