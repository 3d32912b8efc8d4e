"""Hospitals, health centres, employers, schools: the words for the kind stay, the town and the proper name change.

"Hospital General de Segovia" becomes "Hospital General de Soria", "Hospital Universitario La Paz" "Hospital
Universitario La Vega", "St. Mary's Medical Center" "St. Luke's Medical Center". A town becomes what it becomes
elsewhere in the note. A name that has nothing proper ("Hospital General") gets another word of its kind ("Hospital
Comarcal").
"""

from collections.abc import Mapping, Sequence
from functools import cache

from ..mention import Mention
from ..persons import fold
from .acronyms import is_acronym, replace_acronym
from .finnish_institutions import replace_finnish
from .gazetteer import load_words
from .geography import Geography
from .proper_names import ROMAN, proper_name
from .runs import Run, sort_words
from .state import Note
from .writing import dress, redraw, split_marks, tokens

__all__ = ["replace_institution"]

_TRIES = 6
_STAY = ("kind", "small")


def replace_institution(mention: Mention, note: Note, geography: Geography) -> str | None:
    """Replace the name of an institution.

    mention (Mention): label HOSPITAL, HEALTH_CENTER, ORGANIZATION or DEPARTMENT.
    note (Note): what the surrogates of the note share.
    geography (Geography): the places of the note.
    RETURNS (Optional[str]): the surrogate as the mention is written; None if there is none.
    """
    before, core, after = split_marks(mention.text)
    if not core:
        return None
    decision = ("institution", fold(core), mention.label, mention.variant)
    made = note.once(decision, lambda: _replace(core, mention, note, geography))
    return before + dress(made, core) + after if made else None


def _replace(core: str, mention: Mention, note: Note, geography: Geography) -> str | None:
    """Make the surrogate of an institution."""
    if note.lang == "fi":
        return replace_finnish(core, mention, note, geography)
    if is_acronym(core):
        return replace_acronym(core, note, mention.variant)
    if "institutions" not in load_words(note.lang):
        return None
    runs = sort_words(core, geography, note.lang)
    if all(run.sort in _STAY for run in runs):
        if (made := replace_word(core, note, mention.variant)) or note.lang != "en" or len(runs) == 1:
            return made
        first = next((run for run in runs if run.sort == "kind"), None)
        if first is None:
            return None
        first.sort = "proper"  # "Station Physicians"
    if mention.label == "ORGANIZATION" and all(run.sort in ("proper", "small", "place") for run in runs):
        return note.pick(
            "institution", _companies(core, mention, note.lang), "company", fold(core), str(mention.variant)
        )
    for attempt in range(_TRIES):
        made = _rewrite(runs, note, geography, mention.variant, attempt)
        if made is None:
            return None
        if note.take("institution", made):
            return made
    return None


def _companies(core: str, mention: Mention, lang: str) -> Sequence[str]:
    """Companies of the sector: makers of drugs and devices stand in brackets behind what they make, or are listed."""
    words = load_words(lang)["institutions"]
    makers: Sequence[str] = words.get("makers", ())
    made = mention.before.rstrip().endswith(("(", "®", "™")) or fold(core) in map(fold, makers)
    return makers if made and makers else words.get("companies", ())


def _rewrite(runs: Sequence[Run], note: Note, geography: Geography, variant: int, attempt: int) -> str | None:
    """Replace what is proper in a name."""
    out = []
    for i, run in enumerate(runs):
        new = run.text if run.sort in _STAY else _new(run, runs[:i], note, geography, variant, attempt)
        if new is None:
            return None
        out.append(run.gap + (new if run.sort in _STAY else dress(new, run.text)))
    return "".join(out)


def _new(run: Run, before: Sequence[Run], note: Note, geography: Geography, variant: int, attempt: int) -> str | None:
    """What takes the place of one part."""
    context = (fold(run.text), str(attempt), str(variant))
    if run.sort == "place" and run.place is not None:
        return geography.place(run.place, variant + attempt)
    if run.sort == "acronym":
        return replace_acronym(run.text, note, variant)
    if run.sort == "number":
        draw = note.draw("number", *context)
        if run.text[0] in "IVX" and run.text.isupper() and len(run.text) > 1:
            return draw.choice([number for number in ROMAN if number != run.text])
        return next((new for _ in range(20) if (new := redraw(run.text, draw)) != run.text), None)
    return proper_name(run, before, note, geography, context)


def replace_word(core: str, note: Note, variant: int) -> str | None:
    """Put another word of its kind into a name that has nothing proper.

    core (str): the name: "Hospital General", "Juzgado".
    note (Note): what the surrogates of the note share.
    variant (int): variant of the surrogate.
    RETURNS (Optional[str]): "Hospital Comarcal"; None if no word of it has others.
    """
    groups, words, options = _groups(note.lang), tokens(core), []
    for i, (gap, word) in reversed(list(enumerate(words))):
        others = [dress(other, word) for other in groups.get(fold(word), ()) if fold(other) != fold(word)]
        options = ["".join(g + w for g, w in (*words[:i], (gap, other), *words[i + 1 :])) for other in others]
        if options:
            break
    return note.pick("institution", options, "sibling", fold(core), str(variant))


@cache
def _groups(lang: str) -> Mapping[str, Sequence[str]]:
    """Folded word → the words that may stand for it, itself among them."""
    lines = load_words(lang).get("institutions", {}).get("siblings", [])
    found: dict[str, Sequence[str]] = {}
    for line in lines:
        for word in line.split():
            found.setdefault(fold(word), line.split())
    return found
