"""Store a secret salt for each patient, and destroy it when the patient's surrogates must not be computed again.

    salts = Salts("hospital.salts", project_key)
    key = project_key.patient("4711", salts.of("4711"))
    salts.purge("4711")     # the key of patient 4711 can never be derived again

A patient's key is derived from the project key, the patient id and the salt, so without the salt nobody can compute
the patient's surrogates. The file is an `EncryptedStore` and contains no patient ids: a salt is found by a value that
is derived from the id with the project key. A patient who returns after a purge gets a new salt and other surrogates.
"""

import hmac
import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..surrogates.keys import ProjectKey, hkdf
from .encryption import Cipher, DecryptionError
from .store import OTHER_KEY, EncryptedStore, Records

_SALT_BYTES = 32
# The first file format of salts: one JSON object, encrypted as a whole. It is read once and then replaced.
_MAGIC_1 = b"spacy_deid salts 1\n"
_FINGERPRINT_BYTES, _FILE_SALT_BYTES, _NONCE_BYTES = 8, 16, 12


class Salts:
    """The salts of all patients of a project, in one encrypted file. Salts are created when they are first needed.

    path (Union[str, Path]): the file, created with the first salt. Keep it away from the project key, and out of
        backups that outlive the right to identify a patient.
    key (ProjectKey): the project key, which encrypts the file.
    user (Optional[str]): name for the log; None for the operating system's account.
    RAISES: ConfigError (D647) if the file is damaged or encrypted with another key.
    """

    def __init__(self, path: str | Path, key: ProjectKey, user: str | None = None) -> None:
        self._store, self._key = EncryptedStore(path, key, "salts", user), key
        self._known: dict[str, str] = {}
        self._upgrade()
        if self._store.path.exists():
            with self._store.open("open") as records:
                self._known = {name: salt for _, (name, salt) in records.read()}
            if self._known:
                self._store.log.record("open", len(self._known))

    def __repr__(self) -> str:
        return f"Salts({str(self._store.path)!r}, {len(self._known)} patients)"

    def __len__(self) -> int:
        return len(self._known)

    def of(self, patient_id: str) -> bytes:
        """Return the salt of a patient. If the patient has none, create it and write it to the file.

        patient_id (str): the patient id as the record system writes it.
        RETURNS (bytes): the salt, 32 bytes.
        """
        name = self._name(patient_id)
        if name not in self._known:
            self.add([patient_id])
        return bytes.fromhex(self._known[name])

    def add(self, patient_ids: Iterable[str]) -> int:
        """Create the salts of several patients in one transaction.

        patient_ids (Iterable[str]): patient ids. A patient who already has a salt keeps it.
        RETURNS (int): number of salts created.
        """
        names = list(dict.fromkeys(self._name(patient_id) for patient_id in patient_ids))
        if not self._store.path.exists():
            with self._store.log.lock():
                if not self._store.path.exists():
                    self._store.write_new([])
        with self._store.open("add", write=True) as records:
            found = {name: salt for name in names for salt in _find(records, name).values()}
            new = {name: secrets.token_hex(_SALT_BYTES) for name in names if name not in found}
            self._store.log.record("add", len(new))
            for name, salt in new.items():
                records.add([name, salt], name)
        self._known |= found | new
        return len(new)

    def purge(self, patient_id: str) -> bool:
        """Destroy the salt of a patient, so that the patient's surrogates cannot be computed again.

        patient_id (str): the patient id as the record system writes it.
        RETURNS (bool): whether the patient had a salt.
        """
        name = self._name(patient_id)
        if not self._store.path.exists():
            self._store.log.record("purge", 0)
            return False
        with self._store.open("purge", write=True) as records:
            found = _find(records, name)
            self._store.log.record("purge", len(found))
            for number in found:
                records.remove(number)
        self._known.pop(name, None)
        return bool(found)

    def _name(self, patient_id: str) -> str:
        """Return the value by which a patient's salt is found in the file; it does not reveal the patient id."""
        return self._key.patient(patient_id).derive("name of a salt").hex()

    def _upgrade(self) -> None:
        """Replace a file in the first format, a single encrypted JSON object, by a store with the same salts.

        RAISES: ConfigError (D647) if the file is damaged or encrypted with another key.
        """
        if not _is_version_1(self._store.path):
            return
        with self._store.log.lock():
            if _is_version_1(self._store.path):
                salts = self._read_version_1()
                self._store.log.record("upgrade", len(salts))
                self._store.write_new([([name, salt], name) for name, salt in salts.items()])

    def _read_version_1(self) -> dict[str, str]:
        """Read a file in the first format: magic, fingerprint, salt, nonce, ciphertext and tag.

        RETURNS (dict[str, str]): name (see `_name`) → salt in hexadecimal.
        """
        data = self._store.path.read_bytes()
        head = len(_MAGIC_1) + _FINGERPRINT_BYTES + _FILE_SALT_BYTES + _NONCE_BYTES
        fingerprint = data[len(_MAGIC_1) : len(_MAGIC_1) + _FINGERPRINT_BYTES]
        if not hmac.compare_digest(fingerprint, self._store.fingerprint()):
            raise self._store.refuse("open", OTHER_KEY)
        salt = data[head - _NONCE_BYTES - _FILE_SALT_BYTES : head - _NONCE_BYTES]
        cipher = Cipher(hkdf(self._key.derive("salts"), salt, b"file"))
        try:
            salts: Any = json.loads(cipher.decrypt(data[head - _NONCE_BYTES :], data[:head]))
        except DecryptionError:
            raise self._store.refuse("open", "damaged, or changed without the key") from None
        return dict(salts)


def _find(records: Records, name: str) -> dict[int, str]:
    """Return the salts with a name (see `Salts._name`): number of the record → hexadecimal salt."""
    return {number: salt for number, (_, salt) in records.find(name)}


def _is_version_1(path: Path) -> bool:
    """Whether a file of salts has the first format; False if it does not exist or cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC_1)) == _MAGIC_1
    except OSError:
        return False
