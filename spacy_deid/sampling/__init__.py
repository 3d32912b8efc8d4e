"""A sample of notes for a gold standard: stratified by note type and period, exported for annotation."""

from .draw import make_sample
from .groups import Group, allocate
from .sample import Drawn, Sample, Settings, make_finder
from .writing import write_sample

__all__ = ["Drawn", "Group", "Sample", "Settings", "allocate", "make_finder", "make_sample", "write_sample"]
