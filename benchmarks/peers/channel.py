"""How a peer talks with the benchmark: notes in, spans out, one JSON object a line.

A peer runs in an environment of its own, so this file and the adapters beside it use nothing but the standard library
and the peer. What a peer prints by itself could quote a note and goes nowhere.

    benchmark → peer    {"name": "note-1", "text": "…"}
    peer → benchmark    {"ready": true}              once, when everything is loaded
                        {"name": "note-1", "spans": [[0, 8], …]}
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator

Span = tuple[int, int]
Notes = list[tuple[str, str]]
WARM_UP = "Seen on 3 May 2021, (415) 555-0134."


def serve(load: Callable[[], Callable[[Notes], Iterable[tuple[str, Iterable[Span]]]]]) -> None:
    """Load a peer, then answer for every note on standard input.

    load (Callable): gives a function of (name, text) pairs that yields (name, spans) pairs.
    """
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf8")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    find = load()
    _say(out, {"ready": True})
    notes = [(note["name"], note["text"]) for note in map(json.loads, sys.stdin.buffer)]
    for name, spans in find(notes):
        _say(out, {"name": name, "spans": [list(span) for span in spans]})


def one_by_one(find: Callable[[str], Iterable[Span]]) -> Callable[[Notes], Iterator[tuple[str, Iterable[Span]]]]:
    """For a peer that takes a note at a time. It sees one before the clock runs: what is loaded late is loaded then.

    find (Callable): spans of a text.
    RETURNS (Callable): what `serve` wants.
    """
    find(WARM_UP)
    return lambda notes: ((name, find(text)) for name, text in notes)


def _say(out, message) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()
