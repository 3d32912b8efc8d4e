"""Renders pages from templates in the language of the request, and translates messages of errors for them."""

import re
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from fastapi import Request
from fastapi.responses import HTMLResponse

from ..errors import Errors
from ..lang import FALLBACK, get_language, language_codes
from .security import COOKIE

LANGUAGES = tuple(language_codes("app.toml"))


@cache
def load_words(lang: str) -> dict[str, Any]:
    """Load the texts of the pages in a language: its ``app.toml``.

    lang (str): one of `LANGUAGES`.
    RETURNS (dict): name → text, or a dict of texts. Texts that the language lacks are in English.
    """
    words, own = get_language(FALLBACK).read_toml("app.toml"), get_language(lang).read_toml("app.toml")
    return {
        key: text | own.get(key, {}) if isinstance(text, dict) else own.get(key, text) for key, text in words.items()
    }


def language_of(request: Request) -> str:
    """Choose the language of a page by the URL, a cookie or the browser, in this order; English otherwise."""
    accepted = request.headers.get("accept-language", "").split(",")
    wanted = [request.query_params.get("lang", ""), request.cookies.get("lang", "")]
    wanted += [part.split(";")[0].strip()[:2].lower() for part in accepted]
    return next((lang for lang in wanted if lang in LANGUAGES), FALLBACK)


@cache
def _message_patterns(lang: str) -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern and the translation of each message of `Errors` that the pages have in a language."""
    patterns = []
    for code, text in load_words(lang)["errors"].items():
        parts = re.split(r"\{(\w+)[^}]*\}", str(getattr(Errors, code)))
        named = [re.escape(part) if i % 2 == 0 else f"(?P<{part}>.*?)" for i, part in enumerate(parts)]
        patterns.append((re.compile("".join(named), re.DOTALL), text))
    return patterns


def translate_error(message: str, lang: str) -> tuple[str, bool]:
    """Translate the message of an error to the language of a page.

    message (str): message of a `DeidError`.
    lang (str): one of `LANGUAGES`.
    RETURNS (tuple[str, bool]): the translation, or the message if there is none; and whether it was translated.
    """
    reasons = load_words(lang)["reasons"]
    for pattern, text in _message_patterns(lang):
        if found := pattern.fullmatch(message):
            values = found.groupdict()
            reason = values.get("reason")
            if reason is not None and reason not in reasons:
                break  # half a translation is worse than none
            return text.format(**{**values, "reason": reasons.get(reason, "")}), True
    return message, False


RESOURCES = files("spacy_deid") / "resources" / "app"
STATIC = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "review.js": "text/javascript",
    "review.css": "text/css",
    "icon.svg": "image/svg+xml",
}
TEMPLATES = jinja2.Environment(
    loader=jinja2.FunctionLoader(lambda name: (RESOURCES / "templates" / name).read_text(encoding="utf-8")),
    autoescape=True,
    trim_blocks=True,
)


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page in the language of the request.

    template (str): name of the template, without suffix.
    status (int): HTTP status of the response.
    values (Any): variables of the template.
    """
    lang = language_of(request)
    page = TEMPLATES.get_template(f"{template}.html.jinja").render(
        lang=lang,
        t=load_words(lang),
        languages=[(code, load_words(code)["name"]) for code in LANGUAGES],
        session=COOKIE in request.cookies,
        **{"here": request.scope["path"], **values},
    )
    answer = HTMLResponse(page, status)
    if (asked := request.query_params.get("lang")) in LANGUAGES:
        answer.set_cookie("lang", asked, samesite="strict", httponly=True, secure=is_safe(request))
    return answer


def is_safe(request: Request) -> bool:
    """Whether the request used TLS, to this server or to a proxy."""
    return bool(request.scope["scheme"] == "https")
