"""Styles of HTML elements: only declarations that are made of words of CSS stay."""

import re

from PIL.ImageColor import colormap

from .vocabulary import is_font, is_measure

__all__ = ["clean_style"]

# parts of the names of properties, and values
_CSS_NAMES = set(
    "align background border bottom break caption center clear collapse color column decoration display family "
    "float font height image indent inside layout left letter line list margin max min opacity overflow padding "
    "page position radius right side size space spacing span stretch style table text top transform type variant "
    "vertical visibility weight white width word wrap after before box sizing columns count gap".split()
)
_CSS_WORDS = set(
    "absolute all always auto avoid baseline block bold bolder border-box both bottom break-word capitalize "
    "center circle collapse column dashed decimal disc dotted double fixed flex grid groove hidden inherit "
    "initial inline inline-block inset inside italic justify large larger left lighter line-through list-item "
    "lower-alpha lower-roman lowercase medium middle none normal nowrap oblique outset outside overline page pre "
    "pre-line pre-wrap relative ridge right row scroll separate small small-caps smaller solid square static "
    "sticky sub super table table-cell table-row text-bottom text-top thick thin top transparent underline unset "
    "upper-alpha upper-roman uppercase visible wrap x-large x-small xx-large xx-small currentcolor start end "
    "serif sans-serif monospace cursive fantasy".split()
)


def clean_style(style: str) -> str:
    """Take out of a style what somebody made up: a name could stand in place of a word of CSS.

    style (str): what the attribute "style" says.
    RETURNS (str): the declarations whose words are all of CSS, colours, sizes or names of known fonts, in lower case.
    """
    declarations = (part.partition(":") for part in style.lower().split(";"))
    return ";".join(f"{name}:{value}" for name, _, value in declarations if value and _is_css(name, value))


def _is_css(name: str, value: str) -> bool:
    """Whether a declaration of a style has no word that somebody made up."""
    words = re.split(r"[\s,]+", value.strip())
    known = all(word in _CSS_WORDS or word in colormap or is_measure(word) for word in words)
    return set(name.strip().split("-")) <= _CSS_NAMES and (known or (name.strip() == "font-family" and is_font(value)))
