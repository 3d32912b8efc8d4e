"""No attack of the catalogue leaves a planted string readable."""

import pytest
from attacks.catalogue import load_attacks

ENDINGS = {"removed", "warned", "withheld", "refused"}


@pytest.mark.parametrize("attack", load_attacks().values(), ids=lambda attack: attack.title)
def test_an_attack_leaves_nothing_readable(attack, tmp_path):
    outcome = attack.run(tmp_path)
    assert outcome.planted > 0
    assert outcome.ending in ENDINGS
    assert outcome.left == 0, f"{outcome.left} of {outcome.planted} planted strings are left ({outcome.ending})"
