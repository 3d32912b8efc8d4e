"""Get the text that LibreOffice shows for files, if it is installed."""

import csv
import io
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["SHOWN", "is_installed", "show"]

_TEXT = ["--convert-to", "txt:Text (encoded):UTF8"]
_CELLS = ["--convert-to", "csv:Text - txt - csv (StarCalc):9,34,76"]  # a tab between cells, UTF-8
# kinds that it opens, and how
SHOWN: Mapping[str, list[str]] = {
    "docx": _TEXT,
    "odt": _TEXT,
    "html": _TEXT,
    "rtf": _TEXT,
    "csv": ["--infilter=Text - txt - csv (StarCalc):44,34,76,1,1/2", *_CELLS],  # the first column is text
    "xlsx": _CELLS,
}
_SECONDS = 600


def is_installed() -> bool:
    """Test whether LibreOffice is installed."""
    return shutil.which("soffice") is not None


def show(files: list[bytes], kind: str) -> list[str | None]:
    """Open files in LibreOffice.

    files (list[bytes]): content of the files.
    kind (str): their type, one of `SHOWN`.
    RETURNS (list[str | None]): text of each file, None if it cannot be opened.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        paths = [place / f"{number}.{kind}" for number in range(len(files))]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        profile = f"-env:UserInstallation={(place / 'profile').as_uri()}"
        command = ["soffice", profile, "--headless", *SHOWN[kind], "--outdir", place / "shown", *paths]
        subprocess.run(command, check=False, capture_output=True, timeout=_SECONDS)
        return [_read(place / "shown" / path.stem) for path in paths]


def _read(stem: Path) -> str | None:
    """Read the output file, whatever its suffix."""
    written = [*stem.parent.glob(f"{stem.name}.*")]
    if not written:
        return None
    text = written[0].read_text(encoding="utf-8-sig")
    if written[0].suffix == ".csv":
        return "\n".join("\n".join(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    return text
