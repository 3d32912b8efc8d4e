"""A deidentifier that finds names by the dictionary of the messages."""

import pytest

from spacy_deid import Deidentifier
from spacy_deid.hl7.run import Hl7Deidentifier
from spacy_deid.surrogates.keys import ProjectKey

KEY = ProjectKey(bytes(range(32)))


@pytest.fixture
def release(nlp):
    """De-identify messages as one export: ``release(message, …)`` returns their outcomes."""

    def run(*messages, style="tag", policy=None, **settings):
        deid = Deidentifier(nlp, style=style, policy=policy, key=KEY if style == "surrogate" else None)
        with Hl7Deidentifier(deid, key=KEY, **settings) as hl7:
            hl7.read(messages)
            return list(hl7.release(messages))

    return run
