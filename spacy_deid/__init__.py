"""De-identification of clinical text as spaCy components.

import spacy_deid
deid = spacy_deid.Deidentifier("es")
deid("Nombre: Ana. Teléfono: 600 123 456.").text
"""

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
__version__ = "0.3.0"
