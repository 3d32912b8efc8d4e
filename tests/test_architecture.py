"""The arrows between modules: who may import whom, read from the source.

The map is the decision; a new arrow is drawn here first, with a reason that holds for whoever reads it later.
"""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = Path(find_spec("spacy_deid").origin).parent

# room → the rooms it may import. A room is a module or a folder of the package; its own files are always allowed,
# except in pipeline/, where a component knows no other component.
ARROWS = {
    "errors": "",
    "tokenizer": "",
    "lang": "errors",
    "labels": "errors",
    "offsets": "errors",
    "patient_ids": "",
    "ehr_fields": "errors patient_ids",
    "io": "errors",
    "processes": "errors",
    "workers": "errors processes",
    "saving": "errors",
    "loading": "errors saving",
    "policies": "errors labels",
    "spans": "errors labels",
    "context": "errors labels offsets spans",
    "ml": "errors",
    "patterns": "errors labels",
    "dictionaries": "errors labels patient_ids",
    "llm": "errors labels",
    # scores that weigh how rare a word is, and veto medical terms
    "masked_lm": "background errors medical registries",
    "background": "dictionaries errors io",
    "ehr": "background dictionaries errors labels notes patient_ids processes surrogates",
    "medical": "background dictionaries errors surrogates",
    # dictionaries: how a scanner confuses letters, and nicknames
    "surrogates": "dictionaries errors labels patient_ids",
    "vault": "errors offsets patient_ids surrogates",
    "registries": "errors",
    "lemmatizers": "errors registries workers",
    # medical, surrogates: the gold entities of a corpus are replaced by surrogates
    "evaluation": "errors labels loading medical offsets spans surrogates",
    "notes": "errors",
    "documents": "errors io offsets",
    # spans: notes are ordered by what detectors say
    "audit": "dictionaries errors evaluation labels notes patient_ids processes spans",
    # dictionaries: prefers notes that the patient index finds names in
    "sampling": "dictionaries errors evaluation io labels notes patient_ids",
    "synth": "errors evaluation labels patterns surrogates",
    # ml: the network of the classifier is trained further; synth: notes that are replayed
    "adaptation": "errors evaluation labels loading ml saving spans synth",
    # dictionaries, medical: words that are names, known words and damaged readings are evidence
    "review": "dictionaries errors labels medical spans",
    # background: a word of the language is no name with a slip of the pen
    "pipeline": "background context dictionaries errors labels lemmatizers llm masked_lm medical ml offsets "
    "patient_ids patterns policies registries review spans surrogates vault",
    # the factories import their components when they are called
    "factories": "errors evaluation medical patterns pipeline spans",
    # audit: notes whose spans are to be reviewed are ordered by their risk
    "results": "audit context documents errors offsets spans",
    "deidentifier": "context documents errors io loading offsets pipeline policies processes results saving spans "
    "vault workers",
    "presidio": "context deidentifier errors labels results",
    # notes: the tables of the persons are read like those of notes
    "data_models": "dictionaries ehr errors notes patient_ids results surrogates",
    "warehouse": "data_models deidentifier dictionaries ehr_fields errors io loading notes offsets patient_ids "
    "processes results spans surrogates",
    # ehr, dictionaries: the persons of an export become a dictionary, by the code that reads the tables of an EHR
    # the temporary dictionary and the labelled values of structured records
    "export_profiles": "errors",
    "exports": "deidentifier dictionaries documents ehr errors io loading offsets results spans",
    "fhir": "deidentifier dictionaries documents ehr errors export_profiles exports io labels loading results "
    "surrogates",
    "hl7": "deidentifier dictionaries documents ehr errors export_profiles exports io labels loading offsets "
    "patient_ids processes results surrogates",
    "cda": "deidentifier dictionaries documents ehr errors export_profiles exports labels loading offsets patient_ids "
    "results surrogates",
    "app": "__init__ cda deidentifier dictionaries documents errors evaluation exports fhir hl7 io labels llm loading "
    "offsets processes results saving spans surrogates vault workers",
    "dossier": "__init__ audit errors evaluation labels loading policies saving surrogates",
    "cli": "__init__ adaptation app audit background cda data_models deidentifier dictionaries documents dossier ehr "
    "ehr_fields errors evaluation fhir hl7 io labels llm loading masked_lm medical notes offsets patient_ids policies "
    "processes registries results sampling saving spans surrogates synth vault warehouse "
    "workers",
    "__init__": "context deidentifier documents errors loading offsets results spans",
    "__main__": "cli",
}
# the knowledge of languages, which every room may ask for; errors is below it
EVERYWHERE = {"lang"}
ISOLATED = {"pipeline"}
WITHOUT_SPACY = {"errors", "lang", "labels", "offsets", "policies", "io", "processes", "patterns", "surrogates"}
WITHOUT_SPACY |= {
    "patient_ids",
    "ehr_fields",
    "dictionaries",
    "background",
    "ehr",
    "llm",
    "medical",
    "notes",
    "documents",
    "vault",
}
HEAVY = {"torch", "transformers", "spacy_transformers", "llama_cpp", "pyarrow", "pandas", "sklearn", "matplotlib"}
HEAVY |= {"sqlalchemy", "duckdb", "psycopg", "onnx", "onnxruntime", "tokenizers", "httpx", "uvicorn", "ray", "pyspark"}
HEAVY |= {"presidio_analyzer"}
# only `serve` imports it, after it has looked whether the extra "app" is installed; nothing imports the classes of
# presidio.py, which inherit from Presidio's
BASED_ON = {"app/connections.py": {"uvicorn"}, "presidio.py": {"presidio_analyzer"}}

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(parts):
    """The room that a path or a dotted name within the package belongs to."""
    return Path(parts[0]).stem if parts else "__init__"


def is_module(parts):
    path = PACKAGE.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


def imported(tree, path):
    """Every module that a file imports, at its top or inside a function: (absolute dotted parts, line)."""
    inside = ["spacy_deid", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split("."), node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            for alias in node.names:
                full = [*base, alias.name]
                deeper = full[0] == "spacy_deid" and is_module(full[1:])
                yield (full if deeper else base), node.lineno


def forbidden(source, path):
    """Arrows of a file that the map does not have."""
    room = room_of(path.relative_to(PACKAGE).parts)
    found = []
    for target, line in imported(ast.parse(source), path):
        if target[0] != "spacy_deid":
            continue
        to = room_of(target[1:])
        own = to == room and not (room in ISOLATED and target[1:] != [room])
        if not own and to not in ARROWS[room].split() and (to not in EVERYWHERE or room == "errors"):
            found.append(f"{path.relative_to(PACKAGE)}:{line}: {room} → {'.'.join(target)}")
    return found


def top_level(tree):
    """The statements that run when a module is imported, those of its if, try and class blocks too."""
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield node
        todo += ast.iter_child_nodes(node)


def heavy(source):
    """Heavy packages that a module imports as soon as it is imported itself."""
    for node in top_level(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in HEAVY)


@cache
def source_of(path):
    return path.read_text(encoding="utf8")


def test_the_map_has_every_room_and_no_other():
    assert {room_of(path.relative_to(PACKAGE).parts) for path in FILES} == set(ARROWS)


def test_the_document_shows_the_map():
    text = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf8")
    block = text.split("```text arrows\n")[1].split("```")[0]
    shown = dict(line.split(" → ") for line in re.sub(r"\n +(?=\S)(?!.* → )", " ", block).splitlines())
    left = {"errors", "tokenizer", "patient_ids", "__init__", "__main__"}
    assert {room.strip(): targets.split() for room, targets in shown.items()} == {
        room: targets.split() for room, targets in ARROWS.items() if room not in left
    }


def test_the_map_has_no_circle():
    left = {room: set(targets.split()) for room, targets in ARROWS.items()}
    while free := {room for room, targets in left.items() if not targets}:
        left = {room: targets - free for room, targets in left.items() if room not in free}
    assert left == {}


def test_files_import_only_what_the_map_allows():
    assert FILES
    assert [arrow for path in FILES for arrow in forbidden(source_of(path), path)] == []


def test_no_heavy_package_is_imported_at_the_top():
    found = {
        path.relative_to(PACKAGE).as_posix(): {name.split(".")[0] for name in heavy(source_of(path))} for path in FILES
    }
    assert {path: names for path, names in found.items() if names} == BASED_ON


def test_the_plain_rooms_know_nothing_of_spacy():
    plain = [path for path in FILES if room_of(path.relative_to(PACKAGE).parts) in WITHOUT_SPACY]
    assert plain
    found = {
        f"{path.relative_to(PACKAGE)}:{line}: {target[0]}"
        for path in plain
        for target, line in imported(ast.parse(source_of(path)), path)
        if target[0] in ("spacy", "thinc")
    }
    assert found == set()


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("spans.py", "from .context import EDITS"),
        ("spans.py", "from . import context"),
        ("spans.py", "import spacy_deid.context"),
        ("spans.py", "from spacy_deid.pipeline.merge import Merge"),
        ("spans.py", "def lazily():\n    from .cli import app"),
        ("pipeline/merge.py", "from .surrogate import Surrogate"),
        ("pipeline/merge.py", "from . import surrogate"),
        ("pipeline/merge.py", "from ..pipeline.surrogate import Surrogate"),
        ("evaluation/metrics.py", "from ..context import get_text"),
        ("ml/crf.py", "from ..spans import Evidence"),
        ("errors.py", "from . import labels"),
    ],
)
def test_an_arrow_against_the_map_is_found(file, source):
    assert len(forbidden(source, PACKAGE / file)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("evaluation/metrics.py", "from .counts import coverage_mask"),
        ("pipeline/merge.py", "from ..spans import Evidence\nimport spacy"),
        ("cli/info.py", "from .. import __version__\nfrom ..evaluation.standoff import read_brat"),
    ],
)
def test_an_arrow_of_the_map_is_let_be(file, source):
    assert forbidden(source, PACKAGE / file) == []


def test_a_heavy_import_is_found_wherever_it_runs_at_once():
    assert list(heavy("import torch.nn")) == ["torch.nn"]
    assert list(heavy("try:\n    from transformers import AutoModel\nexcept ImportError:\n    pass")) == [
        "transformers"
    ]
    assert list(heavy("def load():\n    import torch")) == []


LANGUAGES = {path.parent.name for path in PACKAGE.glob("lang/*/patterns.toml")}
LANGUAGE_NAMES = ("english", "finnish", "spanish", "swedish", "german")


def constants(node):
    """The constants of an expression, also those in a tuple, list or set."""
    if isinstance(node, ast.Constant):
        return {node.value}
    return set().union(*map(constants, node.elts)) if isinstance(node, ast.Tuple | ast.List | ast.Set) else set()


def language_tests(source):
    """The lines that compare a value with a language code, look one up in a dict, or ask for a certain language."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            found = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            found = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.MatchValue):
            found = [node.value]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "get_language":
            found = node.args
        else:
            continue
        if any(constants(value) & LANGUAGES for value in found):
            yield node.lineno


OUTSIDE_LANG = [path for path in FILES if path.relative_to(PACKAGE).parts[0] != "lang"]


def test_no_language_code_is_tested_outside_lang():
    assert OUTSIDE_LANG
    found = {path: list(language_tests(source_of(path))) for path in OUTSIDE_LANG}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_file_outside_lang_is_named_after_a_language():
    named = {
        path.relative_to(PACKAGE).as_posix()
        for path in OUTSIDE_LANG
        if any(name in path.stem for name in LANGUAGE_NAMES) or path.stem in LANGUAGES
    }
    assert named == set()


@pytest.mark.parametrize(
    "source",
    [
        'if lang == "fi":\n    pass',
        'x = lang in ("es", "en")',
        'x = {"es": 1}.get(lang)',
        'x = get_language("fi").inflector',
        'match lang:\n    case "sv":\n        pass',
    ],
)
def test_a_test_of_a_language_code_is_found(source):
    assert list(language_tests(source)) != []


@pytest.mark.parametrize("source", ['word.endswith("es")', 'def f(lang="es"): ...', "get_language(lang)"])
def test_other_uses_of_the_same_letters_are_no_test(source):
    assert list(language_tests(source)) == []
