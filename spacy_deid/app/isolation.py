"""What a process that works on notes is not allowed: to outlive the service, to eat the memory, to print anything."""

import os

from ..processes import follow_parent
from .logs import keep_content_out

__all__ = ["stand_alone"]


def stand_alone(gigabytes: float) -> None:
    """Set a process apart: a group of its own with what it starts, bounded, silent, gone with the service.

    gigabytes (float): memory that it may ask for; 0 for no bound.
    """
    if hasattr(os, "setsid"):
        os.setsid()
        _limit_memory(gigabytes)
    follow_parent(by_system=True)
    # what libraries print, also those not written in Python, may be of a note
    log = open(os.dup(2), "w", encoding="utf-8")  # noqa: SIM115
    keep_content_out(log)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _limit_memory(gigabytes: float) -> None:
    """Bound the memory that a process may ask for; 0 for no bound."""
    import resource

    if gigabytes:
        most = int(gigabytes * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
