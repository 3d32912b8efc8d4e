"""``spacy-deid annotate``, ``convert`` and ``synth``: make annotated corpora for training and evaluation."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from spacy.language import Language

from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors, InputError
from ..evaluation import AnnotatedText, Entity, detect_format, read_folder
from ..evaluation.formats import WRITERS, align_entities, annotation_files, write_docbin, write_folder, write_jsonl
from ..io import Job, check_encoding, decode, only_run, read_bytes, whole_file, whole_folder
from ..loading import load
from ..offsets import move_spans
from ..results import Result
from ..synth import make_corpus
from ..synth.authored import read_authored
from ..synth.carriers import make_rule_labeller, read_carriers
from ..synth.corpus import make_authored_corpus
from ..workers import memory_zone
from .console import progress, reporting, say, stoppable
from .ehr_context import FileContext, PatientIdFrom
from .options import (
    BatchSize,
    CasLayer,
    ConfigFile,
    DetectionOptions,
    Encoding,
    Format,
    Key,
    OutputFolder,
    Overwrite,
    Paths,
    Processes,
    Resume,
    Scheme,
    check_new,
    check_secrets,
    grouped,
    plan_notes,
)
from .rows import cut
from .surprisal import make_blank

_SUFFIXES = {"brat": (".txt", ".ann"), "i2b2": (".xml",), "cas": (".json",), "xmi": (".xmi",)}
"""Format that writes separate files for each note → suffixes of these files."""


@grouped
def annotate(
    paths: Paths,
    detection: DetectionOptions,
    format: Annotated[Format, typer.Option(help="Format to write.")],
    output: OutputFolder,
    scheme: Annotated[Scheme, typer.Option(help="Scheme of the labels to write.")] = "canonical",
    surrogates: Annotated[
        bool, typer.Option("--surrogates", help="Write the text with surrogates, and annotations of that text.")
    ] = False,
    key: Key = None,
    patient_id_from: PatientIdFrom = None,
    encoding: Encoding = "utf-8",
    overwrite: Overwrite = False,
    resume: Resume = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
    config: ConfigFile = None,
) -> None:
    """Write what a pipeline detects in .txt notes, with the offsets of the original text.

    The files contain the notes: they are for evaluation and review, not for release. With --surrogates they contain
    what is released in the style "surrogate", and can train another model. "brat", "i2b2", "cas" (UIMA CAS JSON 0.4.0)
    and "xmi" write files for each note; "jsonl" and "spacy" write one file, documents.*, for all notes.
    """
    with reporting(), stoppable(lambda: "stopped"), only_run(output):
        codec = check_encoding(encoding)
        check_secrets([key], paths, output)
        if resume and (overwrite or format not in _SUFFIXES):
            second = "overwrite" if overwrite else f"format {format}"
            raise ConfigError(Errors.D412.format(first="resume", second=second))
        suffixes = _SUFFIXES.get(format, ())
        jobs, skipped = plan_notes(
            paths,
            output,
            (".txt",),
            lambda relative: [output / relative.with_suffix(suffix) for suffix in suffixes],
            shared=[] if suffixes else [output / f"documents.{format}"],
            overwrite=overwrite,
            resume=resume,
        )
        released: dict[str, Any] = {"style": "surrogate", "key": key} if surrogates else {}
        deid = Deidentifier(detection.pipeline, **detection.settings(), **released)
        run = AnnotationRun(deid, surrogates, codec, FileContext(patient_id_from), batch_size, n_process)
        with progress(len(jobs)) as bar:
            written = run.write(run.annotate(jobs, bar), output, format, scheme)
        for path, reason in run.failed:
            say(f"failed: {path}: {reason.removeprefix(f'{path}: ')}")
        typer.echo(f"{written} note(s) annotated in {output}; {skipped} skipped, {len(run.failed)} failed")
        if run.failed:
            raise typer.Exit(1)


@dataclass
class AnnotationRun:
    """Annotates files and writes the annotations. A file that fails is listed in `failed`, and the run continues.

    deid (Deidentifier): detects identifiers, and makes surrogates.
    surrogates (bool): whether to write and annotate the released texts instead of the original texts.
    encoding (str): encoding of the notes.
    context (FileContext): finds the EHR context of each file.
    batch_size, n_process (int): as in `Deidentifier.pipe`.
    failed (list[tuple[Path, str]]): files that failed, with the reasons.
    """

    deid: Deidentifier
    surrogates: bool
    encoding: str
    context: FileContext
    batch_size: int = 64
    n_process: int = 1
    failed: list[tuple[Path, str]] = field(default_factory=list)

    def annotate(self, jobs: Sequence[Job], bar: Any) -> Iterator[tuple[Job, AnnotatedText]]:
        """Annotate files. YIELDS (tuple): each file that did not fail with its annotations, in order."""

        def read() -> Iterator[tuple[Job, str]]:
            for job in jobs:
                try:
                    yield job, decode(read_bytes(job.source), self.encoding, str(job.source))[0]
                except InputError as error:
                    self.failed.append((job.source, str(error)))
                    bar.update(1)

        run = self.deid.pipe if self.surrogates else self.deid.detect
        with self.deid:
            for batch in cut(read(), lambda note: len(note[1]), batch_size=self.batch_size, n_process=self.n_process):
                items = [((text, self.context.read(job)), (job, text)) for job, text in batch]
                results = run(items, as_tuples=True, batch_size=self.batch_size, n_process=self.n_process)
                for result, (job, text) in results:
                    bar.update(1)
                    if not result.reason:
                        yield job, self._annotated(job, text, result)
                    else:
                        self.failed.append((job.source, result.reason))

    def write(self, found: Iterator[tuple[Job, AnnotatedText]], output: Path, format: str, scheme: str) -> int:
        """Write annotated notes in a format. RETURNS (int): number of notes that were written."""
        if format not in _SUFFIXES:
            documents = [document for _, document in found]
            _write_file(documents, output / f"documents.{format}", format, self.deid.nlp, scheme)
            return len(documents)
        written = 0
        for job, document in found:
            folder = job.targets[-1].parent
            try:
                folder.mkdir(parents=True, exist_ok=True)
                named = AnnotatedText(job.relative.stem, document.text, document.entities)
                WRITERS[format](named, folder, scheme=scheme)
                written += 1
            except DeidError as error:
                self.failed.append((job.source, str(error)))
        return written

    def _annotated(self, job: Job, text: str, result: Result) -> AnnotatedText:
        """Make the annotated original text or, with surrogates, the annotated released text."""
        spans = [(start, end) for start, end, _ in result.entities]
        if self.surrogates:
            text, spans = result.text, move_spans(result.edits, spans)
        labels = [label for _, _, label in result.entities]
        found = [Entity(start, end, label) for (start, end), label in zip(spans, labels, strict=True) if start < end]
        return AnnotatedText(job.relative.with_suffix("").as_posix(), text, tuple(found))


def _write_file(documents: Sequence[AnnotatedText], path: Path, format: str, nlp: Language, scheme: str) -> None:
    """Write a corpus as one file, in the format "jsonl" or, with the tokens of a pipeline, "spacy"."""
    with whole_file(path) as temporary:
        if format == "jsonl":
            write_jsonl(documents, temporary, scheme=scheme)
        else:
            with memory_zone(nlp):
                write_docbin(documents, temporary, nlp.make_doc, scheme=scheme)


def convert(
    folder: Annotated[Path, typer.Argument(help="Folder of brat, i2b2 XML, JSONL, UIMA CAS JSON or XMI files.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.spacy", help="File to write.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus.")],
    sha256: Annotated[str | None, typer.Option(help="Expected SHA-256 of the annotation files.")] = None,
    lang: Annotated[str, typer.Option(help="Language of the pipeline that will be trained.")] = "es",
    layer: CasLayer = None,
) -> None:
    """Convert a corpus to .spacy, with canonical labels and the tokens of ClinicalTokenizer.

    An entity that begins or ends within a token is widened to the token. An entity that overlaps a longer one keeps
    the rest of its tokens. Both are listed on stderr by document and offsets, and none is dropped.

    The SHA-256 is computed over each annotation file's name, a NUL, its length in bytes, a NUL and its content, in the
    order of the names relative to the folder.
    """
    with reporting():
        digest = hash_folder(folder)
        if sha256 and digest != sha256.lower():
            raise InputError(Errors.D414.format(path=folder, found=digest, expected=sha256.lower()))
        documents = read_folder(folder, scheme=scheme, layer=layer)
        nlp = make_blank(lang)
        with whole_file(output) as temporary:
            overlapping = write_docbin(documents, temporary, nlp.make_doc)
        misaligned = 0
        for document in documents:
            for conflict in align_entities(nlp.make_doc(document.text), list(document.entities))[1]:
                say(f"{document.name}: {conflict}")
                misaligned += conflict.kind == "misaligned"
        entities = sum(len(document.entities) for document in documents)
        typer.echo(
            f"{len(documents)} documents, {entities} entities, {misaligned} misaligned, {overlapping} overlapping"
        )
        typer.echo(f"sha256 {digest}")


def hash_folder(folder: Path) -> str:
    """Hash the annotation files of a folder, or one file.

    folder (Path): a corpus that `evaluation.read_folder` can read.
    RETURNS (str): hexadecimal SHA-256 as described in `convert`.
    RAISES: InputError if there are no annotation files (D303, D306) or one cannot be read (D402).
    """
    digest = hashlib.sha256()
    for file in annotation_files(folder, detect_format(folder)):
        data = read_bytes(file)
        digest.update(b"%s\0%d\0" % (file.name.encode("utf-8", "surrogateescape"), len(data)))
        digest.update(data)
    return digest.hexdigest()


# This file marks a folder that `synth` wrote. A folder without it may hold the originals of a hospital.
_MADE = ".synth.json"


def synth(
    lang: Annotated[str, typer.Argument(help="Code of the language, such as es.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write to, or a file for the formats jsonl and spacy.")
    ],
    n: Annotated[int, typer.Option("--n", min=1, help="Number of notes.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same corpus.")] = 1,
    split: Annotated[
        Literal["train", "dev", "test"],
        typer.Option(help="Split to make. Different splits share no templates, carriers or rare names."),
    ] = "train",
    carriers: Annotated[Path | None, typer.Option(help="Folder of real notes to put identifiers into.")] = None,
    authored: Annotated[
        Path | None,
        typer.Option(help="Folder of authored notes: as they were written, and filled again until there are --n."),
    ] = None,
    prelabel: Annotated[
        str,
        typer.Option(help="Pipeline that finds the identifiers that the carriers already have, 'rules', or 'none'."),
    ] = "rules",
    noise: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of notes with typing errors.")] = 0.2,
    format: Annotated[Format, typer.Option(help="Format to write.")] = "brat",
    scheme: Annotated[Scheme, typer.Option(help="Labels to write.")] = "canonical",
    overwrite: Overwrite = False,
) -> None:
    """Make synthetic notes with annotated PHI. Existing files are not replaced, and a failed command leaves none."""
    with reporting():
        one_file = format in ("jsonl", "spacy")
        if carriers is not None and authored is not None:
            raise ConfigError(Errors.D412.format(first="carriers", second="authored"))
        if carriers is not None:
            place, source = output.resolve(), carriers.resolve()
            if source.is_relative_to(place) or (output.is_file() and place.is_relative_to(source)):
                raise InputError(Errors.D611.format(path=output))
        check_new(output, overwrite)
        if os.path.lexists(output) and not one_file and not _is_corpus(output):
            raise InputError(Errors.D608.format(path=output))
        notes = read_carriers(carriers, lang) if carriers else []
        finder = _make_finder(prelabel, lang) if notes and prelabel != "none" else None
        if authored:
            written = [note for note in read_authored(authored) if (note.lang, note.split) == (lang, split)]
            if not written:
                raise InputError(Errors.D614.format(path=authored, lang=lang, split=split))
            turns = (make_authored_corpus(written, seed, turn, noise=noise if turn else 0.0) for turn in count())
            documents = list(islice(chain.from_iterable(turns), n))
        else:
            documents = list(make_corpus(lang, n, seed, split, carriers=notes, prelabel=finder, noise=noise))
        if one_file:
            _write_file(documents, output, format, make_blank(lang), scheme)
        else:
            made = {"lang": lang, "split": split, "seed": seed, "n": n}
            made |= {"begin": f"{lang}-"} if authored else {}
            _write_corpus(documents, output, format, scheme, json.dumps(made) + "\n")
        entities = sum(len(document.entities) for document in documents)
        typer.echo(f"{len(documents)} notes with {entities} entities in {output}")


def _make_finder(pipeline: str, lang: str) -> Callable[[str], list[Entity]]:
    """Make a function that finds the identifiers in a text, with a pipeline or, for "rules", with rules."""
    if pipeline == "rules":
        return make_rule_labeller(lang)
    nlp = load(pipeline)

    def find(text: str) -> list[Entity]:
        with memory_zone(nlp):
            return [Entity(ent.start_char, ent.end_char, ent.label_) for ent in nlp(text).ents]

    return find


def _is_corpus(folder: Path) -> bool:
    """Whether a folder is empty or has only files that `synth` wrote."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    files = [file for file in folder.iterdir() if file.name != _MADE]
    try:
        made = json.loads((folder / _MADE).read_text(encoding="utf8"))
        begin = made.get("begin") or f"{made['lang']}-{made['split']}-{made['seed']}-"
    except (OSError, ValueError, KeyError, TypeError):
        return not any(folder.iterdir())
    return all(file.name.startswith(begin) and file.suffix in {".txt", ".ann", ".xml"} for file in files)


def _write_corpus(documents: list[AnnotatedText], output: Path, format: str, scheme: str, made: str) -> None:
    """Write a folder with a corpus and the file that marks it, completely or not at all."""
    with whole_folder(output) as temporary:
        temporary.chmod(0o755)
        write_folder(documents, temporary, format, scheme=scheme)
        (temporary / _MADE).write_text(made, encoding="utf8")
