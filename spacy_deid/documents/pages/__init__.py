"""Page images: text layout, OCR, barcodes, and painting over text. Shared by PDF and images."""
