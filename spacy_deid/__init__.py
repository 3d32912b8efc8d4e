"""De-identification of clinical text as spaCy components.

import spacy_deid
deid = spacy_deid.Deidentifier("es")
deid("Nombre: Ana. Teléfono: 600 123 456.").text
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - before any import that an older version cannot read
    raise ImportError(
        f"spacy_deid needs Python 3.11 or later, and this is Python {sys.version_info[0]}.{sys.version_info[1]}. "
        "Install a newer Python, and spacy_deid in an environment of it: python3.11 -m venv .venv"
    )

from .context import install_extensions
from .deidentifier import Deidentifier
from .documents import File
from .errors import ConfigError, DeidError, InputError, NotDeidentified
from .loading import load, shipped_pipelines
from .offsets import Edit
from .results import Result
from .spans import Evidence

__all__ = [
    "ConfigError",
    "DeidError",
    "Deidentifier",
    "Edit",
    "Evidence",
    "File",
    "InputError",
    "NotDeidentified",
    "Result",
    "__version__",
    "install_extensions",
    "load",
    "shipped_pipelines",
]
__version__ = "1.0.0"
