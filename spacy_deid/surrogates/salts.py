"""A salt of each patient: with it the patient's surrogates can be made again, without it never.

    salts = Salts("hospital.salts", project_key)
    key = project_key.patient("4711", salts.of("4711"))
    salts.purge("4711")     # nobody can link the released notes of 4711 to each other's originals any more

The file is sealed with the project key and holds no id: a patient's salt stands under an HMAC of the id. A patient who
comes again after a purge gets a new salt, and so another identity.
"""

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from .keys import ProjectKey
from .sealed import SealedFile

__all__ = ["Salts"]

_BYTES = 32


class Salts:
    """The salts of all patients.

    path (Union[str, Path]): the file; it is made when the first salt is. Keep it apart from the key and out of backups
        that live longer than a patient may be known.
    key (ProjectKey): what it is sealed with.
    user (Optional[str]): for the log; None: who is logged in.
    RAISES: ConfigError (D647) if the file is sealed with another key or damaged.
    """

    def __init__(self, path: str | Path, key: ProjectKey, user: str | None = None) -> None:
        self._file = SealedFile(path, key, "salts", user)
        self._key = key
        self._known: Mapping[str, str] = self._read("open")
        if self._known:
            self._file.record("open", len(self._known))

    def __repr__(self) -> str:
        return f"Salts({str(self._file.path)!r}, {len(self._known)} patients)"

    def __len__(self) -> int:
        return len(self._known)

    def of(self, patient_id: str) -> bytes:
        """The salt of a patient, made if there is none.

        patient_id (str): the id, as the record system writes it.
        RETURNS (bytes): 32 bytes.
        """
        name = self._name(patient_id)
        if name not in self._known:
            self.add([patient_id])
        return bytes.fromhex(self._known[name])

    def add(self, patient_ids: Iterable[str]) -> int:
        """Make the salts of many patients in one writing.

        patient_ids (Iterable[str]): ids; those that have a salt keep it.
        RETURNS (int): how many were made.
        """
        names = [self._name(patient_id) for patient_id in patient_ids]
        with self._file.alone():
            known = self._read("add")
            new = {name: secrets.token_hex(_BYTES) for name in names if name not in known}
            self._file.record("add", len(new))
            if new:
                self._file.write({**known, **new})
        self._known = {**known, **new}
        return len(new)

    def purge(self, patient_id: str) -> bool:
        """Destroy the salt of a patient, and with it the link from the surrogates to the patient.

        patient_id (str): the id.
        RETURNS (bool): whether there was one.
        """
        name = self._name(patient_id)
        with self._file.alone():
            known = dict(self._read("purge"))
            found = known.pop(name, None) is not None
            self._file.record("purge", int(found))
            if found:
                self._file.write(known)
        self._known = known
        return found

    def _read(self, action: str) -> Mapping[str, str]:
        return dict(self._file.read(action)) if self._file.path.exists() else {}

    def _name(self, patient_id: str) -> str:
        """What a patient's salt stands under."""
        return self._key.patient(patient_id).derive("name of a salt").hex()
