"""Recall without labels: how often de-identified notes still hold identifiers of their own patients."""

from .estimate import Rate, estimate
from .facets import Facet, Hit, Tally
from .run import Audit, AuditSettings, run_audit
from .table import format_audit

__all__ = ["Audit", "AuditSettings", "Facet", "Hit", "Rate", "Tally", "estimate", "format_audit", "run_audit"]
