"""Loads pipelines without network access, checks their files, and changes their settings after loading.

An operating point is a named set of thresholds of the token classifier, such as "high_recall".
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from .saving import CHECKSUMS, protect, verify_checksums

MAX_LENGTH = 50_000_000
"""Longest text in characters for pipelines of `load`. A text of this length needs about 7 GB of memory."""
_PARSERS = frozenset({"parser", "beam_parser", "ner", "beam_ner"})  # spaCy's need 1 GB for 100,000 characters


def check_text(nlp: Language, text: str) -> None:
    """Check that a pipeline can process a text. The error of spaCy about its length would be about its parser.

    nlp (Language): the pipeline, with its limit ``max_length``.
    text (str): the text.
    RAISES: InputError if the text is longer than the limit (D775), or has a surrogate code point (D786).
    """
    if len(text) > nlp.max_length:
        raise InputError(Errors.D775.format(length=len(text), limit=nlp.max_length))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(Errors.D786.format(code=ord(text[error.start]), offset=error.start)) from None


def shipped_pipelines() -> dict[str, Path]:
    """List the pipelines that ship with the package.

    RETURNS (dict[str, Path]): name → folder, sorted by name.
    """
    folder = Path(str(files("spacy_deid"))) / "pipelines"
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/config.cfg"))}


def find_pipeline(name: str | Path) -> Path:
    """Find a pipeline without loading it.

    name (Union[str, Path]): name of a shipped pipeline, a folder, or an installed package.
    RETURNS (Path): folder of the pipeline or of its package.
    RAISES: ConfigError if there is no such pipeline (D008), or the folder contains none (D357).
    """
    known = shipped_pipelines()
    if str(name) in known:
        return known[str(name)]
    if Path(name).is_dir():
        if not (_data_folder(Path(name)) / "config.cfg").is_file() and not (Path(name) / CHECKSUMS).is_file():
            raise ConfigError(Errors.D357.format(name=name, known=", ".join(known)))
        return Path(name)
    if is_package(str(name)):
        return get_package_path(str(name))
    raise ConfigError(Errors.D008.format(name=name, known=", ".join(known) or "none"))


def read_language(name: str | Path) -> str:
    """Read the language of a pipeline without loading it.

    name (Union[str, Path]): as for `load`.
    RETURNS (str): ISO 639-1 code; "" if its config names none.
    RAISES: ConfigError (D008) if there is no such pipeline.
    """
    config = Config().from_disk(_data_folder(find_pipeline(name)) / "config.cfg", interpolate=False)
    return str(config.get("nlp", {}).get("lang") or "")


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
    """Load a pipeline without network access. If it is saved again, no word of a note is saved with it; see
    `saving.protect`.

    name (Union[str, Path]): name of a shipped pipeline ("es"), a folder, or an installed pipeline package.
    operating_point (Optional[str]): named thresholds: "balanced", "high_recall", "max_recall" or another calibrated
        point; None for the one that the pipeline was saved with.
    dictionaries (Optional[Union[str, Path]]): folder of the institution's dictionaries; see `use_dictionaries`.
    surprisal (Optional[Mapping]): settings of `use_surprisal`, {} to score words but detect none; None for no
        change.
    llm (Optional[Mapping]): settings of `use_llm`, at least "model"; None for no change.
    style (Optional[str]): style of `deid_surrogate`: "tag", "numbered", "mask", "remove" or "surrogate"; None for the
        one that the pipeline was saved with. It is not saved.
    project_key (Optional[Union[str, Path, ProjectKey]]): project key of surrogates, or its file. It is not saved.
    salts (Optional[Union[str, Path]]): file of the patients' secret salts; deleting a salt makes the surrogates of
        its patient irreproducible.
    kwargs (Any): arguments of ``spacy.load``, such as ``exclude`` or ``config``. ``config`` may also contain settings
        of a component that one of the options above adds, such as ``{"components.deid_ruler.fuzzy": True}``.
    RETURNS (Language): the pipeline. Its ``max_length`` is `MAX_LENGTH`, unless it has a parser or an entity
        recognizer of spaCy.
    RAISES: ConfigError if there is no such pipeline (D008) or operating point (D341, D342), ``config`` has settings of
        a missing component (D355), a file of the pipeline is damaged or missing (D353, D354), its config uses names
        that were replaced (D356), or it was created with incompatible versions and cannot be read (D346).
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
    """Set a named operating point of a pipeline. The change is saved with the pipeline.

    nlp (Language): the pipeline.
    name (str): name of the operating point.
    RAISES: ConfigError if the pipeline has no token classifier (D342) or no such operating point (D341).
    """
    parts = _names(nlp, "deid_ner")
    if not parts:
        raise ConfigError(Errors.D342.format(name=_full_name(nlp), factory="deid_ner"))
    for part in parts:
        cast(Any, nlp.get_pipe(part)).set_operating_point(name)
        nlp.get_pipe_config(part)["operating_point"] = name


def use_dictionaries(nlp: Language, folder: str | Path, **settings: Any) -> None:
    """Open an institution's dictionaries in a pipeline. They are not saved with it.

    nlp (Language): the pipeline. If it has no ``deid_ruler``, one is added to it and to the sources of ``deid_merge``.
        After this, no surrogate is the name of a person in the dictionaries.
    folder (str or Path): folder written by ``spacy-deid dictionary build``.
    settings (Any): further settings of ``deid_ruler``: "without_patient", "fuzzy". Other settings are not changed.
    RAISES: ConfigError as `dictionaries.store.LocalStore.open` and `Ruler.set_patient_search`.
    """
    rulers = _names(nlp, "deid_ruler")
    if not rulers:
        add_detector(nlp, "deid_ruler", settings)
        rulers, settings = ["deid_ruler"], {}
    for part in rulers:
        ruler = cast(Any, nlp.get_pipe(part))
        ruler.set_patient_search(**settings)
        nlp.get_pipe_config(part).update(settings)
        ruler.open_dictionaries(folder)
    for surrogate in find_components(nlp, "deid_surrogate"):
        surrogate.open_roster(folder)


@contextmanager
def borrow_dictionaries(nlp: Language, folder: str | Path) -> Iterator[None]:
    """Open dictionaries in a pipeline for the duration of a ``with`` block. Afterwards those that were open before are
    open again, or none.

    nlp (Language): the pipeline.
    folder (Union[str, Path]): folder with the dictionaries.
    RAISES: ConfigError as `use_dictionaries`.
    """
    before = [(ruler, ruler.store, ruler.expects_dictionaries) for ruler in find_components(nlp, "deid_ruler")]
    rosters = [(surrogate, surrogate.store) for surrogate in find_components(nlp, "deid_surrogate")]
    use_dictionaries(nlp, folder)
    try:
        yield
    finally:
        for ruler in find_components(nlp, "deid_ruler"):
            ruler.close_dictionaries()
        for ruler, store, expects in before:
            ruler.store, ruler.expects_dictionaries = store, expects
        for surrogate, store in rosters:
            surrogate.store = store


def patient_terms(nlp: Language, patient_id: Any) -> list[str]:
    """Return the terms that the dictionaries of a pipeline contain for one patient. Only dictionaries that were opened
    with ``open_dictionaries`` are read.

    nlp (Language): the pipeline.
    patient_id (Any): the patient's id as text or number; None if it is unknown.
    RETURNS (list[str]): names, numbers and addresses in normal form, which a released copy must not contain; an empty
        list if the id is None or not in the dictionaries, or if no dictionaries are open.
    """
    return [term for ruler in find_components(nlp, "deid_ruler") for term in ruler.own_terms(patient_id)]


def use_surprisal(
    nlp: Language, threshold: float | None = None, review_per_1000: float | None = None, **settings: Any
) -> None:
    """Score every word with a masked language model. The change is saved with the pipeline.

    nlp (Language): the pipeline. If it has no ``deid_surprisal``, one is added. Where its detections overlap
        others, ``deid_merge`` prefers the others.
    threshold (Optional[float]): words with at least this score become identifiers.
    review_per_1000 (Optional[float]): number of spans per 1,000 words that ``deid_review`` proposes; None for no
        change.
    settings (Any): further settings of ``deid_surprisal``, such as "model". The default "score" is the combination
        of scores that was fitted to the model, a probability, if there is one.
    """
    if threshold is not None:
        settings["threshold"] = threshold
    if not _change(nlp, "deid_surprisal", settings):
        add_detector(nlp, "deid_surprisal", _score_of(settings.get("model") or str(nlp.lang)) | settings)
    budget = {"per_1000_words": review_per_1000}
    if review_per_1000 is not None and not _change(nlp, "deid_review", budget):
        nlp.add_pipe("deid_review", config=budget)


def use_llm(nlp: Language, model: str, **settings: Any) -> None:
    """Detect identifiers with a local large language model. The change is saved with the pipeline.

    nlp (Language): the pipeline. If it has no ``deid_llm``, one is added. Where its detections overlap others,
        ``deid_merge`` prefers the others.
    model (str): path of a GGUF file, or address of a server.
    settings (Any): further settings of ``deid_llm``, such as "prompt"; blocks such as "limits" may be incomplete.
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
    """Set the style of a pipeline. Neither the style nor the key is saved.

    nlp (Language): the pipeline.
    style (Optional[str]): name of the style; None for no change.
    project_key (Optional[Union[str, Path, ProjectKey]]): project key of surrogates; None for no change.
    salts (Optional[Union[str, Path]]): file of the patients' salts, used with the key.
    RAISES: ConfigError if the pipeline has no ``deid_surrogate`` (D693), the style is unknown (D507), the key cannot
        be used (D640 – D642) or is missing (D691).
    """
    parts = find_components(nlp, "deid_surrogate")
    if not parts:
        raise ConfigError(Errors.D693.format(name=_full_name(nlp)))
    for part in parts:
        if style is not None:
            part.set_style(style)
        if project_key is not None:
            part.set_key(project_key, salts)
        if part.lacks_key:
            raise ConfigError(Errors.D691)


def find_component(nlp: Language, factory: str) -> Any:
    """Find the first component that a factory made, whatever its name in the pipeline.

    nlp (Language): the pipeline.
    factory (str): name of the factory, such as "deid_ner".
    RETURNS: the component.
    RAISES: ConfigError (D415) if there is none.
    """
    return find_components(nlp, factory, required=True)[0]


def find_components(nlp: Language, factory: str, *, required: bool = False) -> list[Any]:
    """Find all components that a factory made, in the order of the pipeline.

    nlp (Language): the pipeline.
    factory (str): name of the factory.
    required (bool): whether there must be one.
    RETURNS (list): the components.
    RAISES: ConfigError (D415) if one is required and there is none.
    """
    names = _names(nlp, factory)
    if required and not names:
        known = ", ".join(nlp.pipe_names) or "none"
        raise ConfigError(Errors.D415.format(name=_full_name(nlp), factory=factory, known=known))
    return [nlp.get_pipe(name) for name in names]


def _names(nlp: Language, factory: str) -> list[str]:
    """Return the names in the pipeline of the components that a factory made."""
    return [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == factory]


def _full_name(nlp: Language) -> str:
    """Return language and name of a pipeline, for error messages."""
    return f"{nlp.lang}_{nlp.meta['name']}"


def _score_of(model: str) -> dict[str, Any]:
    """Return the setting "score" for a masked language model; {} if it has no fitted combination of scores."""
    folder = get_language(model).resource("masked_lm") if model in language_codes("masked_lm") else Path(model)
    if not (folder / "combined_all.json").is_file():
        return {}
    return {"score": {"@deid_scores": "spacy_deid.combined_score.v1", "source": model}}


def _change(nlp: Language, factory: str, settings: Mapping[str, Any]) -> bool:
    """Replace the components of a factory by ones with other settings. RETURNS (bool): whether there are any."""
    parts = _names(nlp, factory)
    for part in parts if settings else ():
        config = {key: value for key, value in nlp.get_pipe_config(part).items() if key != "factory"}
        nlp.replace_pipe(part, factory, config=Config(config).merge(dict(settings)))
    return bool(parts)


def add_detector(nlp: Language, factory: str, config: dict[str, Any]) -> None:
    """Add a detector before ``deid_merge``, with the lowest priority: where two overlap, the other one wins.

    nlp (Language): the pipeline.
    factory (str): factory of the detector.
    config (dict): its settings.
    """
    merges = _names(nlp, "deid_merge")
    detector = cast(Any, nlp.add_pipe(factory, before=merges[0] if merges else None, config=config))
    for part in merges:
        merge = cast(Any, nlp.get_pipe(part))
        merge.add_source(detector.key)
        nlp.get_pipe_config(part)["sources"] = list(merge.sources)


def _load_checked(name: str | Path, folder: Path, kwargs: dict[str, Any]) -> Language:
    """Load a folder or a package. Warn if it has no checksums or if another version of spacy_deid created it."""
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
"""Registered function in a config of a version up to 0.3.0 → the setting that replaced it."""
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
    """Return the folder with the config of a pipeline: its own folder, or NAME-VERSION in its package."""
    if (folder / "config.cfg").is_file():
        return folder
    return next((path.parent for path in sorted(folder.glob("*/config.cfg"))), folder)


def _split_settings(
    name: str | Path, folder: Path, kwargs: dict[str, Any], added: Sequence[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Separate the settings of components that are added after loading from those that ``spacy.load`` can apply.

    name (Union[str, Path]): name of the pipeline, for error messages.
    folder (Path): folder with its config.
    kwargs (dict): arguments of ``spacy.load``.
    added (Sequence[str]): components that are added if the pipeline does not have them.
    RETURNS (tuple): the remaining arguments, and component → settings.
    RAISES: ConfigError (D355) for settings of a component that neither exists nor is added.
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
    """Return the versions of spacy_deid and spaCy in the meta.json of a pipeline."""
    try:
        meta = json.loads((path / "meta.json").read_text(encoding="utf8"))
        deid = meta.get("deid") or {}
        return str(deid.get("spacy_deid") or _UNKNOWN), str(meta.get("spacy_version") or _UNKNOWN)
    except (OSError, ValueError, AttributeError):
        return _UNKNOWN, _UNKNOWN
