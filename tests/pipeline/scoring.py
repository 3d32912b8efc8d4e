"""Scores as ``deid_surprisal`` writes them, of words that a test names."""

import spacy
from pipeline.recovering import flagged

from spacy_deid.spans import SCORES


def make(lang="en", recovery=False, surrogate=True, review_last=True, **config):
    """A pipeline whose detector flags what a test says, and whose review is the real one."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("flag_stretches")
    nlp.add_pipe("deid_merge", config={"sources": ["deid/flags"]})
    if recovery:
        nlp.add_pipe("deid_recovery")
    if surrogate:
        nlp.add_pipe("deid_surrogate")
    nlp.add_pipe("deid_review", before=None if review_last or not surrogate else "deid_surrogate", config=config)
    return nlp


def scored(nlp, text, *flags, probability=True, **scores):
    """A Doc in which stretches are flagged and words have scores; the others have 0."""
    return with_scores(flagged(nlp, text, *flags), scores, probability)


def with_scores(doc, scores, probability=True):
    """The Doc with scores of some of its words."""
    words = [token for token in doc if any(map(str.isalnum, token.text))]
    values = [float(scores.get(token.text, 0.0)) for token in words]
    doc.user_data[SCORES] = {
        "model": "test-1",
        "mode": "exact",
        "masking": "no",
        "score": "combined" if probability else "entropy-1",
        "probability": probability,
        "starts": [token.idx for token in words],
        "ends": [token.idx + len(token) for token in words],
        "values": values,
        "features": {"surprisal": [value * 10 for value in values], "entropy": [1.0] * len(words)},
        "unaligned": 0,
    }
    return doc


def proposed(doc):
    """The stretches that are proposed."""
    return [doc.text[row["start"] : row["end"]] for row in doc._.deid_review]
