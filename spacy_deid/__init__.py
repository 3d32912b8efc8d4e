"""De-identification of clinical text as spaCy components.

import spacy_deid
nlp = spacy_deid.load("es")
doc = nlp("Nombre: Ana. Teléfono: 600 123 456.")
doc._.deid_text
"""

from .context import install_extensions
from .errors import ConfigError, DeidError, InputError, NotDeidentified
from .loading import load, shipped_pipelines
from .offsets import Edit
from .piping import NoteResult, pipe
from .redaction import redact
from .spans import Evidence

__all__ = [
    "ConfigError",
    "DeidError",
    "Edit",
    "Evidence",
    "InputError",
    "NotDeidentified",
    "NoteResult",
    "__version__",
    "install_extensions",
    "load",
    "pipe",
    "redact",
    "shipped_pipelines",
]
__version__ = "0.3.0"
