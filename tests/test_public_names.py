"""What the package offers: names that exist, are documented, and say so in one place."""

import importlib
import inspect
import pkgutil
from importlib.metadata import version
from importlib.util import find_spec

import spacy_deid

MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(spacy_deid.__path__, "spacy_deid.")
    if not name.rpartition(".")[2].startswith("_") and not name.startswith("spacy_deid.pipelines")
)
if not find_spec("presidio_analyzer"):  # the module subclasses what Presidio defines
    MODULES.remove("spacy_deid.presidio")


def test_the_version_is_that_of_the_installed_package():
    assert spacy_deid.__version__ == version("spacy-deid")


def test_the_public_names_are_these():
    assert spacy_deid.__all__ == [
        "ConfigError",
        "DeidError",
        "Deidentifier",
        "Edit",
        "Evidence",
        "File",
        "InputError",
        "NotDeidentified",
        "Result",
        "__version__",
        "install_extensions",
        "load",
        "shipped_pipelines",
    ]


def test_there_are_modules_to_look_at():
    assert {"spacy_deid.spans", "spacy_deid.pipeline.merge"} <= set(MODULES)


def test_what_a_module_lists_is_there_and_has_a_docstring():
    wrong = []
    for name in ["spacy_deid", *MODULES]:
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", [])
        wrong += [f"{name} lists a name twice"] * (len(set(listed)) < len(listed))
        for each in listed:
            thing = getattr(module, each, None)
            if thing is None:
                wrong.append(f"{name}.{each} is missing")
            elif (inspect.isfunction(thing) or inspect.isclass(thing)) and not inspect.getdoc(thing):
                wrong.append(f"{name}.{each} has no docstring")
    assert wrong == []


def test_a_module_with_code_says_what_it_is_for():
    wrong = []
    for name in MODULES:
        module = importlib.import_module(name)
        own = [n for n, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == name and n[0] != "_"]
        wrong += [name] * bool(own and not module.__doc__)
    assert wrong == []
