"""``spacy-deid synth``: a corpus of invented persons in templates and in real notes, with gold PHI."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import spacy
import typer

from ..errors import Errors, InputError
from ..evaluation import AnnotatedText, Entity
from ..evaluation.docbin import write_docbin
from ..evaluation.formats import write_folder
from ..evaluation.json_formats import write_jsonl
from ..io import whole_file
from ..loading import load
from ..synth import make_corpus
from ..synth.carriers import make_rule_labeller, read_carriers
from .console import reporting
from .options import Format, Overwrite, Scheme

__all__ = ["Split", "synth"]

_CORPUS = {".txt", ".ann", ".xml"}
# Tells a folder that this command wrote from one with the originals of a hospital.
_MADE = ".synth.json"


class Split(StrEnum):
    """Which templates, carriers and rare names are used."""

    train = "train"
    dev = "dev"
    test = "test"


def synth(
    lang: Annotated[str, typer.Argument(help="Language: es, en, fi.")],
    out: Annotated[Path, typer.Argument(help="Folder of brat or i2b2 files, or one .jsonl or .spacy file.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Number of notes.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same corpus.")] = 1,
    split: Annotated[
        Split, typer.Option(help="Templates, carriers and names of two splits never meet.")
    ] = Split.train,
    carriers: Annotated[Path | None, typer.Option(help="Folder of real notes to put identifiers into.")] = None,
    prelabel: Annotated[
        str, typer.Option(help="Pipeline that finds what the carriers hold of their own, 'rules', or 'none'.")
    ] = "rules",
    noise: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of notes that are typed badly.")] = 0.2,
    format: Annotated[Format, typer.Option(help="Format to write.")] = Format.brat,
    scheme: Annotated[Scheme, typer.Option(help="Labels to write.")] = Scheme.canonical,
    overwrite: Overwrite = False,
) -> None:
    """Make notes with gold PHI. What is there already is left alone; what fails leaves nothing behind."""
    with reporting():
        _check_place(out, carriers, format, overwrite)
        notes = read_carriers(carriers, lang) if carriers else []
        finder = _finder(prelabel, lang) if notes and prelabel != "none" else None
        documents = list(make_corpus(lang, n, seed, split, carriers=notes, prelabel=finder, noise=noise))
        made: dict[str, str | int] = {"lang": lang, "split": str(split), "seed": seed, "n": n}
        _write(documents, out, format, scheme, made)
        entities = sum(len(document.entities) for document in documents)
        typer.echo(f"{len(documents)} notes with {entities} entities in {out}")


def _finder(pipeline: str, lang: str) -> Callable[[str], list[Entity]]:
    """What a pipeline or the rules find in a text."""
    if pipeline == "rules":
        return make_rule_labeller(lang)
    nlp = load(pipeline)

    def find(text: str) -> list[Entity]:
        with nlp.memory_zone():
            return [Entity(ent.start_char, ent.end_char, ent.label_) for ent in nlp(text).ents]

    return find


def _check_place(out: Path, carriers: Path | None, format: str, overwrite: bool) -> None:
    """Make sure that nothing is replaced but a corpus of this command, and that only when asked."""
    if carriers is not None:
        place, source = out.resolve(), carriers.resolve()
        if source.is_relative_to(place) or (out.is_file() and place.is_relative_to(source)):
            raise InputError(Errors.D611.format(path=out))
    if not os.path.lexists(out):
        return
    if not overwrite:
        raise InputError(Errors.D409.format(count=1, path=out, other="another place"))
    if format not in ("jsonl", "spacy") and not _is_corpus(out):
        raise InputError(Errors.D608.format(path=out))


def _is_corpus(folder: Path) -> bool:
    """Whether a folder is empty, or holds what this command wrote and nothing else."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    files = [file for file in folder.iterdir() if file.name != _MADE]
    try:
        made = json.loads((folder / _MADE).read_text(encoding="utf8"))
        begin = f"{made['lang']}-{made['split']}-{made['seed']}-"
    except (OSError, ValueError, KeyError, TypeError):
        return not any(folder.iterdir())
    return all(file.name.startswith(begin) and file.suffix in _CORPUS for file in files)


def _write(documents: list[AnnotatedText], out: Path, format: str, scheme: str, made: dict[str, str | int]) -> None:
    """Write the corpus whole or not at all."""
    if format in ("jsonl", "spacy"):
        with whole_file(out) as temporary:
            if format == "jsonl":
                write_jsonl(documents, temporary, scheme=scheme)
            else:
                write_docbin(documents, temporary, _tokenizer(str(made["lang"])), scheme=scheme)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".synth-", dir=out.parent))
    try:
        temporary.chmod(0o755)
        write_folder(documents, temporary, format, scheme=scheme)
        (temporary / _MADE).write_text(json.dumps(made) + "\n", encoding="utf8")
        if out.exists():
            shutil.rmtree(out)
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _tokenizer(lang: str) -> Callable[[str], spacy.tokens.Doc]:
    """The tokens that the classifiers are trained on."""
    config = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}
    return spacy.blank(lang, config=config).make_doc
