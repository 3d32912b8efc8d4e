"""Find identifiers that have a fixed form, such as telephone numbers, with rules that are read from TOML files."""

from .matcher import Match as Match
from .matcher import RuleMatcher as RuleMatcher
from .matcher import check_examples as check_examples
from .rules import COMMON as COMMON
from .rules import Context as Context
from .rules import Rule as Rule
from .rules import check_language as check_language
from .rules import check_unique as check_unique
from .rules import parse_example as parse_example
from .rules import read_rules as read_rules
from .rules import resource_rules as resource_rules
from .rules import rule_languages as rule_languages
from .validators import get_validator as get_validator
from .validators import validator_names as validator_names
