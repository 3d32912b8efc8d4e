"""Pre-training of a small masked language model: vocabulary, masking, training, export."""
