"""Leak rates without labels: how often de-identified notes still contain identifiers of their own patients."""
