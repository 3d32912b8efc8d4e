"""What a self-decoding model is like and how it is trained, as the block [self_decoder] of a config says."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from confection import Config

from ...errors import ConfigError, Errors

__all__ = ["Plan"]

SECTION = "self_decoder"


@dataclass(frozen=True, slots=True)
class Plan:
    """Size of a model and length of its training. The defaults are the paper's, or what it leaves open.

    encoder (str): folder of an encoder of transformers, or its name on the hub.
    layers, heads (int): size of the decoder.
    inner (int): width of its inner layers.
    dropout (float): share of values that the decoder loses in training.
    pieces (int): word pieces of a name at most, the special ones counted in.
    similarity (float): cosine of a changed and an unchanged state that training holds.
    weight (float): weight of that beside the cross-entropy.
    train_encoder (bool): whether the encoder learns too.
    epochs (int): times that each name is seen.
    batch (int): names of a step.
    rate (float): highest learning rate.
    decay (float): weight decay.
    seed (int): seed.
    RAISES: ConfigError (D248) for numbers that make no model.
    """

    encoder: str
    layers: int = 6
    heads: int = 8
    inner: int = 768
    dropout: float = 0.1
    pieces: int = 16
    similarity: float = 0.7
    weight: float = 1.0
    train_encoder: bool = False
    epochs: int = 3
    batch: int = 64
    rate: float = 1e-3
    decay: float = 0.01
    seed: int = 1

    def __post_init__(self) -> None:
        counts = (self.layers, self.heads, self.inner, self.epochs, self.batch)
        if min(counts) < 1 or self.pieces < 3 or not 0.0 <= self.dropout < 1.0 or not -1.0 <= self.similarity <= 1.0:
            raise ConfigError(Errors.D248.format(reason="its numbers make no model"))

    @classmethod
    def from_config(cls, path: str | Path, **overrides: Any) -> Self:
        """Read a plan.

        path (Union[str, Path]): a config with a block [self_decoder].
        overrides (Any): settings that take the place of those of the file.
        RETURNS (Plan): the plan.
        RAISES: ConfigError (D248) for a file that cannot be read, an unknown setting, or one of another kind.
        """
        try:
            settings: dict[str, Any] = {**Config().from_disk(Path(path))[SECTION], **overrides}
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(Errors.D248.format(reason=f"{Path(path).name}: {type(error).__name__}")) from None
        return cls.from_dict(settings)

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """Make a plan of its settings. RAISES: ConfigError (D248)."""
        kinds = {field.name: field.type for field in fields(cls)}
        for name, value in settings.items():
            if name not in kinds:
                raise ConfigError(Errors.D248.format(reason=f"unknown setting '{name}'"))
            wanted = (int, float) if kinds[name] is float else kinds[name]
            if not isinstance(value, wanted) or (kinds[name] is not bool and isinstance(value, bool)):  # type: ignore[arg-type]
                raise ConfigError(Errors.D248.format(reason=f"'{name}' is of the wrong kind"))
        if "encoder" not in settings:
            raise ConfigError(Errors.D248.format(reason="no encoder is named"))
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """The settings."""
        return asdict(self)
