"""Process page images of PDF and image files: lay out text, run OCR, find barcodes, and paint over text."""
