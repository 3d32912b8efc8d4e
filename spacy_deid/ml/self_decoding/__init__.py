"""The module and the training of the self-decoding model; `ml.self_decoder` is what uses one."""
