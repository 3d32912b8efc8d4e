"""Reads notes without shifting offsets, writes files completely or not at all, and plans which files are written.

A note is decoded without translation of line ends and without dropping a byte-order mark, because both would shift
all later offsets. The released text is encoded in the same way.
"""

import codecs
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import ConfigError, Errors, InputError, describe_system

LOCK = ".spacy-deid.lock"
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")
_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


def check_encoding(encoding: str) -> str:
    """Check that an encoding is known and encodes text.

    encoding (str): name of an encoding.
    RETURNS (str): Python's name of the encoding. "utf-8-sig" becomes "utf-8", which keeps a byte-order mark.
    RAISES: ConfigError (D401) for an unknown encoding.
    """
    try:
        " ".encode(encoding)
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ConfigError(Errors.D401.format(encoding=ascii(encoding)[1:-1])) from None
    return "utf-8" if name == "utf-8-sig" else name


def decode(data: bytes, encoding: str, name: str) -> tuple[str, str]:
    """Decode a note and keep its byte-order mark as the first character.

    data (bytes): content of the file.
    encoding (str): result of `check_encoding`.
    name (str): name of the file, for the error message.
    RETURNS (tuple[str, str]): the text, and the encoding with which `encode` gives the same bytes again.
    RAISES: InputError (D400) if the bytes are not valid in the encoding.
    """
    for mark, marked in _MARKS.get(encoding, ()):
        if data.startswith(mark):
            encoding = marked
    try:
        return data.decode(encoding), encoding
    except UnicodeError:
        raise InputError(Errors.D400.format(path=name, encoding=encoding)) from None


def encode(text: str, encoding: str, name: str) -> bytes:
    """Encode a text with the encoding that `decode` returned.

    text (str): the text.
    encoding (str): the encoding.
    name (str): name of the file, for the error message.
    RETURNS (bytes): content of the file to write.
    RAISES: InputError (D413) if the encoding lacks a character of the text.
    """
    try:
        return text.encode(encoding)
    except UnicodeError:
        raise InputError(Errors.D413.format(path=name, encoding=encoding)) from None


def read_bytes(path: Path) -> bytes:
    """Read a whole file as bytes.

    path (Path): the file.
    RETURNS (bytes): its content.
    RAISES: InputError (D402) if it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=describe_system(error))) from None


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write a file completely or not at all: yield a temporary file that is renamed to the path at the end.

    The name of the temporary file is random, because that of the file can identify a patient. The temporary file is
    locked while it is written, so that `only_run` can tell it from a leftover of a killed process.

    path (Path): the file; its folder is created if it does not exist.
    YIELDS (Path): the temporary file, empty. It is removed after any exception, including `KeyboardInterrupt`.
    RAISES: InputError (D402) if the file cannot be written.
    """
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    place = -1
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        place = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        if not _try_lock(place):  # a system without locks may not rename a file that is open
            os.close(place)
            place = -1
        yield temporary
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=describe_system(error))) from None
    finally:
        with suppress(OSError):
            temporary.unlink()
        if place >= 0:
            os.close(place)


def write_whole(path: Path, data: bytes) -> None:
    """Write bytes to a file completely or not at all.

    path (Path): the file; its folder is created if it does not exist.
    data (bytes): content of the file.
    RAISES: InputError (D402) if the file cannot be written.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Write a folder completely or not at all: yield a temporary folder that is renamed to the path at the end.

    folder (Path): the folder; one that exists is replaced.
    YIELDS (Path): the temporary folder, which only its owner can read. It is removed after any exception.
    RAISES: InputError (D402) if the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=folder.parent))
        old = temporary.with_suffix(".old")
        try:
            yield temporary
            if folder.exists():
                folder.rename(old)
            temporary.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise InputError(Errors.D402.format(path=folder, reason=describe_system(error))) from None


@contextmanager
def hold(path: Path) -> Iterator[bool]:
    """Hold a lock file for this process. The system releases the lock when the process ends for any reason.

    path (Path): the lock file; it is created, and removed at the end.
    YIELDS (bool): whether it is locked; False on a system or file system without locks.
    RAISES: BlockingIOError if another process holds the lock; OSError if the file cannot be created.
    """
    while True:
        place = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            held = _try_lock(place)
            if not held or _is_at(place, path):  # else its holder removed it between the two calls
                break
        except BaseException:
            os.close(place)
            raise
        os.close(place)
    try:
        yield held
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(place)


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Lock a folder for one run, and remove the temporary files of runs that were killed.

    A file is removed if it is named like a temporary file of `whole_file` and no process has locked it. A folder that
    is created here and still empty at the end is removed.

    folder (Path): the folder; it is created if it does not exist.
    RAISES: InputError if another run writes to the folder (D777), or it is not writable (D402).
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with ExitStack() as stack:
        stack.callback(_remove_empty, made)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held = stack.enter_context(hold(folder / LOCK))
        except BlockingIOError:
            raise InputError(Errors.D777.format(path=folder)) from None
        except OSError as error:
            raise InputError(Errors.D402.format(path=folder, reason=describe_system(error))) from None
        if held:
            _remove_left(folder)
            stack.callback(_remove_left, folder)  # those of processes that were ended for taking too long
        yield


def _try_lock(place: int) -> bool:
    """Lock an open file; False if the system has no locks. RAISES: BlockingIOError if another process holds it."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return False
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # not on this file system
        return False
    return True


def _is_at(place: int, path: Path) -> bool:
    """Whether a path refers to the same file as an open file descriptor."""
    try:
        return os.path.samestat(os.fstat(place), os.stat(path))
    except FileNotFoundError:
        return False


def _remove_left(folder: Path) -> None:
    """Remove temporary files that no process has locked."""
    for name, _, files in os.walk(folder):
        for path in (Path(name) / file for file in files if _TEMPORARY.fullmatch(file)):
            with suppress(OSError):
                if not path.is_symlink() and path.is_file():
                    place = os.open(path, os.O_RDWR)
                    try:
                        if _try_lock(place):
                            path.unlink()
                    finally:
                        os.close(place)


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, the innermost first, until one is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def find_notes(paths: Sequence[Path], suffixes: Sequence[str], skip: Path) -> tuple[list[tuple[Path, Path]], int]:
    """Find the files to read in files and folders. Folders are searched recursively; hidden files and the lock files
    of Office ("~$…") are ignored.

    paths (Sequence[Path]): files and folders.
    suffixes (Sequence[str]): suffixes of the files to read, such as ".txt".
    skip (Path): output folder. If it is inside an input folder, its files are not read.
    RETURNS (tuple): (file, relative path) pairs in order, where the path is relative to the given folder, or the name
        of a file that was given itself; and the number of ignored files in folders.
    RAISES: InputError if a path does not exist (D402) or a given file has another suffix (D403, D404).
    """
    found: list[tuple[Path, Path]] = []
    others = 0
    for path in paths:
        if not path.is_dir():
            found.append((_check_file(path, suffixes), Path(path.name)))
            continue
        inside = skip.resolve() != path.resolve() and _within(skip, path)
        files = [file for file in _walk(path) if not (inside and _within(file, skip))]
        taken = [file for file in files if file.suffix.lower() in suffixes and not file.name.startswith((".", "~$"))]
        found += [(file, file.relative_to(path)) for file in taken]
        others += len(files) - len(taken)
    return list(dict.fromkeys(found)), others


def _check_file(path: Path, suffixes: Sequence[str]) -> Path:
    """Check that a given path is a file of a supported type. RAISES: InputError (D402 - D404)."""
    if not path.is_file():
        raise InputError(Errors.D402.format(path=path, reason="no such file or folder (check the path)"))
    if path.suffix.lower() in suffixes:
        return path
    raise InputError((Errors.D404 if path.suffix.lower() == ".jsonl" else Errors.D403).format(path=path))


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, in order. Links to folders are not followed: they can form cycles."""
    for name, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(name) / file for file in sorted(files))


def _within(path: Path, folder: Path) -> bool:
    """Whether a path is inside a folder, after links are resolved."""
    return path.resolve().is_relative_to(folder.resolve())


@dataclass(frozen=True, slots=True)
class Job:
    """One file to read and the files to write from it.

    source (Path): file to read.
    relative (Path): its path relative to the input folder.
    targets (tuple[Path, ...]): files to write. The last one is written last, so the job is done if it exists.
    """

    source: Path
    relative: Path
    targets: tuple[Path, ...]


def plan(
    notes: Iterable[tuple[Path, Path]],
    targets: Callable[[Path], Sequence[Path]],
    *,
    shared: Sequence[Path] = (),
    inputs: Sequence[Path] = (),
    overwrite: bool = False,
    resume: bool = False,
) -> tuple[list[Job], int]:
    """Plan which files are read and written, and check for conflicts before anything is written.

    notes (Iterable): (file, relative path) pairs, as returned by `find_notes`.
    targets (Callable): function from the relative path of a note to the files to write for it.
    shared (Sequence[Path]): files that are written once for all notes together, such as a report.
    inputs (Sequence[Path]): files that are read in addition to the notes, such as a key.
    overwrite (bool): whether existing files may be replaced. Files that are read are never replaced.
    resume (bool): whether to skip notes whose target files all exist and are not older than the note.
    RETURNS (tuple[list[Job], int]): the jobs to do, and the number of skipped notes.
    RAISES: InputError if two notes have the same target file (D407), two shared files are the same (D425), an input
        file would be overwritten (D408), or a target exists and may not be replaced (D409).
    """
    jobs = [Job(source, relative, tuple(targets(relative))) for source, relative in notes]
    _check_targets(jobs, shared, inputs)
    todo = [job for job in jobs if not (resume and _done(job))]
    written = [path for job in todo for path in job.targets] + list(shared)
    there = [] if overwrite or resume else [path for path in written if os.path.lexists(path)]
    if there:
        other = "another place to write to" if there[0] in shared else "--resume"
        raise InputError(Errors.D409.format(count=len(there), path=there[0], other=other))
    return todo, len(jobs) - len(todo)


def _check_targets(jobs: Sequence[Job], shared: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Check that no file is written twice, or both read and written. Links and ".." are resolved first."""
    sources = {os.path.realpath(path) for path in (*(job.source for job in jobs), *inputs)}
    inodes = {_inode(path) for path in sources if os.path.exists(path)}
    owners: dict[str, Path] = {}
    for source, path in [(job.source, path) for job in jobs for path in job.targets] + [(p, p) for p in shared]:
        real = os.path.realpath(path)
        if real in sources or (os.path.exists(real) and _inode(real) in inodes):
            raise InputError(Errors.D408.format(path=path))
        first = owners.setdefault(os.path.normcase(real), source)
        if first != source:
            raise InputError(Errors.D407.format(first=first, second=source, output=path))
    if len(shared) != len({os.path.normcase(os.path.realpath(path)) for path in shared}):
        raise InputError(Errors.D425.format(paths=", ".join(map(str, shared))))


def _inode(path: str) -> tuple[int, int]:
    """Return the device and inode of a file, which are the same for all its hard links."""
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino


def _done(job: Job) -> bool:
    """Whether all target files exist and are not older than the note."""
    try:
        written = job.source.stat().st_mtime_ns
        return all(path.stat().st_mtime_ns >= written for path in job.targets)
    except OSError:
        return False
