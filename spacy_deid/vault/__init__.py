"""Encrypted files of a project: the vault, which restores original texts, and the secret salts of the patients."""
