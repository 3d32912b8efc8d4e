"""Weights in half precision, compressed on disk: a saved model takes a third of the space and finds the same spans."""

import lzma
from typing import Any

import srsly
from thinc.api import Model
from thinc.util import convert_recursive, is_xp_array

__all__ = ["weights_from_bytes", "weights_to_bytes"]

_COMPRESSED = b"\xfd7zXZ\x00"  # how an xz file begins


def weights_to_bytes(model: Model[Any, Any], *, compress: bool = False) -> bytes:
    """Write a model as `Model.to_bytes` does, its float32 parameters as float16.

    model (Model): the model.
    compress (bool): whether to take seconds to make it a third smaller, as is worth it on disk.
    RETURNS (bytes): what `weights_from_bytes` reads.
    """
    message = model.to_dict()
    message["params"] = convert_recursive(
        is_xp_array, lambda array: _to(model, array, "float32", "float16"), message["params"]
    )
    data = bytes(srsly.msgpack_dumps(message))
    return lzma.compress(data) if compress else data


def weights_from_bytes(model: Model[Any, Any], data: bytes) -> None:
    """Read weights in half or in single precision, compressed or not, into a model of the same structure.

    model (Model): the model, changed in place; its parameters are float32 again.
    data (bytes): what `weights_to_bytes` or `Model.to_bytes` wrote.
    RAISES: ValueError from thinc if the structure differs.
    """
    message = srsly.msgpack_loads(lzma.decompress(data) if data.startswith(_COMPRESSED) else data)
    message["params"] = convert_recursive(
        is_xp_array, lambda array: _to(model, array, "float16", "float32"), message["params"]
    )
    model.from_dict(message)


def _to(model: Model[Any, Any], array: Any, old: str, new: str) -> Any:
    """An array of another type if it was of the old one; float16 on the host, float32 where the model runs."""
    host = model.ops.to_numpy(array)  # type: ignore[no-untyped-call]
    changed = host.astype(new) if host.dtype == old else host
    return changed if new == "float16" else model.ops.asarray(changed)
