"""The second reading of a damaged note: its text without the damage, and the union of the predictions for both texts.

Scans turn letters into digits ("G0nza1ez", "l4/O5/2O21"), exports break words and names at a fixed width ("Gonza-" and
"lez" on the next line), and some systems write everything in capitals. The classifier reads such a note twice: as it
was written, and as `undo_damage` restores it. `unite` maps the second prediction to the tokens of the Doc, so nothing
that the first reading found is lost. An undamaged note is recognized by a few regular expressions and read once.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from spacy.tokens import Doc

from .decoding import Decoded, Posterior
from .features import dense_tokens

_DROPPED = "\0"  # marks a character that the restored text does not contain
_LOWER = "a-zß-öø-ÿ"
_LETTER = r"[^\W\d_]"
# A digit within a word of small letters. Doses ("5mg"), frequencies ("q8h") and names of vitamins do not match.
_OCR = re.compile(rf"(?<![\d.,])[{_LOWER}]{{2}}[0158][{_LOWER}]|[{_LOWER}][01][{_LOWER}]{{2}}")
_OCR_LEAST, _OCR_WORDS = 3, 60  # matches of a note, and words per match at most
_BROKEN = re.compile(r"\w[-¬]\r?\n[ \t]*\w")
_BROKEN_LEAST, _BROKEN_LINES = 2, 12  # broken words of a note, and lines per broken word at most
_WORDS = re.compile(rf"{_LETTER}{{3,}}")
_SAMPLE = 4000  # characters of a note whose capitals are counted

_AS_DIGIT = str.maketrans("OoQIl|SBZ", "000111582")
# Numbers in which letters replace digits: "2O2l", "5l4 S5S-Ol43"
_NUMBER = re.compile(r"(?<![^\W_])[\dOIl|SBZ]+(?:[ ./:-]?[\dOIl|SBZ]+)*(?![^\W_])")
_WORD = re.compile(r"[^\W_]+(?:\|[^\W_]+)*")
_VOWELS = frozenset("aeiouyáéíóúäöåAEIOUYÁÉÍÓÚÄÖÅ")
_FIELD = re.compile(rf"[ \t]*(?:[-*•·#>|]|\d+[.)]|{_LETTER}[^\n:]{{0,30}}:)")


def undo_damage(text: str) -> tuple[str, np.ndarray] | None:
    """Restore the text of a damaged note.

    Letters and digits that a scan confused are exchanged, words and lines that were broken at a fixed width are
    joined, and a text in capitals is written with initial capitals.

    text (str): the note.
    RETURNS (Optional[tuple[str, ndarray]]): the restored text, and for each of its characters the offset of the
        original character, shape (characters,); None if the note is not damaged.
    """
    restored = text
    if is_scanned(text):
        restored = _undo_ocr(restored)
    if is_wrapped(text):
        restored = _join_lines(restored)
    if restored == text and not is_capitals(text):
        return None
    origin = np.asarray([i for i, char in enumerate(restored) if char != _DROPPED], dtype=np.int64)
    restored = restored.replace(_DROPPED, "")
    if is_capitals(text):
        restored = _WORDS.sub(lambda found: _title(found.group()), restored)
    return restored, origin


def is_scanned(text: str) -> bool:
    """Return whether digits replace letters in a note as optical character recognition confuses them: "G0nza1ez"."""
    number = sum(1 for _ in _OCR.finditer(text))
    return number >= _OCR_LEAST and number * _OCR_WORDS >= text.count(" ")


def is_wrapped(text: str) -> bool:
    """Return whether words of a note are broken at the ends of its lines, other than now and then."""
    number = sum(1 for _ in _BROKEN.finditer(text))
    return number >= _BROKEN_LEAST and number * _BROKEN_LINES >= text.count("\n")


def is_capitals(text: str) -> bool:
    """Return whether most words at the beginning of a note are in capitals."""
    words = _WORDS.findall(text[:_SAMPLE])
    return 10 * sum(map(str.isupper, words)) > 7 * len(words)


def _title(word: str) -> str:
    """Write a word with an initial capital, unless its length would change."""
    small = word[0] + word[1:].lower()
    return small if len(small) == len(word) else word


def _undo_ocr(text: str) -> str:
    """Exchange letters and digits that a scan confused. "rn" in place of "m" becomes "m" and a dropped character."""

    def number(found: re.Match[str]) -> str:
        whole = found.group()
        return whole.translate(_AS_DIGIT) if 2 * sum(map(str.isdigit, whole)) >= len(whole) / 2 else whole

    text = _NUMBER.sub(number, text)
    text = _WORD.sub(lambda found: _undo_word(found.group()), text)
    return text.replace("rn", "m" + _DROPPED) if re.search(r"\brn[aeiouáéíóú]", text) else text


def _undo_word(word: str) -> str:
    """Replace the digits of a word by the letters that they look like, if most of its characters are letters."""
    letters = sum(map(str.isalpha, word))
    if letters < 2 or 2 * letters < len(word) or (not any(map(str.islower, word)) and letters < 4):
        return word
    if letters == len(word):
        if word[0] == "l" and len(word) > 2 and word[1] not in _VOWELS and word[1] != "l":
            return "I" + word[1:]
        return re.sub(rf"(?<=[{_LOWER}])I(?=[{_LOWER}])", "l", word)
    capitals = not any(map(str.islower, word))
    chars = []
    for i, char in enumerate(word):
        after = word[i + 1 : i + 2]
        if char in "1|":
            first = i == 0 and after not in _VOWELS
            between = i > 0 and after and word[i - 1] not in _VOWELS and after not in _VOWELS
            char = "I" if first or (between and capitals) else "i" if between else "L" if capitals else "l"
        elif char in "058":
            char = {"0": "o", "5": "s", "8": "b"}[char]
            char = char.upper() if capitals or i == 0 else char
        chars.append(char)
    return "".join(chars)


def _join_lines(text: str) -> str:
    """Join broken words and the lines of a paragraph. Empty lines, items of lists and fields of forms stay apart."""
    lines = text.splitlines(keepends=True)
    joined = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        body = line.rstrip("\r\n")
        tail = line[len(body) :]
        if body.strip() and following.strip():
            first = following.lstrip()[0]
            if body[-1] in "-¬" and (body[-2:-1].isalnum() or body[-2:-1] in "/.") and first.isalnum():
                # "15-" before "nov" is a hyphen of the text
                hyphen = body[-1] if body[-2:-1].isalnum() and body[-2].isdigit() != first.isdigit() else _DROPPED
                body, tail = body[:-1] + hyphen, _DROPPED * len(tail)
            elif not _FIELD.match(following) and body.rstrip()[-1] not in ".:;":
                tail = " " * len(tail)
        joined.append(body + tail)
    return "".join(joined)


def unite(doc: Doc, first: Posterior, again: Doc, second: Posterior, origin: np.ndarray) -> Posterior:
    """Unite the predictions for the original and for the restored text of a note.

    A token has the higher of both probabilities, and the label of the reading with the higher one. Spans that overlap
    become one span, with the label of the longest and the highest probability of its parts.

    doc (Doc): the note.
    first (Posterior): the prediction for it.
    again (Doc): Doc of the restored text.
    second (Posterior): the prediction for it.
    origin (ndarray): for each character of the restored text the offset of the original character.
    RETURNS (Posterior): the prediction for the note, with `first` in its attribute ``first``.
    """
    starts, ends = _offsets(doc)
    low, high = _offsets(again)
    if not len(low) or not len(starts):
        return first
    # Range of tokens of the note that each token of the restored text overlaps.
    begin = np.searchsorted(ends, origin[low], side="right")
    stop = np.searchsorted(starts, origin[high - 1] + 1, side="left")
    phi, labels = first.phi.copy(), first.labels.copy()
    for k in np.flatnonzero(second.phi > 0).tolist():
        part = slice(int(begin[k]), int(stop[k]))
        higher = second.phi[k] > phi[part]
        phi[part][higher] = second.phi[k]
        labels[part][higher] = second.labels[k]
    mapped = [(int(begin[s]), int(stop[e - 1]), label, score) for s, e, label, score in second.spans]
    spans = _union([*first.spans, *(span for span in mapped if span[0] < span[1])])
    return replace(first, spans=spans, phi=phi, labels=labels, first=first)


def _offsets(doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """Return the character offsets of the dense tokens of a Doc: starts and ends."""
    tokens = [doc[int(row)] for row in dense_tokens(doc)]
    starts = np.asarray([token.idx for token in tokens], dtype=np.int64)
    return starts, starts + np.asarray([len(token) for token in tokens], dtype=np.int64)


def _union(spans: Sequence[tuple[int, int, int, float]]) -> Decoded:
    """Join overlapping spans. The longest determines the label; of equally long ones, the first given."""
    united: Decoded = []
    longest = 0
    for start, end, label, score in sorted(spans, key=lambda span: span[:2]):
        if united and start < united[-1][1]:
            first, last, role, sure = united[-1]
            if end - start > longest:
                longest, role = end - start, label
            united[-1] = (first, max(last, end), role, max(sure, score))
        else:
            united.append((start, end, label, score))
            longest = end - start
    return united
