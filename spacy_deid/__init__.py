"""De-identification of clinical text as spaCy components."""

from .context import install_extensions

__all__ = ["__version__", "install_extensions"]
__version__ = "0.1.0"
