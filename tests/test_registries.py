"""Registries: parts that a config chooses by a plain string or by a block of a registered function."""

from importlib.metadata import distribution
from pathlib import Path

import pytest
import spacy

import spacy_deid
from spacy_deid.errors import ConfigError
from spacy_deid.loading import REPLACED_NAMES, REPLACED_SETTINGS
from spacy_deid.registries import REGISTRIES, choose_part, registry
from spacy_deid.saving import CHECKSUMS, save

PLAIN = {"one": lambda: 1}


def choose(value):
    return choose_part("deid_modes", value, PLAIN, setting="mode")


@pytest.fixture
def registered():
    """A part of another package, with a setting that has a default and one that has none."""
    names = ("test.optional.v1", "test.required.v1")
    registry.deid_modes(names[0])(lambda gap=2: gap)
    registry.deid_modes(names[1])(lambda gap: gap)
    return names


def test_a_plain_name_and_a_part_are_accepted():
    assert choose("one") == 1
    assert choose(7) == 7


def test_a_registered_part_without_required_settings_is_named_by_a_string(registered):
    assert choose(registered[0]) == 2


def test_a_registered_part_with_required_settings_needs_a_block(registered):
    with pytest.raises(ConfigError, match=r"'test.required.v1' needs settings: .*@deid_modes"):
        choose(registered[1])
    block = {"part": {"@deid_modes": registered[1], "gap": 5}}
    assert spacy.registry.resolve(block)["part"] == 5


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"unknown mode 'none'. Known names: one, spacy_deid.spread_mode.v1"):
        choose("none")


def test_every_registered_name_has_a_line_in_the_reference():
    page = (Path(__file__).parents[1] / "docs" / "reference" / "registered_names.md").read_text(encoding="utf8")
    names = [point.name for point in distribution("spacy-deid").entry_points if point.group.startswith("spacy_")]
    assert len(names) > 20
    assert [name for name in names if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", REGISTRIES)
def test_every_registry_takes_entry_points(name):
    assert getattr(spacy.registry, name).entry_points
    assert getattr(spacy.registry, name).entry_point_namespace == f"spacy_{name}"


def test_about_twenty_names_are_registered_beside_the_factories():
    points = [point for point in distribution("spacy-deid").entry_points if point.group.startswith("spacy_")]
    assert len([point for point in points if point.group != "spacy_factories"]) <= 26
    assert not [point for point in points if point.group == "spacy_misc"]


@pytest.fixture
def config(tmp_path):
    """The config file of a saved pipeline without checksums."""
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_patterns")
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate")
    save(nlp, tmp_path / "old")
    (tmp_path / "old" / CHECKSUMS).unlink(missing_ok=True)
    return tmp_path / "old" / "config.cfg"


@pytest.mark.parametrize(
    ("new", "old", "message"),
    [
        ("propagate_names = true", "echo = true", r"uses deid_patterns.echo, .* replaced by propagate_names"),
        (
            'style = "tag"',
            '[components.deid_surrogate.style]\n@misc = "spacy_deid.tag_style.v1"',
            r'uses @misc = "spacy_deid.tag_style.v1", .* replaced by style = "tag"',
        ),
    ],
)
def test_an_old_pipeline_is_refused_with_the_old_and_the_new_name(config, new, old, message):
    text = config.read_text(encoding="utf8")
    assert new in text
    text = text.replace(new, "" if "[" in old else old) + (f"\n{old}\n" if "[" in old else "")
    config.write_text(text, encoding="utf8")
    with pytest.raises(ConfigError, match=message):
        spacy_deid.load(config.parent)


def test_replaced_names_are_no_longer_registered():
    assert len(REPLACED_NAMES) == 41
    assert not [name for name in REPLACED_NAMES if name in spacy.registry.misc]


@pytest.mark.parametrize("factory", REPLACED_SETTINGS)
def test_replaced_settings_exist(factory):
    defaults = spacy.blank("es").get_factory_meta(factory).default_config
    for old, new in REPLACED_SETTINGS[factory].items():
        assert old not in defaults
        block, _, setting = new.partition(".")
        assert setting in defaults[block] if setting else block in defaults
