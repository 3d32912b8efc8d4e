"""Words that office formats and programs define themselves, and which verification therefore does not search.

Some of them are also names (Roman, Black, Office, Georgia), so each is accepted only where the format puts it.
"""

import re
from functools import cache
from importlib.resources import files

_NUMBERED = re.compile(r"(.*\D)\d{1,3}")  # "Arial1": LibreOffice numbers fonts
_LANGUAGE = re.compile(r"([a-z]{2}|[a-z]{3}(?=-))(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?|x-none|none|")
_MEASURE = re.compile(r"[-+\d.,\s]*(pt|in|cm|mm|pc|px|em|%|f)?|#?[\dA-Fa-f]{1,6}")
_LONGEST_NUMBER = 7

# names of styles predefined by Word, and others predefined by LibreOffice
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
    """Whether a style name is predefined by Word or LibreOffice.

    name (str): the name, also in the encoding of OpenDocument ("Heading_20_1").
    RETURNS (bool): whether the name is predefined.
    """
    plain = name.replace("_20_", " ")
    return _WORD_STYLES.fullmatch(plain) is not None or _OFFICE_STYLES.fullmatch(plain) is not None


def is_font(value: str) -> bool:
    """Whether a text is a list of font names that are shipped with operating systems or office programs.

    value (str): font names separated by commas, with or without quotes.
    RETURNS (bool): whether all of them are known.
    """
    names = [name.strip(" '\"").lower().removeprefix("@") for name in value.split(",")]
    return all(
        not name or name in _fonts() or ((m := _NUMBERED.fullmatch(name)) is not None and m[1].strip() in _fonts())
        for name in names
    )


def is_language(value: str) -> bool:
    """Whether a text is a language code, such as "es-ES", "zh-Hans-CN" or "x-none"."""
    return _LANGUAGE.fullmatch(value) is not None


def is_measure(value: str) -> bool:
    """Whether a text is a number with at most seven digits, a colour or a size. Longer numbers could identify a
    patient.
    """
    return _MEASURE.fullmatch(value) is not None and sum(map(str.isdigit, value)) <= _LONGEST_NUMBER


def is_ooxml_word(value: str) -> bool:
    """Whether a text is an element, attribute or enumerated value of Office Open XML."""
    return value in _ooxml_words()


@cache
def _ooxml_words() -> frozenset[str]:
    return frozenset(_lines("ooxml_words.txt"))


@cache
def _fonts() -> frozenset[str]:
    return frozenset(line.lower() for line in _lines("fonts.txt"))


def _lines(name: str) -> list[str]:
    """Return the lines of a resource file without comments."""
    text = (files("spacy_deid") / "resources" / "documents" / name).read_text("utf8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
