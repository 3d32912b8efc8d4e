"""Stratified sampling of notes for a gold standard, and export of the sample for annotation."""
