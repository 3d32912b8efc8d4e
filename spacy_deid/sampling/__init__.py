"""Draw a stratified sample of notes for a gold standard, and export it for annotation tools."""
