"""No attack of the catalogue leaves a planted string readable."""

import pytest
from attacks.catalogue import load_attacks

ENDINGS = {"removed", "warned", "withheld", "refused"}


CASES = [
    pytest.param(attack, id=attack.title, marks=[pytest.mark.slow] if attack.slow else [])
    for attack in load_attacks().values()
]


@pytest.mark.parametrize("attack", CASES)
def test_an_attack_leaves_nothing_readable(attack, tmp_path):
    outcome = attack.run(tmp_path)
    assert outcome.planted > 0
    assert outcome.ending in ENDINGS
    assert outcome.left == 0, f"{outcome.left} of {outcome.planted} planted strings are left ({outcome.ending})"
