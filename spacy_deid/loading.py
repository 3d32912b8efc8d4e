"""Loading pipelines: those that ship, a folder, or an installed package, at a chosen operating point."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import spacy
from spacy.about import __version__ as spacy_version
from spacy.language import Language
from spacy.util import dict_to_dot, dot_to_dict, get_package_path, is_compatible_version, is_package
from thinc.api import Config

from .errors import ConfigError, DeidError, Errors, InputError, Warnings
from .lang import get_language, language_codes
from .saving import protect, verify_checksums

MAX_LENGTH = 50_000_000
"""Characters that a pipeline of `load` takes at once: they need about 7 GB of memory."""
_PARSERS = frozenset({"parser", "beam_parser", "ner", "beam_ner"})  # of spaCy: they need 1 GB for 100,000 characters


def check_length(nlp: Language, text: str) -> None:
    """Refuse a text that is too long for a pipeline; spaCy's own message is about its parser.

    nlp (Language): the pipeline, whose ``max_length`` counts.
    text (str): the text.
    RAISES: InputError (D775).
    """
    if len(text) > nlp.max_length:
        raise InputError(Errors.D775.format(length=len(text), limit=nlp.max_length))


def shipped_pipelines() -> dict[str, Path]:
    """The pipelines that come with the package.

    RETURNS (dict[str, Path]): name → folder, in the order of the names.
    """
    folder = Path(str(files("spacy_deid"))) / "pipelines"
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/config.cfg"))}


def find_pipeline(name: str | Path) -> Path:
    """Find a pipeline without loading it.

    name (Union[str, Path]): as `load`.
    RETURNS (Path): its folder, or that of its package.
    RAISES: ConfigError if there is none (D008).
    """
    known = shipped_pipelines()
    if str(name) in known:
        return known[str(name)]
    if Path(name).is_dir():
        return Path(name)
    if is_package(str(name)):
        return get_package_path(str(name))
    raise ConfigError(Errors.D008.format(name=name, known=", ".join(known) or "none"))


def load(
    name: str | Path,
    *,
    operating_point: str | None = None,
    dictionaries: str | Path | None = None,
    surprisal: Mapping[str, Any] | None = None,
    llm: Mapping[str, Any] | None = None,
    style: str | None = None,
    project_key: str | Path | Any = None,
    salts: str | Path | None = None,
    **kwargs: Any,
) -> Language:
    """Load a pipeline. Works offline. No word of a note gets into what is saved of it; see `saving.protect`.

    name (Union[str, Path]): name of a shipped pipeline ("es"), a folder, or an installed pipeline package.
    operating_point (Optional[str]): "balanced", "high_recall", "max_recall" or another point that the pipeline was
        calibrated to; None for the one that it was saved with.
    dictionaries (Optional[Union[str, Path]]): folder of the hospital's own dictionaries; see `use_dictionaries`.
    surprisal (Optional[Mapping]): settings of `use_surprisal`, {} for scores alone; None for no scores.
    llm (Optional[Mapping]): settings of `use_llm`, at least "model"; None for no large language model.
    style (Optional[str]): how replaced spans are written: "tag", "numbered", "mask", "remove" or "surrogate", for as
        long as the pipeline lives; None for what it was saved with.
    project_key (Optional[Union[str, Path, ProjectKey]]): file of the key that surrogates come from, or the key.
        Nothing of it is saved.
    salts (Optional[Union[str, Path]]): file of the patients' salts; who destroys one makes its patient unknown.
    kwargs (Any): passed on to ``spacy.load``, such as ``exclude`` or ``config``. Settings in ``config`` may also be
        those of a component that one of the options above adds, as ``{"components.deid_ruler.fuzzy": True}``.
    RETURNS (Language): the pipeline. It takes texts of up to `MAX_LENGTH` characters, which its ``max_length`` says,
        unless it has a parser or an entity recognizer of spaCy.
    RAISES: ConfigError if there is no such pipeline (D008) or point (D341, D342), if ``config`` has settings of a
        component that is not there (D355), if a file of the pipeline is damaged
        or missing (D353, D354), or another version of the package or of spaCy made the pipeline and it cannot be read
        (D346).
    """
    folder = find_pipeline(name)
    added = {"deid_ruler": dictionaries, "deid_surprisal": surprisal, "deid_llm": llm}
    given = [part for part, option in added.items() if option is not None]
    kwargs, later = _split_settings(name, _data_folder(folder), kwargs, given)
    if str(name) in shipped_pipelines():
        if not verify_checksums(folder, name):
            raise ConfigError(Errors.D354.format(name=name))
        nlp = spacy.load(folder, **kwargs)
    else:
        nlp = _load_checked(folder if Path(name).is_dir() else str(name), folder, kwargs)
    protect(nlp, nlp.vocab.strings)
    if not _PARSERS & {nlp.get_pipe_meta(part).factory for part in nlp.pipe_names}:
        nlp.max_length = MAX_LENGTH
    if operating_point is not None:
        use_operating_point(nlp, operating_point)
    if dictionaries is not None:
        use_dictionaries(nlp, dictionaries, **later.get("deid_ruler", {}))
    if surprisal is not None:
        use_surprisal(nlp, **later.get("deid_surprisal", {}) | dict(surprisal))
    if llm is not None:
        use_llm(nlp, **later.get("deid_llm", {}) | dict(llm))
    if style is not None or project_key is not None:
        use_style(nlp, style, project_key, salts)
    return nlp


def use_operating_point(nlp: Language, name: str) -> None:
    """Choose a named operating point of a pipeline, for as long as it lives and in what is saved of it.

    nlp (Language): the pipeline.
    name (str): name of the point.
    RAISES: ConfigError if it has no token classifier (D342) or no such point (D341).
    """
    parts = _made_by_factory(nlp, "deid_ner")
    if not parts:
        raise ConfigError(Errors.D342.format(name=f"{nlp.lang}_{nlp.meta['name']}", factory="deid_ner"))
    for part in parts:
        cast(Any, nlp.get_pipe(part)).set_operating_point(name)
        nlp.get_pipe_config(part)["operating_point"] = name


def use_dictionaries(nlp: Language, folder: str | Path, **settings: Any) -> None:
    """Open the dictionaries of a hospital in a pipeline, for as long as it lives. Nothing of them is saved with it.

    nlp (Language): the pipeline. Without a ``deid_ruler`` it gets one, which its ``deid_merge`` merges from then on.
        Surrogates are nobody whom the dictionaries know.
    folder (str or Path): what ``spacy-deid dictionary build`` wrote.
    settings (Any): other settings of ``deid_ruler``: "without_patient", "fuzzy". A setting that is not given keeps the
        value of the pipeline.
    RAISES: ConfigError as `dictionaries.store.LocalStore.open` and `Ruler.set_patient_search`.
    """
    rulers = _made_by_factory(nlp, "deid_ruler")
    if not rulers:
        add_detector(nlp, "deid_ruler", settings)
        rulers, settings = ["deid_ruler"], {}
    for part in rulers:
        ruler = cast(Any, nlp.get_pipe(part))
        ruler.set_patient_search(**settings)
        nlp.get_pipe_config(part).update(settings)
        ruler.open_dictionaries(folder)
    for part in _made_by_factory(nlp, "deid_surrogate"):
        cast(Any, nlp.get_pipe(part)).open_roster(folder)


def patient_terms(nlp: Language, patient_id: Any) -> list[str]:
    """What the dictionaries that are open in a pipeline know of a patient.

    nlp (Language): the pipeline.
    patient_id (Any): the patient's id as text or number, or None.
    RETURNS (list[str]): names, numbers and addresses in normal form, for whoever makes sure that none is left.
    """
    return [
        term
        for part in _made_by_factory(nlp, "deid_ruler")
        for term in cast(Any, nlp.get_pipe(part)).own_terms(patient_id)
    ]


def use_surprisal(
    nlp: Language, threshold: float | None = None, review_per_1000: float | None = None, **settings: Any
) -> None:
    """Let a masked language model score every word, for as long as the pipeline lives and in what is saved of it.

    nlp (Language): the pipeline. Without a ``deid_surprisal`` it gets one, which its ``deid_merge`` trusts least.
    threshold (Optional[float]): words with this score or a higher one become identifiers, whatever else found
        them or not.
    review_per_1000 (Optional[float]): spans for a person to look at that ``deid_review`` may propose for 1,000 words;
        None to leave what there is of it.
    settings (Any): other settings of ``deid_surprisal``, such as "model". Without a "score" it gets the combination
        that lies beside the model, which is a probability.
    """
    if threshold is not None:
        settings["threshold"] = threshold
    if not _change(nlp, "deid_surprisal", settings):
        add_detector(nlp, "deid_surprisal", _score_of(settings.get("model") or str(nlp.lang)) | settings)
    budget = {"per_1000_words": review_per_1000}
    if review_per_1000 is not None and not _change(nlp, "deid_review", budget):
        nlp.add_pipe("deid_review", config=budget)


def use_llm(nlp: Language, model: str, **settings: Any) -> None:
    """Let a local large language model look for identifiers, for as long as the pipeline lives and in what is saved.

    nlp (Language): the pipeline. Without a ``deid_llm`` it gets one, which its ``deid_merge`` trusts least.
    model (str): path of a GGUF file, or address of a server on this machine.
    settings (Any): other settings of ``deid_llm``, such as "prompt".
    """
    given = {"model": model, **settings}
    if not _change(nlp, "deid_llm", given):
        add_detector(nlp, "deid_llm", given)


def use_style(
    nlp: Language,
    style: str | None = None,
    project_key: str | Path | Any = None,
    salts: str | Path | None = None,
) -> None:
    """Choose how a pipeline writes replaced spans, for as long as it lives. Nothing of the key is saved with it.

    nlp (Language): the pipeline.
    style (Optional[str]): the style's name; None to leave it.
    project_key (Optional[Union[str, Path, ProjectKey]]): the key that surrogates come from; None to leave it.
    salts (Optional[Union[str, Path]]): file of the patients' salts, which go with the key.
    RAISES: ConfigError if nothing in the pipeline writes surrogates (D693), for an unknown style (D507) or a key that
        cannot be used (D640 - D642), and if a key is needed and there is none (D691).
    """
    parts = [cast(Any, nlp.get_pipe(part)) for part in _made_by_factory(nlp, "deid_surrogate")]
    if not parts:
        raise ConfigError(Errors.D693.format(name=f"{nlp.lang}_{nlp.meta['name']}"))
    for part in parts:
        if style is not None:
            part.set_style(style)
        if project_key is not None:
            part.set_key(project_key, salts)
        if part.lacks_key:
            raise ConfigError(Errors.D691)


def _made_by_factory(nlp: Language, factory: str) -> list[str]:
    """The components that a factory made, in their order."""
    return [part for part in nlp.pipe_names if nlp.get_pipe_meta(part).factory == factory]


def _score_of(model: str) -> dict[str, Any]:
    """The setting "score" of a model, or nothing if it has no combination: one fitted to another model is none."""
    folder = get_language(model).resource("masked_lm") if model in language_codes("masked_lm") else Path(model)
    if not (folder / "combined_all.json").is_file():
        return {}
    return {"score": {"@deid_scores": "spacy_deid.combined_score.v1", "source": model}}


def _change(nlp: Language, factory: str, settings: Mapping[str, Any]) -> bool:
    """Change settings of the components that a factory made. RETURNS (bool): whether there are any."""
    parts = _made_by_factory(nlp, factory)
    for part in parts if settings else ():
        config = {key: value for key, value in nlp.get_pipe_config(part).items() if key != "factory"}
        nlp.replace_pipe(part, factory, config=Config(config).merge(dict(settings)))
    return bool(parts)


def add_detector(nlp: Language, factory: str, config: dict[str, Any]) -> None:
    """Put a detector before the merging, which trusts it less than all others.

    nlp (Language): the pipeline.
    factory (str): name of the detector's factory.
    config (dict): its settings.
    """
    merges = _made_by_factory(nlp, "deid_merge")
    detector = cast(Any, nlp.add_pipe(factory, before=merges[0] if merges else None, config=config))
    for part in merges:
        merge = cast(Any, nlp.get_pipe(part))
        merge.add_source(detector.key)
        nlp.get_pipe_config(part)["sources"] = list(merge.sources)


def _load_checked(name: str | Path, folder: Path, kwargs: dict[str, Any]) -> Language:
    """Load a folder or a package, and say if another version made it: at once if it cannot be read, as a warning if
    it can. The meta.json of that version is in the folder.
    """
    made, made_spacy = _made_by(folder)
    here = version("spacy-deid")
    _refuse_replaced_names(_data_folder(folder), name)
    if not verify_checksums(_data_folder(folder), name):
        warnings.warn(Warnings.DW342.format(name=name), UserWarning, stacklevel=3)
    try:
        nlp = spacy.load(name, **kwargs)
    except DeidError:
        raise
    except Exception as error:
        if made == here and is_compatible_version(spacy_version, made_spacy):
            raise
        versions = {"made": made, "made_spacy": made_spacy, "here": here, "here_spacy": spacy_version}
        raise ConfigError(Errors.D346.format(name=name, kind=type(error).__name__, **versions)) from error
    if made not in (here, _UNKNOWN):
        warnings.warn(Warnings.DW340.format(name=name, made=made, here=here), UserWarning, stacklevel=3)
    return nlp


REPLACED_NAMES = {
    **{f"spacy_deid.{mode}_mode.v1": f'mode = "{mode}"' for mode in ("exact", "unmasked")},
    "spacy_deid.spread_mode.v1": '@deid_modes = "spacy_deid.spread_mode.v1", or mode = "spread"',
    "spacy_deid.no_masking.v1": 'masking = "none"',
    "spacy_deid.same_word_masking.v1": 'masking = "same_word"',
    "spacy_deid.same_lemma_masking.v1": 'masking = "same_lemma"',
    **{
        f"spacy_deid.{score}_score.v1": f'score = "{score}"'
        for score in ("surprisal", "per_piece", "rank", "entropy", "name_slot", "contrast")
    },
    **{
        f"spacy_deid.{score}_score.v1": f'@deid_scores = "spacy_deid.{score}_score.v1"'
        for score in ("veto", "combined")
    },
    "spacy_deid.all_candidates.v1": 'candidates = "all"',
    "spacy_deid.uncommon_candidates.v1": 'candidates = "uncommon"',
    "spacy_deid.union_filter.v1": "spans_filter = null",
    "spacy_deid.label_priority.v1": "label_priority = null, or the path of the file",
    **{f"spacy_deid.{style}_style.v1": f'style = "{style}"' for style in ("tag", "numbered", "remove")},
    **{
        f"spacy_deid.{style}_style.v1": f'@deid_styles = "spacy_deid.{style}_style.v1"'
        for style in ("mask", "surrogate")
    },
    "spacy_deid.date_rules.v1": "the same settings without the name",
    **{
        f"spacy_deid.{name}_strategy.v1": f'"{name}"' for name in ("consistent", "random", "keep", "tag", "generalize")
    },
    **{
        f"spacy_deid.{name}_strategy.v1": f'@deid_strategies = "spacy_deid.{name}_strategy.v1"'
        for name in ("markov", "similar", "self_decoded")
    },
    "spacy_deid.doc_lemmas.v1": 'lemmatizer = "doc"',
    "spacy_deid.lookup_lemmas.v1": 'lemmatizer = "lookup"',
    "spacy_deid.simplemma_lemmas.v1": 'lemmatizer = "simplemma"',
    "spacy_deid.voikko_lemmas.v1": 'lemmatizer = "voikko"',
    "spacy_deid.finnish_name_lemmas.v1": 'lemmatizer = "rules"',
    "spacy_deid.default_lemmas.v1": "lemmatizer = null",
    "spacy_deid.first_lemmas.v1": "a list of lemmatizers",
    "spacy_deid.edit_tree_lemmas.v1": '@deid_lemmatizers = "spacy_deid.edit_tree_lemmatizer.v1"',
    "spacy_deid.capitalised_lemmas.v1": '@deid_lemmatizers = "spacy_deid.capitalised_lemmatizer.v1"',
}
"""Functions that configs of versions up to 0.3.0 name in the registry ``misc``, and what replaced them."""
REPLACED_SETTINGS = {
    "deid_patterns": {"echo": "propagate_names"},
    "deid_ner": {"echo": "propagate_names"},
    "deid_llm": {
        "model_name": "server.model_name",
        "allow": "server.allow",
        "key_variable": "server.key_variable",
        "ca_file": "server.ca_file",
        "response_format": "server.response_format",
        "context": "in_process.context",
        "threads": "in_process.threads",
        "gpu_layers": "in_process.gpu_layers",
        "temperature": "sampling.temperature",
        "seed": "sampling.seed",
        "grammar": "sampling.grammar",
        "chunk": "chunks.size",
        "overlap": "chunks.overlap",
        "max_tokens": "limits.max_tokens",
        "timeout": "limits.timeout",
        "retries": "limits.retries",
        "wait": "limits.wait",
        "slots": "limits.slots",
    },
}
"""Factory → setting of versions up to 0.3.0 → setting that replaced it."""


def _refuse_replaced_names(folder: Path, name: str | Path) -> None:
    """Check a saved pipeline for registered functions and settings that newer versions replaced.

    folder (Path): folder with the config.
    name (Union[str, Path]): name of the pipeline, for the error message.
    RAISES: ConfigError (D356) that names the old and the new name.
    """
    if not (folder / "config.cfg").is_file():
        return
    components = Config().from_disk(folder / "config.cfg", interpolate=False).get("components", {})
    for component, settings in components.items():
        renamed = REPLACED_SETTINGS.get(settings.get("factory", ""), {})
        found = next(((f"{component}.{old}", new) for old, new in renamed.items() if old in settings), None)
        found = found or next(_replaced_names(settings), None)
        if found:
            raise ConfigError(Errors.D356.format(name=name, old=found[0], new=found[1]))


def _replaced_names(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the functions of the registry ``misc`` in a config block that were replaced, and what replaced them."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _replaced_names(value)
        elif key == "@misc" and value in REPLACED_NAMES:
            yield f'@misc = "{value}"', REPLACED_NAMES[value]


def _data_folder(folder: Path) -> Path:
    """The folder that holds the config of a pipeline: its own folder, or NAME-VERSION within its package."""
    if (folder / "config.cfg").is_file():
        return folder
    return next((path.parent for path in sorted(folder.glob("*/config.cfg"))), folder)


def _split_settings(
    name: str | Path, folder: Path, kwargs: dict[str, Any], added: Sequence[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Separate the settings of components that are added after loading from those that ``spacy.load`` can apply.

    name (Union[str, Path]): name of the pipeline, for the error.
    folder (Path): its data.
    kwargs (dict): keyword arguments for ``spacy.load``.
    added (Sequence[str]): components that are added if the pipeline does not have them.
    RETURNS (tuple): the keyword arguments, and component → settings.
    RAISES: ConfigError (D355) for settings of a component that is neither there nor added.
    """
    overrides = dict_to_dot(kwargs.get("config", {}), for_overrides=True)
    path = folder / "config.cfg"
    if "nlp.pipeline" in overrides or not path.is_file():
        return kwargs, {}
    known = Config().from_disk(path, interpolate=False).get("components", {})
    later: dict[str, dict[str, Any]] = {}
    for key in [key for key in overrides if key.startswith("components.")]:
        part, _, setting = key.removeprefix("components.").partition(".")
        if part not in known and part not in added:
            raise ConfigError(Errors.D355.format(component=part, name=name, known=", ".join(known)))
        if part not in known:
            later.setdefault(part, {})[setting] = overrides.pop(key)
    return {**kwargs, "config": overrides}, {part: dot_to_dict(settings) for part, settings in later.items()}


_UNKNOWN = "an unknown version"


def _made_by(path: Path) -> tuple[str, str]:
    """The versions of spacy_deid and spaCy that a pipeline was made by, as its meta.json has them."""
    try:
        meta = json.loads((path / "meta.json").read_text(encoding="utf8"))
        deid = meta.get("deid") or {}
        return str(deid.get("spacy_deid") or _UNKNOWN), str(meta.get("spacy_version") or _UNKNOWN)
    except (OSError, ValueError, AttributeError):
        return _UNKNOWN, _UNKNOWN
