"""A deidentifier that finds names by the dictionary of the export, and runs over resources."""

import pytest
from fhir_resources import PATIENT, PRACTITIONER, parse

from spacy_deid import Deidentifier
from spacy_deid.fhir.run import FhirDeidentifier, Unit
from spacy_deid.surrogates.keys import ProjectKey

KEY = ProjectKey(bytes(range(32)))


@pytest.fixture
def release(nlp):
    """De-identify resources as one export, after a Patient and a Practitioner: ``release(resource, …)`` returns the
    outcomes of these resources.
    """
    pytest.importorskip("lxml")

    def run(*resources, style="surrogate", policy=None, people=(PATIENT, PRACTITIONER), **settings):
        deid = Deidentifier(nlp, style=style, policy=policy, key=KEY if style == "surrogate" else None)
        everything = [*map(parse, people), *map(parse, resources)]
        with FhirDeidentifier(deid, key=KEY, **settings) as fhir:
            fhir.read(everything)
            return list(fhir.release(Unit(item) for item in everything))[len(people) :]

    return run
