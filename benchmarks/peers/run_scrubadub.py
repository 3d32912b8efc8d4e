"""Scrubadub with its default detectors and those for names and dates of birth that its package brings."""

import nltk.tokenize
import scrubadub
from channel import one_by_one, serve
from nltk.tokenize.punkt import PunktSentenceTokenizer
from scrubadub.detectors.date_of_birth import DateOfBirthDetector
from scrubadub.detectors.text_blob import TextBlobNameDetector


def load():
    # Names are looked for by sentences, and NLTK's trained splitter is a download of its own: its untrained one does.
    splitter = PunktSentenceTokenizer()
    nltk.tokenize.sent_tokenize = lambda text, *_, **__: splitter.tokenize(text)
    scrubber = scrubadub.Scrubber()
    scrubber.add_detector(TextBlobNameDetector)
    scrubber.add_detector(DateOfBirthDetector)
    return one_by_one(lambda text: [(filth.beg, filth.end) for filth in scrubber.iter_filth(text)])


if __name__ == "__main__":
    serve(load)
