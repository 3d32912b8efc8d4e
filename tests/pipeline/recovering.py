"""A pipeline whose detector flags what a test tells it to, and whose recovery is the real one."""

import spacy
from spacy.language import Language

from spacy_deid.spans import Evidence, write_evidence


@Language.component("flag_stretches")
def flag_stretches(doc):
    """A detector that flags the stretches that stand in ``doc.user_data``: label, rule and score if it has them."""
    rows = [(*row, *("model", 0.3)[len(row) - 3 :]) for row in doc.user_data.get("flags", [])]
    found = [Evidence(start, end, label, "flag_stretches", score, rule) for start, end, label, rule, score in rows]
    write_evidence(doc, "deid/flags", found, checked=["test/card"])
    return doc


def make(lang="en", ruler=False, **config):
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("flag_stretches")
    if ruler:
        nlp.add_pipe("deid_ruler")
    nlp.add_pipe("deid_merge", config={"sources": ["deid/flags", "deid/ruler"] if ruler else ["deid/flags"]})
    nlp.add_pipe("deid_recovery", config=config)
    return nlp


def flagged(nlp, text, *flags, **ehr):
    """A Doc in which stretches are flagged: (stretch, label) or (stretch, label, rule)."""
    doc = nlp.make_doc(text)
    doc._.ehr = ehr
    rows = []
    for stretch, *rest in flags:
        start = text.index(stretch)
        while (start, start + len(stretch)) in [row[:2] for row in rows]:
            start = text.index(stretch, start + 1)
        rows.append((start, start + len(stretch), *rest))
    doc.user_data["flags"] = rows
    return doc


def kept(nlp, text, *flags, **ehr):
    """What stays protected."""
    return [(ent.start_char, ent.text) for ent in nlp(flagged(nlp, text, *flags, **ehr)).ents]
