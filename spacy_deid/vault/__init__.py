"""Encrypted files of a project: the vault of original texts and the salts of the patients."""
