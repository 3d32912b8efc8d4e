"""Estimate, without annotated notes, how often de-identified notes still contain identifiers of their patients."""
