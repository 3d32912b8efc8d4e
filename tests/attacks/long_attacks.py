"""Attacks on long documents: what is known in one part of them must count in all others."""

from pathlib import Path

from attacks.catalogue import Outcome, attack
from typer.testing import CliRunner

from spacy_deid.cli import app

FILLER = "Sin fiebre ni tos, sin cambios en la medicación habitual y con buen estado general. " * 10


@attack("Table: a name that only its first mention tells, 100,000 characters before the next", slow=True)
def name_far_from_its_key(folder: Path) -> Outcome:
    """A surname that no list has, found by its key in the first row, stands alone in the last rows."""
    rows = ["Nombre: Aurelio Zubeldiagoyena Linde. NHC: 4471906.", *[FILLER] * 130]
    rows += ["Zubeldiagoyena refiere dolor.", "Visto con Zubeldiagoyena en planta."]
    (folder / "t.csv").write_text("note\n" + "".join(f'"{row}"\n' for row in rows), encoding="utf-8")
    options = ["--pipeline", "es", "--output", str(folder / "out")]
    result = CliRunner().invoke(app, ["redact", str(folder / "t.csv"), *options])
    assert result.exit_code == 0, result.output
    return Outcome(3, (folder / "out" / "t.csv").read_text(encoding="utf-8").count("Zubeldiagoyena"))
