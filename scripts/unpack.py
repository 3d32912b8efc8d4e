"""Unpack a corpus archive from assets/ or from a folder of local copies into corpus/NAME.

The archive is a zip or tar file. If folders are given, only these are kept, without their parent folders, so that the
publisher's zip and a local tar give the same result.
"""

import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated

import typer

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    name: Annotated[str, typer.Argument(help="Name of the corpus; the archive is NAME.zip or NAME.tar.*.")],
    folders: Annotated[list[str] | None, typer.Argument(help="Folders such as 'train/brat'; all by default.")] = None,
    assets_dir: Annotated[str, typer.Option(help="Folder of the archives; assets/ by default.")] = "",
    corpus: Annotated[Path, typer.Option(help="Folder to unpack to.")] = Path("corpus"),
) -> None:
    """Unpack an archive."""
    where = Path(assets_dir or "assets")
    archives = sorted(path for path in where.glob(f"{name}.*") if path.suffix in {".zip", ".xz", ".gz", ".tar"})
    if not archives:
        raise typer.BadParameter(f"no archive {name}.zip or {name}.tar.* in {where}: run 'spacy project assets' first")
    with tempfile.TemporaryDirectory() as scratch:
        extract(archives[0], Path(scratch))
        if not folders:
            keep(single_folder(Path(scratch)), corpus / name)
        for folder in folders or []:
            found = [path for path in sorted(Path(scratch).rglob(folder)) if path.is_dir()]
            if not found:
                raise typer.BadParameter(f"{archives[0].name} has no folder {folder}")
            keep(found[0], corpus / name / folder)


def single_folder(folder: Path) -> Path:
    """Descend while a folder contains only one folder: publishers wrap corpora in different folders."""
    inside = list(folder.iterdir())
    return single_folder(inside[0]) if len(inside) == 1 and inside[0].is_dir() else folder


def keep(folder: Path, target: Path) -> None:
    """Copy a folder, replacing an existing one."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    typer.echo(f"{target}: {sum(path.is_file() for path in target.rglob('*'))} files")


def extract(archive: Path, target: Path) -> None:
    """Unpack a zip or tar file; members that would be written outside of the folder are refused."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as file:
            file.extractall(target)
    else:
        with tarfile.open(archive) as file:
            file.extractall(target, filter="data")


if __name__ == "__main__":
    app()
