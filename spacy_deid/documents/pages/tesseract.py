"""Run Tesseract through pipes, so that no image of a page is written to disk."""

import csv
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from PIL import Image

from ...errors import Errors, InputError
from ..document import ReadSettings
from .geometry import Box
from .image_analysis import grey_views

PAGE, SPARSE, ORIENTATION = 3, 11, 0  # page segmentation modes of Tesseract
SURE = 1.0  # least orientation confidence


class OcrWord(NamedTuple):
    """A recognized word.

    text (str): the word.
    box (Box): its position, in pixels.
    line (tuple[int, ...]): identifies the greyscale view and the line that it belongs to.
    line_box (Box): position of that line.
    confidence (float): 0 to 100.
    """

    text: str
    box: Box
    line: tuple[int, ...]
    line_box: Box
    confidence: float


def check_tesseract(languages: Sequence[str], name: str) -> None:
    """Raise an error if Tesseract or a language is not installed.

    languages (Sequence[str]): Tesseract language codes.
    name (str): file name, for error messages.
    RAISES: InputError if Tesseract (D716) or a language (D717) is missing.
    """
    if not shutil.which("tesseract"):
        raise InputError(Errors.D716.format(path=name))
    known = _languages()
    missing = [language for language in languages if language not in known]
    if missing or not languages:
        raise InputError(Errors.D717.format(path=name, missing=" ".join(missing) or "''", known=" ".join(known)))


def read_words(image: Image.Image, settings: ReadSettings, dpi: int, sparse: bool = False) -> list[OcrWord]:
    """Read an image in greyscale, and in each colour channel that shows additional text.

    image (Image): greyscale or RGB image.
    settings (ReadSettings): languages and time limit.
    dpi (int): its resolution.
    sparse (bool): whether the text is scattered, as in a logo, rather than in paragraphs.
    RETURNS (list[OcrWord]): words in Tesseract's order.
    RAISES: subprocess.SubprocessError if Tesseract fails or exceeds the time limit.
    """
    found: list[OcrWord] = []
    for number, view in enumerate(grey_views(image, dpi)):
        words = _read_view(view, settings, dpi, SPARSE if sparse else PAGE)
        new = [word for word in words if not any(_overlap(word.box, other.box) for other in found)]
        found += [word._replace(line=(number, *word.line)) for word in new]
    return found


def _overlap(first: Box, second: Box) -> bool:
    """Whether the centre of one of two boxes is inside the other."""
    return _holds_middle(first, second) or _holds_middle(second, first)


def _holds_middle(outer: Box, inner: Box) -> bool:
    """Whether the centre of `inner` is inside `outer`."""
    x, y = (inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2
    return outer.x0 <= x <= outer.x1 and outer.y0 <= y <= outer.y1


def _read_view(image: Image.Image, settings: ReadSettings, dpi: int, mode: int) -> list[OcrWord]:
    """Read a greyscale image with a page segmentation mode of Tesseract."""
    out = _run_tesseract(image, "+".join(settings.languages), mode, dpi, settings.page_seconds, "tsv")
    words, line_box = [], Box(0, 0, 0, 0)
    for row in csv.reader(io.StringIO(out), delimiter="\t", quoting=csv.QUOTE_NONE):
        if len(row) != 12 or not row[0].isdigit():
            continue
        left, top, width, height = map(float, row[6:10])
        box = Box(left, top, left + width, top + height)
        if row[0] == "4":
            line_box = box
        elif row[0] == "5" and row[11].strip() and float(row[10]) >= 0:
            words.append(OcrWord(row[11].strip(), box, tuple(map(int, row[2:5])), line_box, float(row[10])))
    return words


def detect_rotation(image: Image.Image, settings: ReadSettings, dpi: int) -> int:
    """Detect by how many degrees clockwise a page is rotated, using Tesseract's script and orientation detection.

    RETURNS (int): 0, 90, 180 or 270; 0 if it cannot be determined.
    """
    try:
        out = _run_tesseract(image, "osd", ORIENTATION, dpi, settings.page_seconds)
    except subprocess.SubprocessError:
        return 0
    found = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
    sure = float(found.get("Orientation confidence", 0)) >= SURE
    return -int(found.get("Rotate", 0)) % 360 if sure else 0


@lru_cache(maxsize=1)
def _languages() -> tuple[str, ...]:
    """Return the installed languages."""
    done = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False)
    return tuple(done.stdout.split("\n")[1:-1])


@lru_cache(maxsize=1)
def _kill_with_parent() -> tuple[str, ...]:
    """Return a command prefix that makes a process end with this one (setpriv of util-linux 2.33), or () if
    unavailable.
    """
    path = shutil.which("setpriv")
    if sys.platform != "linux" or path is None:
        return ()
    command = (path, "--pdeathsig", "KILL")
    return () if subprocess.run([*command, "true"], capture_output=True, check=False).returncode else command


def _run_tesseract(image: Image.Image, language: str, mode: int, dpi: int, seconds: int, *outputs: str) -> str:
    """Run Tesseract on an image with a single thread, since pages are read in parallel."""
    packed = io.BytesIO()
    image.save(packed, "PPM")
    command = [
        *_kill_with_parent(),
        "tesseract",
        "stdin",
        "stdout",
        "-l",
        language,
        "--psm",
        str(mode),
        "--dpi",
        str(dpi),
        *outputs,
    ]
    done = subprocess.run(
        command,
        input=packed.getvalue(),
        capture_output=True,
        check=True,
        timeout=seconds,
        env=os.environ | {"OMP_THREAD_LIMIT": "1"},
    )
    return done.stdout.decode("utf8", "replace")
