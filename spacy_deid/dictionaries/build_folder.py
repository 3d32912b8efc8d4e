"""The folder of dictionaries on disk: private, written by one process at a time, replaced in one step.

folder/manifest.json    what was built, and the name of the current build
folder/lock             held by the process that writes
folder/<build>/…        the files of a build
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors

__all__ = ["BUILD", "MANIFEST", "VERSION", "claim", "clean", "lock", "read_meta", "write_meta"]

VERSION = 2
MANIFEST = "manifest.json"
BUILD = "build-"
"""What the names of the folders of builds begin with."""

_LOCK = "lock"


def claim(folder: Path) -> None:
    """Make the folder, or make sure that it is one of dictionaries.

    folder (Path): the folder.
    RAISES: ConfigError (D160) if it is something else or cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not all(path.name == _LOCK or _is_build(path) or _is_manifest(path) for path in folder.iterdir()):
            raise ConfigError(Errors.D160.format(path=folder, reason="holds other files, so it is not replaced"))
        folder.chmod(0o700)
    except OSError as error:
        raise ConfigError(Errors.D160.format(path=folder, reason=os.strerror(error.errno or 0))) from None


def lock(folder: Path) -> int:
    """Keep other writers out for as long as the process lives.

    folder (Path): the folder.
    RETURNS (int): the handle to close.
    RAISES: ConfigError (D160) if another process is writing.
    """
    handle = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        import fcntl
    except ImportError:  # Windows
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise ConfigError(Errors.D160.format(path=folder, reason="another process is writing them")) from None
    return handle


def _is_build(path: Path) -> bool:
    """Whether a path is the folder of a build."""
    return path.name.startswith(BUILD) and path.is_dir() and not path.is_symlink()


def _is_manifest(path: Path) -> bool:
    """Whether a path is the manifest, or one that was not written to its end."""
    return path.name == MANIFEST or path.name.startswith(f"{MANIFEST}.")


def clean(folder: Path) -> None:
    """Remove the builds that are not the current one. Who has them open keeps them until the end.

    folder (Path): the folder, locked.
    """
    current = _read_json(folder).get("build")
    for path in folder.iterdir():
        if _is_build(path) and path.name != current:
            shutil.rmtree(path, ignore_errors=True)
        elif _is_manifest(path) and path.name != MANIFEST:
            path.unlink()


def _read_json(folder: Path) -> dict[str, Any]:
    """Read the manifest; empty if there is none."""
    try:
        data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise ConfigError(Errors.D162.format(path=folder, reason=MANIFEST)) from None
    return data if isinstance(data, dict) else {"version": None}


def read_meta(folder: Path) -> dict[str, Any]:
    """Read the manifest, and check it and the sizes and modes of the files.

    folder (Path): the folder.
    RETURNS (dict): the manifest.
    RAISES: ConfigError (D160, D161, D162).
    """
    meta = _read_json(folder)
    if not meta:
        raise ConfigError(Errors.D160.format(path=folder, reason="there are none"))
    if meta.get("version") != VERSION:
        raise ConfigError(Errors.D162.format(path=folder, reason="version"))
    paths = {name: folder / meta["build"] / name for name in meta["files"]}
    for path in (folder, folder / MANIFEST, folder / meta["build"], *paths.values()):
        mode = path.stat().st_mode & 0o777
        if os.name == "posix" and mode & 0o077:
            raise ConfigError(Errors.D161.format(path=folder, name=path.name, mode=mode))
    for name, path in paths.items():
        if path.stat().st_size != meta["files"][name]:
            raise ConfigError(Errors.D162.format(path=folder, reason=name))
    return meta


def write_meta(folder: Path, build: Path, meta: dict[str, Any]) -> None:
    """Make the files of a build private and lasting, and then the current ones.

    folder (Path): the folder, locked.
    build (Path): the folder of the build.
    meta (dict): what the manifest says beside the names and sizes of the files.
    """
    files = {}
    for path in sorted(build.iterdir()):
        path.chmod(0o600)
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
        files[path.name] = path.stat().st_size
    part = folder / f"{MANIFEST}.part"
    with open(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump({**meta, "files": files}, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / MANIFEST)
