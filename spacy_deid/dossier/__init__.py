"""Makes the dossier for a privacy board: what was run, how well it did on the board's own notes, and what stays."""

from .figures import hash_package, make_dossier
from .pages import render
from .signing import sign, verify

__all__ = ["hash_package", "make_dossier", "render", "sign", "verify"]
