"""De-identify streams and files of messages.

    with Hl7Deidentifier(Deidentifier("en", style="surrogate", key="project.key"), key="project.key") as hl7:
        hl7.read(messages)                       # whom they are about; the dictionary of their names
        for outcome in hl7.release(messages): ...

Everything is read twice: first to learn the names of all persons, then to release the messages one by one. The
dictionary is in a temporary folder that only its owner can read, and is deleted at the end.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ..deidentifier import Deidentifier
from ..dictionaries.store import StoreWriter
from ..errors import InputError
from ..exports import Batches, Outcome, build_dictionary, release_records, write_released
from ..io import check_encoding
from ..loading import find_component
from ..surrogates.keys import ProjectKey
from .identities import Identities
from .message import Draft, Splitter
from .messages import parse_message, split_messages
from .profile import Profile, default_profile

SUFFIXES = (".hl7", ".er7", ".mllp", ".txt")
"""Suffixes of the files that are read: one message or many."""


class Hl7Deidentifier:
    """De-identifies messages with one deidentifier, one profile and the dictionary of one export.

    deid (Deidentifier): the deidentifier of texts. It has the dictionary of the export until the end of the context.
    profile (Optional[Profile]): the allow-list; None for the one that ships with the package.
    key (Optional[Union[str, Path, ProjectKey]]): the project key, from which ids of messages are derived; None for
        ids that are the same in this run only.
    patient_system (str): namespace of the assigning authority of the identifier in PID-3 from which a patient's
        surrogates are derived; "" for the record number, or else the first identifier.
    encoding (str): character encoding of messages without MSH-18.
    dictionaries (Optional[Path]): folder of the hospital's dictionaries, which are used as well.
    batch_size (int): number of messages whose texts go through the pipeline together.
    n_process (int): number of worker processes.
    seconds (float): time limit for a document in a message, 0 for none. With a limit, documents are read in worker
        processes.
    folder (Optional[Path]): where the temporary folder of the dictionary is made; None for the system's default.
    RAISES: ConfigError as `Deidentifier` and `ProjectKey.from_file`, and (D401) for an unknown encoding.
    """

    def __init__(
        self,
        deid: Deidentifier,
        *,
        profile: Profile | None = None,
        key: str | Path | ProjectKey | None = None,
        patient_system: str = "",
        encoding: str = "utf-8",
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
        secret = key.derive("hl7 ids") if key else secrets.token_bytes(32)
        policy = find_component(deid.nlp, "deid_surrogate").policy
        self._splitter = Splitter(self.profile, self._identities, secret, limits_ages=policy.action("AGE") != "keep")
        self._encoding = check_encoding(encoding)
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

    def read(self, messages: Iterable[bytes]) -> None:
        """Read all messages of an export, and make the dictionary of the persons in them. Call it once.

        messages (Iterable[bytes]): the messages, as from `messages.split_messages`. Damaged ones are ignored here;
            `release` reports them.
        """

        def fill(writer: StoreWriter, folder: Path) -> None:
            for data in messages:
                with suppress(InputError):
                    self._identities.read(parse_message(data, "", self._encoding), "", writer)
            self._identities.dictionary.finish(writer, folder)

        build_dictionary(self.deid, self._stack, fill, dictionaries=self._dictionaries, folder=self._folder)

    def read_files(self, paths: Iterable[Path]) -> None:
        """Read all files of an export, as `read`. A file that cannot be read is ignored here."""

        def messages() -> Iterator[bytes]:
            for path in paths:
                with suppress(InputError):
                    yield from split_messages(path)

        self.read(messages())

    def release(self, messages: Iterable[bytes]) -> Iterator[Outcome]:
        """De-identify messages. One that fails does not affect the others.

        messages (Iterable[bytes]): the messages, as from `messages.split_messages`.
        YIELDS (Outcome): one outcome per message, in order.
        RAISES: ConfigError (D989) if no messages were read before.
        """
        return release_records(self.deid, messages, self._split, self._identities.dictionary, self._batches)

    def _split(self, data: bytes, number: int) -> tuple[Outcome, Draft | None]:
        """Split a message. RETURNS: its outcome, which may be final, and its parts."""
        outcome = Outcome("", path := f"message {number}")
        if data.lstrip(b"\x0b\r\n").startswith((b"FHS", b"BHS", b"BTS", b"FTS")):  # of a batch of messages
            outcome.status = "removed"
            return outcome, None
        try:
            message = parse_message(data, path, self._encoding)
            if message.type not in self.profile.messages:
                outcome.status = "removed"
                return outcome, None
            outcome.type = message.type
            return outcome, self._splitter.split(message, path)
        except Exception as error:
            outcome.fail(error)
            return outcome, None

    def release_file(self, source: Path, target: Path, note: Callable[[Outcome], None]) -> bool:
        """De-identify a file and write it completely or not at all.

        source (Path): a file with one message or many.
        target (Path): the file to write. It has the messages that were released.
        note (Callable): is called with the outcome of each message.
        RETURNS (bool): whether the file was written; nothing is written if no message was released.
        RAISES: InputError if the file cannot be read or written (D402), or has a message that is too large (D992).
        """
        return write_released(self.release(split_messages(source)), target, note)
