"""Score how surprising each word of a note is to a masked language model, to find identifiers that are on no list."""
