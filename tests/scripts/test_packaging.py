"""What is installed elsewhere: wheels of the pipelines, the image, the conda recipe."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from pathlib import Path

import jinja2
import pytest
import yaml

import spacy_deid

ROOT = Path(__file__).parent.parent.parent
NOTE = "Nombre: Ana Ruiz. NHC: 4471906."
LOAD = f"import spacy, sys; doc = spacy.load(sys.argv[1])({NOTE!r}); print(doc._.deid_text)"
needs_source = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="needs the source of the package, which is out of the way"
)


def read_setup():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    return config


def run(*command, **settings):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **settings)
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def instructions(stage):
    """The instructions of a stage of the Containerfile, from 0: pairs of a word and its arguments."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(encoding="utf8"), flags=re.MULTILINE)
    lines = [line.split(None, 1) for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    starts = [i for i, (word, _) in enumerate(lines) if word == "FROM"]
    return lines[starts[stage] : [*starts, None][stage + 1]]


@needs_source
def test_the_conda_recipe_requires_what_the_package_requires():
    recipe = yaml.safe_load(
        jinja2.Template((ROOT / "conda" / "meta.yaml").read_text(encoding="utf8")).render(PYTHON="python")
    )
    required = [line.replace(" ", "") for line in recipe["requirements"]["run"]]
    options = read_setup()["options"]
    assert required == [f"python{options['python_requires']}", *options["install_requires"].split()]
    assert str(recipe["package"]["version"]) == spacy_deid.__version__


@needs_source
def test_the_image_runs_without_root_and_knows_every_extra_that_it_names():
    words = dict(instructions(1))
    assert words["USER"].split(":")[0] not in ("0", "root")
    assert words["ENTRYPOINT"] == '["spacy-deid"]'
    (extras,) = re.findall(r'"/src\[([\w,-]+)\]"', instructions(0)[-1][1])
    assert set(extras.split(",")) <= set(read_setup()["options.extras_require"])
    assert "torch" not in (ROOT / "Containerfile").read_text(encoding="utf8")


@needs_source
def test_the_image_gets_all_files_of_the_wheel_and_no_corpus():
    lines = (ROOT / ".containerignore").read_text(encoding="utf8").splitlines()
    assert lines == (ROOT / ".dockerignore").read_text(encoding="utf8").splitlines()
    assert "*" in lines
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert {"setup.cfg", "pyproject.toml", "spacy_deid", "README.md", "LICENSE", "NOTICE"} <= kept
    assert [name for name in kept if not (ROOT / name).exists()] == []


def find_builder():
    """A program that can build and run images now and has, or can get, the images to start from; None without one."""
    bases = re.findall(r"(?m)^FROM (\S+)", (ROOT / "Containerfile").read_text(encoding="utf8"))
    for name in ("podman", "docker"):
        if (
            shutil.which(name)
            and succeeds(name, "info")
            and all(succeeds(name, "image", "inspect", base) or succeeds(name, "pull", base) for base in bases)
        ):
            return name
    return None


def succeeds(*command):
    """Whether a command ends without an error."""
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.slow
@needs_source
def test_the_image_de_identifies_without_a_network_and_writes_nothing(tmp_path):
    builder = find_builder()
    if builder is None:
        pytest.skip("no podman or docker that has the images to start from; its steps run in a folder instead")
    run(builder, "build", "-f", ROOT / "Containerfile", "-t", "spacy-deid-test", ROOT, timeout=580)
    alone = [builder, "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL"]
    assert "[PATIENT]" in run(*alone, "spacy-deid-test")
    assert run(*alone, "--entrypoint", "id", "spacy-deid-test", "--user").strip() == "10001"
    notes, released = tmp_path / "notes", tmp_path / "released"
    notes.mkdir()
    (notes / "note.txt").write_text(NOTE, encoding="utf8")
    released.mkdir()
    released.chmod(0o777)  # the user of the image writes there
    folders = ["--tmpfs", "/tmp", "--volume", f"{notes}:/data/notes:ro", "--volume", f"{released}:/data/released"]
    run(*alone, *folders, "spacy-deid-test", "redact", "notes", "--pipeline", "es", "--output", "released")
    assert "Ruiz" not in (released / "note.txt").read_text(encoding="utf8")


@pytest.mark.slow
@needs_source
@pytest.mark.timeout(1200)
def test_the_steps_of_the_image_work_in_a_plain_folder():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        source, target = folder / "src", folder / "opt" / "deid"
        kept = (line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!"))
        for path in kept:
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copyfile
            copy(ROOT / path, source / path)
        for word, step in instructions(0):
            if word == "RUN":
                step = step.replace("/opt/deid", str(target)).replace("/src", str(source))
                run("bash", "-c", re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", step), timeout=900)
        shutil.rmtree(source)
        before = {path: path.stat().st_mtime_ns for path in target.rglob("*")}
        variables = {"PATH": f"{target}/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
        alone = ["unshare", "--map-root-user", "--net"] if can_unshare() else []
        printed = run(*alone, "spacy-deid", "demo", env=variables, cwd=folder)
        assert "[PATIENT]" in printed
        assert {path: path.stat().st_mtime_ns for path in target.rglob("*")} == before
        assert sorted(path.name for path in folder.iterdir()) == ["opt"]


def can_unshare():
    """Whether this machine lets a process give up its network."""
    return shutil.which("unshare") is not None and succeeds("unshare", "--map-root-user", "--net", "true")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lang", spacy_deid.shipped_pipelines())
def test_a_pipeline_is_an_installable_wheel(lang, tmp_path):
    pipeline = Path(spacy_deid.__file__).parent / "pipelines" / lang
    version = spacy_deid.__version__
    command = [sys.executable, "-m", "spacy", "package", pipeline, tmp_path, "--name", "deid"]
    run(*command, "--version", version, "--build", "wheel", timeout=300)
    wheel = tmp_path / f"{lang}_deid-{version}" / "dist" / f"{lang}_deid-{version}-py3-none-any.whl"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "site", wheel)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *sys.path])}
    printed = run(sys.executable, "-W", "ignore", "-c", LOAD, f"{lang}_deid", env=variables, cwd=tmp_path)
    assert printed.strip() == spacy_deid.load(lang)(NOTE)._.deid_text
    assert "Ruiz" not in printed
