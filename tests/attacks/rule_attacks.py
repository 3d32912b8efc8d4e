"""Attacks on what rules and classifier decide together: keys that hide the value behind them, roles that release."""

from functools import cache
from pathlib import Path

from attacks.catalogue import Outcome, attack
from spacy.language import Language

import spacy_deid


@cache
def _pipeline() -> Language:
    """The Spanish pipeline, with the rules of the package."""
    nlp = spacy_deid.load("es")
    nlp.get_pipe("deid_patterns").use_package_rules()
    return nlp


def _outcome(text: str, planted: list[str]) -> Outcome:
    """Count the strings that can still be read."""
    released = _pipeline()(text)._.deid_text
    return Outcome(planted=len(planted), left=sum(word in released for word in planted))


@attack("Note: several keys and values on one line")
def keys_on_one_line(folder: Path) -> Outcome:
    """Values of which each stands right before the key of the next, so that one detection may take in the others."""
    text = (
        "Paciente: Braulio Zumalabe NHC: 118340 Domicilio: C/ Mayor 12, 28013 Madrid. Tel. 612 345 678 "
        "Aseguradora: póliza 5520-117-0048"
    )
    return _outcome(text, ["Zumalabe", "118340", "Mayor", "28013", "612 345 678", "5520-117-0048"])


@attack("Note: a signature, a licence number and a former profession without a key")
def signature(folder: Path) -> Outcome:
    """What stands below a greeting, in brackets or before "jubilado", where no key names it."""
    text = (
        "Le remito a D. Celestino Zumalabe Hompanera (CIP: RBHM580714915004), minero jubilado.\n"
        "Un saludo,\nHerminia Losada Prada, medicina de familia. Col. 242406317"
    )
    return _outcome(text, ["Zumalabe", "Hompanera", "RBHM580714915004", "minero", "Losada", "242406317"])
