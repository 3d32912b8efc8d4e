"""Identifiers by a local large language model: backends, prompts, chunks, and answers put back into the text."""
