"""De-identify streams of resources, Bundles and files.

    with FhirDeidentifier(Deidentifier("en", style="surrogate", key="project.key"), key="project.key") as fhir:
        fhir.read(resources)                       # whom they are about; the dictionary of their names
        for outcome in fhir.release(resources): ...

Everything is read twice: first to learn the names of all persons, then to release the resources one by one. The
dictionary is in a temporary folder that only its owner can read, and is deleted at the end.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..deidentifier import Deidentifier
from ..dictionaries.store import StoreWriter
from ..errors import Errors, InputError, describe, describe_system
from ..exports import build_dictionary
from ..io import decode, whole_file
from ..loading import find_component
from ..surrogates.keys import ProjectKey
from .definitions import check_resource, load_definitions
from .identities import Identities
from .joining import fill, fill_values, join
from .json_values import read_json, write_json
from .profile import Profile, default_profile
from .references import References
from .resource import Draft, Splitter

SUFFIXES = (".json", ".ndjson")
"""Suffixes of the files that are read: one resource or Bundle, or one resource per line."""

_WHOLE = ("document", "message")  # types of Bundles that are nothing without their first resource


@dataclass(slots=True)
class Unit:
    """A resource to release.

    resource (Optional[dict]): the resource; None if it could not be parsed.
    path (str): its position, for messages, such as "line 7" or "Bundle.entry[3].resource"; "" for a file of its own.
    full_url (str): its address in a Bundle; "" if it has none.
    reason (str): why it could not be parsed; "" if it could.
    """

    resource: dict[str, Any] | None = field(repr=False)
    path: str = ""
    full_url: str = field(default="", repr=False)
    reason: str = ""


@dataclass(slots=True)
class Outcome:
    """What became of a resource.

    type (str): its type; "" if it is unknown.
    path (str): its position, as `Unit.path`.
    status (str): "released", "review" if a person should look at it, "removed" if the profile does not name its type,
        or "failed"; "pending" until one of these is decided.
    reason (str): why it failed, without content.
    resource (Optional[dict]): the released resource.
    warnings (list[str]): what a person should look at.
    removed (Counter): element → number of values that were removed.
    labels (Counter): label → number of spans that were changed in it.
    """

    type: str
    path: str
    status: str
    reason: str = ""
    resource: dict[str, Any] | None = field(default=None, repr=False)
    warnings: list[str] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)


class FhirDeidentifier:
    """De-identifies resources with one deidentifier, one profile and the dictionary of one export.

    deid (Deidentifier): the deidentifier of texts. It has the dictionary of the export until the end of the context.
    profile (Optional[Profile]): the allow-list; None for the one that ships with the package.
    key (Optional[Union[str, Path, ProjectKey]]): the project key, from which ids are derived; None for ids that are
        the same in this run only.
    patient_system (str): the system of the identifier from which a patient's surrogates are derived, such as that of
        the record number by which the notes in other files are processed; "" for the id of the Patient resource.
    dictionaries (Optional[Path]): folder of the hospital's dictionaries, to which those of the export are added in a
        copy.
    batch_size (int): number of resources whose texts go through the pipeline together.
    n_process (int): number of worker processes.
    seconds (float): time limit for an attachment, 0 for none. With a limit, attachments are read in worker processes.
    folder (Optional[Path]): where the temporary folder of the dictionary is made; None for the system's default.
    RAISES: ConfigError as `Deidentifier` and `ProjectKey.from_file`.
    """

    def __init__(
        self,
        deid: Deidentifier,
        *,
        profile: Profile | None = None,
        key: str | Path | ProjectKey | None = None,
        patient_system: str = "",
        dictionaries: Path | None = None,
        batch_size: int = 64,
        n_process: int = 1,
        seconds: float = 0,
        folder: Path | None = None,
    ) -> None:
        self.deid = deid
        self.profile = profile or default_profile()
        self._surrogate = find_component(deid.nlp, "deid_surrogate")
        key = ProjectKey.from_file(key) if isinstance(key, str | Path) else key
        self._references = References(key.derive("fhir ids") if key else secrets.token_bytes(32))
        self._identities = Identities(self.profile, deid.nlp.lang or "", patient_system)
        self._splitter = Splitter(
            self.profile,
            self._identities,
            self._references,
            limits_ages=self._surrogate.policy.action("AGE") != "keep",
        )
        self._dictionaries, self._folder = dictionaries, folder
        self._batch_size, self._n_process, self._seconds = batch_size, n_process, seconds
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.deid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the worker processes, close and delete the dictionary, and open the one that was open before."""
        self._stack.close()

    # --- the first pass ---

    def read(self, resources: Iterable[Mapping[str, Any]]) -> None:
        """Read all resources of an export, and make the dictionary of the persons in them. Call it once.

        resources (Iterable[Mapping]): resources and Bundles, parsed by `json_values.read_json`. Damaged ones are
            ignored here; `release` reports them.
        """

        def fill_dictionary(writer: StoreWriter, folder: Path) -> None:
            for resource in resources:
                for item, full_url in _entries(resource):
                    self._read(item, full_url, writer)
            self._identities.finish(writer, folder)

        build_dictionary(self.deid, self._stack, fill_dictionary, dictionaries=self._dictionaries, folder=self._folder)

    def _read(self, resource: Mapping[str, Any], full_url: str, writer: StoreWriter) -> None:
        """Read what a resource says about persons, as far as a damaged one can be read."""
        try:
            self._identities.read(resource, full_url, writer)
        except (AttributeError, KeyError, TypeError):
            with suppress(InputError):
                check_resource(resource)
                raise  # a fault of the program, not of the resource

    # --- the second pass ---

    def release(self, units: Iterable[Unit]) -> Iterator[Outcome]:
        """De-identify resources. One that fails does not affect the others.

        units (Iterable[Unit]): resources, without Bundles.
        YIELDS (Outcome): one outcome per resource, in order.
        RAISES: ConfigError (D989) if no resources were read before.
        """
        source = iter(units)
        while batch := list(islice(source, self._batch_size)):
            yield from self._release_batch(batch)

    def _release_batch(self, batch: list[Unit]) -> list[Outcome]:
        """De-identify some resources, whose texts go through the pipeline as one stream.

        RAISES: ConfigError (D989) if no resources were read before.
        """
        _ = self._identities.dictionary.store
        outcomes: list[Outcome] = []
        drafts: dict[int, Draft] = {}
        for i, unit in enumerate(batch):
            outcome, draft = self._split(unit)
            outcomes.append(outcome)
            if draft is not None:
                drafts[i] = draft
        slots = [(i, slot) for i, draft in drafts.items() for slot in draft.slots if not slot.label]
        items = [(slot.source, drafts[i].ehr) for i, slot in slots]
        seconds = self._seconds if any(slot.kind == "file" for _, slot in slots) else 0
        results = self.deid.pipe(items, n_process=self._n_process, seconds=seconds)
        for (i, slot), result in zip(slots, results, strict=True):
            outcome = outcomes[i]
            outcome.warnings += [f"{slot.path}: {warning}" for warning in result.warnings]
            outcome.labels.update(edit.label for edit in result.edits if edit.label)
            draft = drafts[i]
            if slot.kind == "file" and not result.ok and draft.type != "Binary":
                outcome.warnings.append(
                    f"{slot.path}: removed, because it could not be de-identified: {result.reason}"
                )
                continue
            try:
                fill(slot, result, slot.path)
                if draft.person and self._identities.dictionary.has_weak_name(result.text, draft.person.patient_id):
                    outcome.warnings.append(f"{slot.path}: it has a common word that is also a name of the patient")
                if not draft.is_about_a_patient and self._identities.dictionary.names_anyone(result.text):
                    slot.released = None
            except Exception as error:
                _fail(outcome, error)
        for i, draft in drafts.items():
            outcome = outcomes[i]
            if outcome.status == "failed":
                continue
            try:
                fill_values(self.deid, draft)
                outcome.resource = join(draft, self.profile, self._surrogate.style_name)
                outcome.status = "review" if outcome.warnings else "released"
                outcome.removed = draft.removed
                outcome.labels.update(slot.label for slot in draft.slots if slot.kind == "value")
            except Exception as error:
                _fail(outcome, error)
        return outcomes

    def _split(self, unit: Unit) -> tuple[Outcome, Draft | None]:
        """Split a resource. RETURNS: its outcome, which may be final, and its parts."""
        outcome = Outcome("", unit.path, "failed" if unit.resource is None else "pending", unit.reason)
        if unit.resource is None:
            return outcome, None
        kind = unit.resource.get("resourceType")
        known = load_definitions().resources
        outcome.type = kind if isinstance(kind, str) and kind in known else ""
        if outcome.type and outcome.type not in self.profile.resources:
            outcome.status = "removed"
            return outcome, None
        try:
            if any("resource" in entry for entry in unit.resource.get("entry", ()) if outcome.type == "Bundle"):
                raise InputError(Errors.D981.format(path=unit.path or "Bundle", reason="it is in another Bundle"))
            return outcome, self._splitter.split(unit.resource, unit.path, unit.full_url)
        except Exception as error:
            _fail(outcome, error)
            return outcome, None

    def release_bundle(self, bundle: dict[str, Any], path: str = "") -> tuple[dict[str, Any] | None, list[Outcome]]:
        """De-identify a Bundle. Entries whose resource is not released are left out.

        bundle (dict[str, Any]): the Bundle.
        path (str): its position in a file, for messages.
        RETURNS (tuple): the Bundle, or None if it cannot be released; and one outcome per resource.
        """
        listed = bundle.get("entry", [])
        listed = listed if isinstance(listed, list) else [listed]
        entries = [_as_object(entry) or {"resource": None} for entry in listed]
        prefix = f"{path}.Bundle" if path else "Bundle"
        units = [
            Unit(_as_object(entry.get("resource")), f"{prefix}.entry[{i}].resource", str(entry.get("fullUrl", "")))
            for i, entry in enumerate(entries)
            if "resource" in entry
        ]
        outcomes = list(self.release(units))
        shell = {key: value for key, value in bundle.items() if key != "entry"}
        rests = [{key: entry[key] for key in ("search", "request", "response") if key in entry} for entry in entries]
        shells = [Unit({**shell, "entry": [rest]}, f"{prefix}.entry[{i}]") for i, rest in enumerate(rests) if rest]
        whole, *heads = self.release([Unit(shell, path), *shells])
        if bundle.get("type") in _WHOLE and (not outcomes or outcomes[0].resource is None):
            whole = replace(whole, status="failed", reason=Errors.D981.format(path=prefix, reason="no first entry"))
        if whole.status == "failed" or whole.resource is None:
            return None, [*outcomes, replace(whole, resource=None)]
        bad = [head for head in heads if head.status == "failed"]
        found, others = iter(outcomes), iter(heads)
        made: list[dict[str, Any]] = []
        for entry, rest in zip(entries, rests, strict=True):
            outcome = next(found) if "resource" in entry else None
            other = next(others) if rest else None
            if (outcome and outcome.resource is None) or (other and other.resource is None):
                continue
            head = other.resource.get("entry", [{}])[0] if other and other.resource else {}
            made.append(self._join_entry(entry, head, outcome.resource if outcome else None))
        return {**whole.resource, **({"entry": made} if made else {})}, [*outcomes, *bad]

    def _join_entry(self, entry: dict[str, Any], head: dict[str, Any], resource: Any) -> dict[str, Any]:
        """Put an entry together: its rewritten address, its resource, and what the profile keeps of the rest."""
        full_url = self._references.rewrite(entry["fullUrl"]) if isinstance(entry.get("fullUrl"), str) else None
        for part, name in (("request", "url"), ("response", "location")):
            address = entry[part].get(name) if part in head else None
            if not isinstance(address, str):
                continue
            known = address in load_definitions().resources
            if made := address if known else self._references.rewrite(address):
                head[part] = {**head[part], name: made}
                head[part].pop(f"_{name}", None)
        parts = {"fullUrl": full_url, "resource": resource}
        return {**{key: value for key, value in parts.items() if value}, **_without_masks(head)}

    def release_one(self, resource: dict[str, Any]) -> tuple[dict[str, Any] | None, list[Outcome]]:
        """De-identify a resource or a Bundle.

        resource (dict[str, Any]): the resource or the Bundle.
        RETURNS (tuple): what is released, or None; and one outcome per resource.
        RAISES: ConfigError (D989) if no resources were read before.
        """
        return next(self._release_units([Unit(resource)]))

    # --- files ---

    def read_files(self, paths: Iterable[Path]) -> None:
        """Read all files of an export, as `read`. A file that cannot be read is ignored here."""
        self.read(unit.resource for path in paths for unit in _units_of_file(path, quiet=True) if unit.resource)

    def release_file(self, source: Path, target: Path, note: Callable[[Outcome], None]) -> bool:
        """De-identify a file and write it completely or not at all.

        source (Path): a .json file with a resource or a Bundle, or an .ndjson file with one resource per line.
        target (Path): the file to write. It has the resources that were released.
        note (Callable): is called with the outcome of each resource.
        RETURNS (bool): whether the file was written; nothing is written if no resource was released.
        RAISES: InputError if the file cannot be read or written (D402).
        """
        indent = None if source.suffix.lower() == ".ndjson" else 2
        written = 0
        with suppress(_NothingReleased), whole_file(target) as part:
            with open(part, "w", encoding="utf-8", newline="") as file:
                for resource, outcomes in self._release_units(_units_of_file(source)):
                    for outcome in outcomes:
                        note(outcome)
                    if resource is not None:
                        file.write(write_json(resource, indent) + "\n")
                        written += 1
            if not written:
                raise _NothingReleased
        return written > 0

    def _release_units(self, units: Iterable[Unit]) -> Iterator[tuple[dict[str, Any] | None, list[Outcome]]]:
        """Release resources and Bundles. YIELDS: each with its outcomes."""
        waiting: list[Unit] = []
        for unit in units:
            is_bundle = unit.resource is not None and unit.resource.get("resourceType") == "Bundle"
            if not is_bundle:
                waiting.append(unit)
            if waiting and (is_bundle or len(waiting) == self._batch_size):
                yield from ((outcome.resource, [outcome]) for outcome in self._release_batch(waiting))
                waiting = []
            if is_bundle and unit.resource is not None:
                try:
                    yield self.release_bundle(unit.resource, unit.path)
                except Exception as error:
                    outcome = Outcome("Bundle", unit.path, "failed")
                    _fail(outcome, error)
                    yield None, [outcome]
        yield from ((outcome.resource, [outcome]) for outcome in self._release_batch(waiting))


class _NothingReleased(Exception):
    """No resource of a file was released, so the file is not written."""


def _fail(outcome: Outcome, error: Exception) -> None:
    """Record why a resource failed. The message has no content."""
    outcome.status, outcome.reason, outcome.resource = "failed", describe(error), None


def _as_object(value: Any) -> dict[str, Any]:
    """Return a value if it is an object; otherwise an object that no check accepts."""
    return value if isinstance(value, dict) else {}


def _without_masks(head: dict[str, Any]) -> dict[str, Any]:
    """Return an entry without parts that consist of masked elements only."""
    return {
        key: part
        for key, part in head.items()
        if not (isinstance(part, dict) and key in ("request", "response") and all(name[0] == "_" for name in part))
    }


def _entries(resource: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the resources of a Bundle with their addresses, or a single resource."""
    entries = resource.get("entry")
    if resource.get("resourceType") != "Bundle" or not isinstance(entries, list):
        yield resource, ""
        return
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("resource"), dict):
            for item, full_url in _entries(entry["resource"]):
                yield item, full_url or str(entry.get("fullUrl", ""))


def _units_of_file(path: Path, *, quiet: bool = False) -> Iterator[Unit]:
    """Read the resources of a file.

    path (Path): a .json or .ndjson file in UTF-8.
    quiet (bool): whether to end without an error if the file cannot be read.
    YIELDS (Unit): each resource, or the reason why it cannot be parsed.
    RAISES: InputError (D402) if the file cannot be read.
    """
    lines = path.suffix.lower() == ".ndjson"
    try:
        with open(path, "rb") as file:
            for number, data in enumerate(file if lines else [file.read()], 1):
                place = f"line {number}" if lines else ""
                try:
                    text = decode(data, "utf-8", place or str(path))[0].removeprefix("\ufeff")
                    if text.strip():
                        yield Unit(read_json(text), place)
                except InputError as error:
                    reason = str(error)
                    yield Unit(None, place, reason=reason if reason.startswith(place) else f"{place}: {reason}")
    except OSError as error:
        if not quiet:
            raise InputError(Errors.D402.format(path=path, reason=describe_system(error))) from None
