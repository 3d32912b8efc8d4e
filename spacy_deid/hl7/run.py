"""De-identify streams and files of messages.

    with Hl7Deidentifier(Deidentifier("en", style="surrogate", key="project.key"), key="project.key") as hl7:
        hl7.read(messages)                       # whom they are about; the dictionary of their names
        for outcome in hl7.release(messages): ...

Everything is read twice: first to learn the names of all persons, then to release the messages one by one. The
dictionary is in a temporary folder that only its owner can read, and is deleted at the end.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from ..deidentifier import Deidentifier
from ..dictionaries.store import StoreWriter
from ..documents import File
from ..errors import InputError, describe
from ..exports import build_dictionary
from ..io import check_encoding, whole_file
from ..loading import find_component
from ..surrogates.keys import ProjectKey
from .identities import Identities
from .message import Draft, Item, Splitter
from .messages import parse_message, split_messages
from .profile import Profile, default_profile

SUFFIXES = (".hl7", ".er7", ".mllp", ".txt")
"""Suffixes of the files that are read: one message or many."""


@dataclass(slots=True)
class Outcome:
    """What became of a message.

    type (str): the message code, such as "ORU", if the profile names it; otherwise "".
    path (str): its position, such as "message 3".
    status (str): "released", "review" if a person should look at it, "removed" if the profile does not name its type,
        or "failed"; "pending" until one of these is decided.
    reason (str): why it failed, without content.
    data (Optional[bytes]): the released message, with its frame.
    warnings (list[str]): what a person should look at.
    removed (Counter): field or segment → number of values that were removed.
    labels (Counter): label → number of spans that were changed in it.
    """

    type: str
    path: str
    status: str = "pending"
    reason: str = ""
    data: bytes | None = field(default=None, repr=False)
    warnings: list[str] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def fail(self, error: Exception) -> None:
        """Record why the message failed. The reason has no content."""
        self.status, self.reason, self.data = "failed", describe(error), None


class Hl7Deidentifier:
    """De-identifies messages with one deidentifier, one profile and the dictionary of one export.

    deid (Deidentifier): the deidentifier of texts. It has the dictionary of the export until the end of the context.
    profile (Optional[Profile]): the allow-list; None for the one that ships with the package.
    key (Optional[Union[str, Path, ProjectKey]]): the project key, from which ids of messages are derived; None for
        ids that are the same in this run only.
    patient_system (str): namespace of the assigning authority of the identifier in PID-3 from which a patient's
        surrogates are derived; "" for the record number, or else the first identifier.
    encoding (str): character encoding of messages without MSH-18.
    dictionaries (Optional[Path]): folder of the hospital's dictionaries, to which those of the export are added in a
        copy.
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

    def read(self, messages: Iterable[bytes]) -> None:
        """Read all messages of an export, and make the dictionary of the persons in them. Call it once.

        messages (Iterable[bytes]): the messages, as from `messages.split_messages`. Damaged ones are ignored here;
            `release` reports them.
        """

        def fill(writer: StoreWriter, folder: Path) -> None:
            for data in messages:
                with suppress(InputError):
                    self._identities.read(parse_message(data, "", self._encoding), "", writer)
            self._identities.finish(writer, folder)

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
        numbered = enumerate(messages, 1)
        while batch := list(islice(numbered, self._batch_size)):
            yield from self._release_batch(batch)

    def _release_batch(self, batch: list[tuple[int, bytes]]) -> list[Outcome]:
        """De-identify some messages, whose texts go through the pipeline as one stream."""
        dictionary = self._identities.dictionary
        _ = dictionary.store
        pairs = [self._split(data, f"message {number}") for number, data in batch]
        items: list[tuple[Outcome, Draft, Item]] = [
            (outcome, parts, item) for outcome, parts in pairs if parts is not None for item in parts.items
        ]
        seconds = self._seconds if any(isinstance(item.source, File) for *_, item in items) else 0
        sources = ((item.source, draft.ehr) for _, draft, item in items)
        results = self.deid.pipe(sources, n_process=self._n_process, seconds=seconds)
        for (outcome, draft, item), result in zip(items, results, strict=True):
            place = item.slots[0].path
            outcome.warnings += [f"{place}: {warning}" for warning in result.warnings]
            outcome.labels.update(edit.label for edit in result.edits if edit.label)
            try:
                draft.fill(item, result)
                if dictionary.has_weak_name(result.text, draft.person.patient_id):
                    outcome.warnings.append(f"{place}: it has a common word that is also a name of the patient")
            except Exception as error:
                outcome.fail(error)
        for outcome, parts in pairs:
            if parts is None or outcome.status == "failed":
                continue
            try:
                parts.fill_values(self.deid)
                data = parts.join()
                parse_message(data, outcome.path, self._encoding)
                outcome.data, outcome.status = data, "review" if outcome.warnings else "released"
                outcome.removed = parts.removed
                outcome.labels.update(slot.label for slot in parts.values)
            except Exception as error:
                outcome.fail(error)
        return [outcome for outcome, _ in pairs]

    def _split(self, data: bytes, path: str) -> tuple[Outcome, Draft | None]:
        """Split a message. RETURNS: its outcome, which may be final, and its parts."""
        outcome = Outcome("", path)
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
        written = 0
        with suppress(_NothingReleased), whole_file(target) as part:
            with open(part, "wb") as file:
                for outcome in self.release(split_messages(source)):
                    note(outcome)
                    if outcome.data is not None:
                        file.write(outcome.data)
                        written += 1
            if not written:
                raise _NothingReleased
        return written > 0


class _NothingReleased(Exception):
    """No message of a file was released, so the file is not written."""
