"""The mutants of `benchmarks.mutants`: what is changed and what is not, and that a test notices one."""

import ast

import pytest

from benchmarks import mutants


@pytest.mark.parametrize("module", mutants.TESTS)
def test_each_mutant_is_one_change_of_a_function_that_can_be_replaced(module: str):
    made = mutants.make_mutants(module)
    original = ast.unparse(ast.parse((mutants.PACKAGE / (module.replace(".", "/") + ".py")).read_text("utf8")))
    assert len(made) > 20
    assert all(mutant.source != original for mutant in made)
    assert all(mutants.find_function(module, mutant.function) for mutant in made)
    assert {mutant.line for mutant in made} > {min(mutant.line for mutant in made)}


def test_the_tests_of_the_safety_core_exist():
    root = mutants.PACKAGE.parent
    if not (root / "tests").is_dir():
        pytest.skip("the tests are not beside the package")
    assert [path for paths in mutants.TESTS.values() for path in paths if not (root / path).is_file()] == []
