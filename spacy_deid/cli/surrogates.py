"""What commands do with surrogates: the project key, where secrets may lie, what no surrogate could be made of."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from spacy.tokens import Doc

from ..context import DECISIONS
from ..errors import ConfigError, Errors
from ..surrogates.keys import ProjectKey
from ..surrogates.strategies import FALLBACK
from ..vault.encryption import check_apart, check_outside
from .console import reporting

__all__ = ["Key", "SaltFile", "Used", "check_secrets", "give_key", "key", "take_used"]

Key = Annotated[Path | None, typer.Option(help="File of the project key, for surrogates. 'key new' makes one.")]


SaltFile = Annotated[
    Path | None,
    typer.Option("--salts", help="File of the patients' salts: without its salt nobody can link a patient's notes."),
]


class Used(NamedTuple):
    """What of surrogates was used in a note, as counts.

    fallbacks (Counter): label → spans that have their tag, because no surrogate could be made.
    identities (Counter): "patient" or "document": whose surrogates they are.
    """

    fallbacks: Counter[str]
    identities: Counter[str]


key = typer.Typer(name="key", no_args_is_help=True, help="Keys of surrogates.")


@key.callback()
def main() -> None:
    """Keys of surrogates."""


@key.command()
def new(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write. Nobody but you will be able to read it.")
    ],
) -> None:
    """Make a project key. Whoever has it can make the same surrogates again; without it nobody can."""
    with reporting():
        made = ProjectKey.make()
        made.to_file(path)
        typer.echo(f"key {made.fingerprint} written to {path}. Keep it apart from the notes, and keep a copy")


def check_secrets(secrets: Iterable[Path | None], notes: Iterable[Path], output: Path | None) -> None:
    """Make sure that no secret of a run lies in a folder of notes or in the folder of what is released.

    secrets (Iterable[Optional[Path]]): files of keys, salts and vaults; None for those that are not used.
    notes (Iterable[Path]): the files and folders that are read.
    output (Optional[Path]): the folder that is written to.
    RAISES: ConfigError (D653).
    """
    folders = [(path, "a folder of notes") for path in notes]
    folders += [(output, "the folder of what is released")] if output else []
    for secret in filter(None, secrets):
        for folder, what in folders:
            check_outside(secret, folder, what)


def give_key(surrogate: Any, path: Path | None, salts: Path | None = None) -> None:
    """Give a pipeline's ``deid_surrogate`` its key.

    surrogate (Surrogate): the component, with the style that was chosen.
    path (Optional[Path]): the file of the key; None for none.
    salts (Optional[Path]): the file of the patients' salts; None for none. It must not lie beside the key.
    RAISES: ConfigError if the style needs a key and there is none (D691), as `ProjectKey.from_file` and `check_apart`.
    """
    if path is not None:
        if salts is not None:
            check_apart(salts, path)
        surrogate.set_key(path, salts)
    if surrogate.lacks_key:
        raise ConfigError(Errors.D691)


def take_used(doc: Doc) -> Used:
    """Copy out of a Doc what of surrogates was used.

    doc (Doc): a note that was redacted.
    RETURNS (Used): counts, empty for other styles.
    """
    decided = doc.user_data[DECISIONS]
    lacking = (label for _, _, label, action in decided["actions"] if action == FALLBACK)
    return Used(Counter(lacking), Counter([decided["identity"]] if "identity" in decided else []))
