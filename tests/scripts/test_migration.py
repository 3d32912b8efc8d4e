"""The tables of the guide "From 0.3 to 1.0" name what exists now, and nothing that they call replaced exists still."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

from scripts import site_reference as reference
from spacy_deid.loading import REPLACED_NAMES, REPLACED_SETTINGS

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guides" / "migration.md").read_text(encoding="utf8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf8")


def read_table(heading):
    """The rows below a heading: each a list of cells."""
    part = GUIDE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| `") or line.startswith("| aug")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def options_of(command):
    found = dict(reference._walk("", reference._root()))[f" {command}"]
    return {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}


OPTIONS = [row for row in read_table("Commands") if len(row) == 3]


def test_the_table_of_commands_has_rows():
    assert len(OPTIONS) > 20
    assert len({tuple(row) for row in OPTIONS}) == len(OPTIONS)


@pytest.mark.parametrize(("command", "old", "new"), OPTIONS, ids=["-".join(row[:2]) for row in OPTIONS])
def test_a_replaced_option_is_gone_and_its_replacement_exists(command, old, new):
    options = options_of(command.strip("`"))
    if not old.startswith("argument"):
        assert old.strip("`") not in options
    if not new.startswith("removed"):
        assert new.strip("`") in options


def test_every_replaced_name_of_the_registries_in_0_3_has_its_replacement():
    rows = [row for row in read_table("Configs and saved pipelines") if "@misc" in row[1]]
    assert len(rows) == 6
    for _, old, new in rows:
        (name,) = re.findall(r'"(.+?)"', old)
        assert REPLACED_NAMES[name] in new.replace("`", "")


def test_every_replaced_setting_of_the_detectors_has_a_row():
    rows = {
        (row[0].strip("`"), row[1].strip("`")): row[2].strip("`") for row in read_table("Configs and saved pipelines")
    }
    for factory in ("deid_patterns", "deid_ner"):
        for old, new in REPLACED_SETTINGS[factory].items():
            assert rows[factory, old] == new


def test_new_registered_names_of_the_guide_are_entry_points():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    names = {line.split(" =")[0] for group in config["options.entry_points"].values() for line in group.splitlines()}
    for row in read_table("Configs and saved pipelines"):
        for name in re.findall(r"spacy_deid\.\w+\.v1", row[2]):
            assert name in names


def test_the_changelog_describes_this_version_and_has_no_entry_twice():
    from spacy_deid import __version__

    assert f"\n## [{__version__}]" in CHANGELOG
    entries = re.findall(r"^- .+(?:\n  .+)*", CHANGELOG, flags=re.MULTILINE)
    assert len(entries) > 100
    assert sorted(entry for entry in set(entries) if entries.count(entry) > 1) == []
