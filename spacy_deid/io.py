"""Read notes so that offsets refer to the file, and write files completely or not at all.

A note is decoded without translation of line ends and without dropping a byte-order mark, because both would shift
every offset behind them, and is encoded again in the same way.
"""

import codecs
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import ConfigError, Errors, InputError

LOCK = ".spacy-deid.lock"
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")
_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


def check_encoding(encoding: str) -> str:
    """Check that an encoding is known and encodes text.

    encoding (str): a name that Python knows.
    RETURNS (str): the name, in Python's spelling. "utf-8-sig" becomes "utf-8", which keeps a mark as it is.
    RAISES: ConfigError (D401).
    """
    try:
        " ".encode(encoding)
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ConfigError(Errors.D401.format(encoding=ascii(encoding)[1:-1])) from None
    return "utf-8" if name == "utf-8-sig" else name


def decode(data: bytes, encoding: str, name: str) -> tuple[str, str]:
    """Decode a note and keep its byte-order mark as the first character.

    data (bytes): the note as the file has it.
    encoding (str): what `check_encoding` gave.
    name (str): name of the file, for the error.
    RETURNS (tuple[str, str]): the text, and the encoding that turns it back into the same bytes.
    RAISES: InputError (D400).
    """
    for mark, marked in _MARKS.get(encoding, ()):
        if data.startswith(mark):
            encoding = marked
    try:
        return data.decode(encoding), encoding
    except UnicodeError:
        raise InputError(Errors.D400.format(path=name, encoding=encoding)) from None


def encode(text: str, encoding: str, name: str) -> bytes:
    """Encode a text with the encoding that `decode` gave.

    text (str): the text.
    encoding (str): the encoding.
    name (str): name of the file, for the error.
    RETURNS (bytes): what to write.
    RAISES: InputError (D413) if the encoding cannot say a character.
    """
    try:
        return text.encode(encoding)
    except UnicodeError:
        raise InputError(Errors.D413.format(path=name, encoding=encoding)) from None


def read_bytes(path: Path) -> bytes:
    """Read a file.

    path (Path): the file.
    RETURNS (bytes): all of it.
    RAISES: InputError (D402).
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=os.strerror(error.errno or 0))) from None


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write a file whole or not at all: what is written goes to a temporary file beside it, which takes its name last.

    The name of the temporary file says nothing of the file's, which may be a patient's. The temporary file is locked
    while it is written, so that `only_run` can tell it from one that a killed process left.

    path (Path): the file; its folder is made if it is not there.
    YIELDS (Path): the temporary file, empty. It is removed if anything is raised, `KeyboardInterrupt` too.
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
        raise InputError(Errors.D402.format(path=path, reason=os.strerror(error.errno or 0))) from None
    finally:
        with suppress(OSError):
            temporary.unlink()
        if place >= 0:
            os.close(place)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    path (Path): the file; its folder is made if it is not there.
    data (bytes): what to write.
    RAISES: InputError (D402) if the file cannot be written.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def hold(path: Path) -> Iterator[bool]:
    """Hold a lock file for this process. The system releases the lock when the process ends for any reason.

    path (Path): the file; it is made, and removed at the end.
    YIELDS (bool): whether it is held; False on a system or file system without locks.
    RAISES: BlockingIOError if another process holds it; OSError if it cannot be made.
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

    Removed are files with the name of a temporary file of `whole_file` that no process has locked. A folder that is
    made for this and left empty is removed.

    folder (Path): the folder; it is made if it is not there.
    RAISES: InputError if another run writes to it (D777), or it cannot be written to (D402).
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
            raise InputError(Errors.D402.format(path=folder, reason=os.strerror(error.errno or 0))) from None
        if held:
            _remove_left(folder)
            stack.callback(_remove_left, folder)  # those of processes that were ended for taking too long
        yield


def _try_lock(place: int) -> bool:
    """Lock an open file. RETURNS (bool): False if there are no locks. RAISES: BlockingIOError if another has it."""
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
    """Whether a path leads to a file that is open."""
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
    """Remove the folders that are empty, the innermost first."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def find_notes(paths: Sequence[Path], suffixes: Sequence[str], skip: Path) -> tuple[list[tuple[Path, Path]], int]:
    """Find the files to read. Folders are searched with all their folders; hidden files in them are left alone, and
    those that Office makes while a document is open ("~$").

    paths (Sequence[Path]): files and folders.
    suffixes (Sequence[str]): ".txt", ".jsonl": what is taken from folders.
    skip (Path): the folder that is written to. If it lies in a folder that is read, what is in it is no input.
    RETURNS (tuple): each file with its path relative to the folder that was given (a file that was given itself: its
        name), in order; and how many files of the folders were left alone.
    RAISES: InputError if a path is not there (D402) or a file is of another kind (D403, D404).
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
        raise InputError(Errors.D402.format(path=path, reason="no such file or folder"))
    if path.suffix.lower() in suffixes:
        return path
    raise InputError((Errors.D404 if path.suffix.lower() == ".jsonl" else Errors.D403).format(path=path))


def _walk(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those in it, in order. Links to folders are not followed: they can form rings."""
    for name, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(name) / file for file in sorted(files))


def _within(path: Path, folder: Path) -> bool:
    """Whether a file lies in a folder."""
    return path.resolve().is_relative_to(folder.resolve())


@dataclass(frozen=True, slots=True)
class Job:
    """One file to read and the files to write from it. The last one marks the job as done when it exists."""

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
    """Decide which files are read and written, and raise before anything is written.

    notes (Iterable): files with their relative paths, as `find_notes` gives them.
    targets (Callable): the files to write, from the relative path.
    shared (Sequence[Path]): files that are written from all notes together.
    inputs (Sequence[Path]): files that are read beside the notes, such as a key.
    overwrite (bool): whether files that are there may be replaced. Never those that are read.
    resume (bool): whether to skip a note whose files are all there and not older than the note.
    RETURNS (tuple[list[Job], int]): what is left to do, and how many notes were skipped.
    RAISES: InputError if two notes would go to one file (D407), two shared files are one (D425), a file that is read
        would be written (D408), or a file is there and may not be replaced (D409).
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
    """Device and inode of a file, which are the same for all its names."""
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino


def _done(job: Job) -> bool:
    """Whether all target files exist and are not older than the note."""
    try:
        written = job.source.stat().st_mtime_ns
        return all(path.stat().st_mtime_ns >= written for path in job.targets)
    except OSError:
        return False
