"""Masked language models: loading, scoring of words, pre-training of small ones."""
