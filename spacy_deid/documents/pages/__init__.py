"""Pages: what stands on them, the order it is read in, how it is painted over. Shared by PDF and pictures."""
