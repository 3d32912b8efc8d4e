"""De-identify files with documents of CDA.

    with CdaDeidentifier(Deidentifier("en", style="surrogate", key="project.key"), key="project.key") as cda:
        cda.read([data])                         # whom they are about; the dictionary of their names
        for outcome in cda.release([data]): ...

Everything is read twice: first to learn the names of all persons, then to release the documents. The dictionary is in
a temporary folder that only its owner can read, and is deleted at the end.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ..deidentifier import Deidentifier
from ..dictionaries.store import StoreWriter
from ..errors import Errors, InputError, describe_system
from ..exports import Batches, Outcome, build_dictionary, release_records, write_released
from ..loading import find_component
from ..surrogates.keys import ProjectKey
from .identities import Identities
from .profile import Profile, default_profile
from .splitting import Draft, Splitter
from .structure import LARGEST, parse_document

TYPE = "ClinicalDocument"
"""The type of all documents, for reports."""


class CdaDeidentifier:
    """De-identifies documents with one deidentifier, one profile and the dictionary of one export.

    deid (Deidentifier): the deidentifier of texts. It has the dictionary of the export until the end of the context.
    profile (Optional[Profile]): the allow-list; None for the one that ships with the package.
    key (Optional[Union[str, Path, ProjectKey]]): the project key, from which ids are derived; None for ids that are
        the same in this run only.
    patient_system (str): root of the identifier in patientRole from which a patient's surrogates are derived; "" for
        the first one.
    dictionaries (Optional[Path]): folder of the hospital's dictionaries, which are used as well.
    batch_size (int): number of documents whose texts go through the pipeline together.
    n_process (int): number of worker processes.
    seconds (float): time limit for a file in a document, 0 for none. With a limit, files are read in worker processes.
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
        key = ProjectKey.from_file(key) if isinstance(key, str | Path) else key
        self._identities = Identities(self.profile, deid.nlp.lang or "", patient_system)
        secret = key.derive("cda ids") if key else secrets.token_bytes(32)
        policy = find_component(deid.nlp, "deid_surrogate").policy
        self._splitter = Splitter(self.profile, self._identities, secret, limits_ages=policy.action("AGE") != "keep")
        self._dictionaries, self._folder = dictionaries, folder
        self._batches = Batches(batch_size, n_process, seconds)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.deid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the worker processes, close and delete the dictionary, and open the one that was open before."""
        self._stack.close()

    def read(self, documents: Iterable[bytes]) -> None:
        """Read all documents of an export, and make the dictionary of the persons in them. Call it once.

        documents (Iterable[bytes]): the documents. Damaged ones are ignored here; `release` reports them.
        """

        def fill(writer: StoreWriter, folder: Path) -> None:
            for data in documents:
                with suppress(InputError):
                    self._identities.read(parse_document(data, "document"), writer)
            self._identities.dictionary.finish(writer, folder)

        build_dictionary(self.deid, self._stack, fill, dictionaries=self._dictionaries, folder=self._folder)

    def read_files(self, paths: Iterable[Path]) -> None:
        """Read all files of an export, as `read`. A file that cannot be read is ignored here."""

        def documents() -> Iterator[bytes]:
            for path in paths:
                with suppress(InputError):
                    yield _read_file(path)

        self.read(documents())

    def release(self, documents: Iterable[bytes], path: str = "") -> Iterator[Outcome]:
        """De-identify documents. One that fails does not affect the others.

        documents (Iterable[bytes]): the documents.
        path (str): name of a file with one document, for messages; "" to number the documents.
        YIELDS (Outcome): one outcome per document, in order.
        RAISES: ConfigError (D989) if no documents were read before.
        """

        def split(data: bytes, number: int) -> tuple[Outcome, Draft | None]:
            """Split a document. RETURNS: its outcome, which is final if it failed, and its parts."""
            outcome = Outcome(TYPE, path or f"document {number}")
            try:
                return outcome, self._splitter.split(parse_document(data, outcome.path))
            except Exception as error:
                outcome.fail(error)
                return outcome, None

        return release_records(self.deid, documents, split, self._identities.dictionary, self._batches)

    def release_file(self, source: Path, target: Path, note: Callable[[Outcome], None]) -> bool:
        """De-identify a file with a document, and write it completely or not at all.

        source (Path): the file.
        target (Path): the file to write.
        note (Callable): is called with what became of the document.
        RETURNS (bool): whether the file was written.
        RAISES: InputError if the file cannot be read or written (D402).
        """

        def outcomes() -> Iterator[Outcome]:
            for outcome in self.release([_read_file(source)], str(source)):
                outcome.path = ""
                outcome.reason = outcome.reason.removeprefix(f"{source}: ")
                yield outcome

        return write_released(outcomes(), target, note)


def _read_file(path: Path) -> bytes:
    """Read a file. One that is too large is read only as far as needed to refuse it. RAISES: InputError (D402)."""
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=describe_system(error))) from None
