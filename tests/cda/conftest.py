"""A deidentifier that finds names by the dictionary of the documents."""

import pytest

from spacy_deid import Deidentifier
from spacy_deid.surrogates.keys import ProjectKey

KEY = ProjectKey(bytes(range(32)))


@pytest.fixture
def release(nlp):
    """De-identify documents as one export: ``release(document, …)`` returns their outcomes."""
    pytest.importorskip("lxml", reason="documents of CDA need lxml: pip install 'spacy-deid[documents]'")
    from spacy_deid.cda.run import CdaDeidentifier

    def run(*documents, style="tag", policy=None, **settings):
        deid = Deidentifier(nlp, style=style, policy=policy, key=KEY if style == "surrogate" else None)
        with CdaDeidentifier(deid, key=KEY, **settings) as cda:
            cda.read(documents)
            return list(cda.release(documents))

    return run
