"""Surrogates of persons: names, initials, user names and e-mail addresses, consistent for all mentions of a person."""
