"""Words that office files have themselves: what verification does not search, because it says nothing of anybody.

A name can be such a word (Roman, Black, Office, Georgia), so each of them is excused only where the format puts it.
"""

import re
from functools import cache
from importlib.resources import files

_NUMBERED = re.compile(r"(.*\D)\d{1,3}")  # "Arial1": LibreOffice numbers fonts
_LANGUAGE = re.compile(r"([a-z]{2}|[a-z]{3}(?=-))(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?|x-none|none|")
_MEASURE = re.compile(r"[-+\d.,\s]*(pt|in|cm|mm|pc|px|em|%|f)?|#?[\dA-Fa-f]{1,6}")
_LONGEST_NUMBER = 7

# names of styles that Word has itself, and that LibreOffice has beside them
_WORD_STYLES = re.compile(
    r"(Normal|Body Text|Body Text Indent|Heading \d|"
    r"Title|Subtitle|Strong|Emphasis|Intense Emphasis|Subtle Emphasis|Quote|"
    r"Intense Quote|Subtle Reference|Intense Reference|Book Title|Caption|Header|Footer|Hyperlink|FollowedHyperlink|"
    r"Macro Text|Body Text( Indent| First Indent)? \d|Body Text First Indent|HTML Preformatted|Plain Text|Date|"
    r"Salutation|Closing|Signature|E-mail Signature|Balloon Text|Comment (Text|Subject)|(Foot|End)note Text|"
    r"Document Map|Message Header|Note Heading)( Char)?|"
    r"(Default Paragraph|Line|Page|(Foot|End)note|Comment|Annotation) (Font|Number|Reference|Text|Subject)|"
    r"Normal (Table|\(Web\)|Indent)|No (List|Spacing)|(TOC|Index) (\d|Heading)|"
    r"TOA Heading|Table of (Figures|Authorities)|"
    r"List( Paragraph| Bullet| Number| Continue)?( \d)?|Block Text|Envelope (Address|Return)|Bibliography|"
    r"Placeholder Text|Macro|HTML (Top of Form|Bottom of Form|Acronym|Address|Cite|Code|Definition|Keyboard|Sample|"
    r"Typewriter|Variable)|Unresolved Mention|Revision|Outline List \d|"
    r"(Light|Medium|Dark|Colorful) (Shading|List|Grid)( \d)?( Accent \d)?|"
    r"(Grid|List) Table \d( (Light|Dark|Colorful))?( - Accent \d| Accent \d)?|(Plain|Grid) Table (\d|Light)|"
    r"Table (Normal|Grid|Theme|Contemporary|Elegant|Professional)|"
    r"Table (Simple|Classic|Colorful|Columns|Grid|List|3D effects|Subtle|Web) \d",
    re.IGNORECASE,
)
_OFFICE_STYLES = re.compile(
    r"Standard|Text body( indent)?|(Contents|Index|User Index|Table|Object index|Illustration Index) (Heading|\d+)|"
    r"Header and Footer|(Header|Footer) (left|right)|(Header|Footer|Heading|Caption|Index|List|Signature|Title) Char|"
    r"Table Contents|Frame( contents)?|Graphics|Formula|OLE|Watermark|Labels|Marginalia|Sender|Addressee|Definition|"
    r"(Numbering|Bullet|Footnote|Endnote) Symbols?|(Footnote|Endnote) (anchor|Characters)|Page Number|Line numbering|"
    r"(Visited )?Internet link|Placeholder|Index Link|Main index entry|Example|Teletype|User Entry|Variable|"
    r"Source Text|Citation|Drop Caps|Emphasis|Strong Emphasis|Rubies|Vertical Numbering Symbols|Quotations|"
    r"Preformatted Text|Horizontal Line|Complimentary Close|(Hanging|First line) indent|Illustration|Drawing|Figure|"
    r"First Page|(Left|Right) Page|Envelope|HTML|Footnote|Endnote|Landscape|[Dd]efault|Text|(Numbering|List) \d|"
    r"(List|Numbering) \d (Start|Cont\.?|End)|ListLabel \d+"
)


def is_built_in_style(name: str) -> bool:
    """Whether a style has its name from Word or LibreOffice and not from a person.

    name (str): the name, also as OpenDocument writes it ("Heading_20_1").
    RETURNS (bool): whether it is one of theirs.
    """
    plain = name.replace("_20_", " ")
    return _WORD_STYLES.fullmatch(plain) is not None or _OFFICE_STYLES.fullmatch(plain) is not None


def is_font(value: str) -> bool:
    """Whether a text is the name of a font that comes with operating systems or office programs, or a list of such.

    value (str): a name, or names between commas, with or without quotes.
    RETURNS (bool): whether all of them are known.
    """
    names = [name.strip(" '\"").lower().removeprefix("@") for name in value.split(",")]
    return all(not name or name in _fonts() or _is_numbered(name) for name in names)


def _is_numbered(name: str) -> bool:
    """Whether a name is a known font with a number behind it."""
    found = _NUMBERED.fullmatch(name)
    return found is not None and found[1].strip() in _fonts()


def is_language(value: str) -> bool:
    """Whether a text is the code of a language, as "es-ES", "zh-Hans-CN" and "x-none"."""
    return _LANGUAGE.fullmatch(value) is not None


def is_measure(value: str) -> bool:
    """Whether a text is a number of up to seven digits, a colour or a size. A longer number could be a patient's."""
    return _MEASURE.fullmatch(value) is not None and sum(map(str.isdigit, value)) <= _LONGEST_NUMBER


def is_ooxml_word(value: str) -> bool:
    """Whether a text is an element, an attribute or an enumerated value of Office Open XML."""
    return value in _ooxml_words()


@cache
def _ooxml_words() -> frozenset[str]:
    return frozenset(_lines("ooxml_words.txt"))


@cache
def _fonts() -> frozenset[str]:
    return frozenset(line.lower() for line in _lines("fonts.txt"))


def _lines(name: str) -> list[str]:
    """The lines of a resource, without comments."""
    text = (files("spacy_deid") / "resources" / "documents" / name).read_text("utf8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
