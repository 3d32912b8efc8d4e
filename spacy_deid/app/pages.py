"""The pages, made on the server."""

from fastapi import APIRouter

from .settings import ServiceSettings
from .store import Store
from .worker import Supervisor

__all__ = ["make_pages"]


def make_pages(service: ServiceSettings, store: Store, supervisor: Supervisor) -> APIRouter:
    """Make the routes of the pages."""
    return APIRouter()
