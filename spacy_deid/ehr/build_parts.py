"""Building the parts of the patients in several processes.

Processes are spawned, not forked: the readers of tables have threads, and a fork of them may stand still. No more
parts are on the way than the processes can take, so that memory does not grow with the tables.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from ..errors import Errors, InputError
from ..processes import follow_parent
from .patient_parts import PartResult, PartsPlan, PatientBuilder
from .scratch import Scratch

__all__ = ["build_parts"]

_FEW = 20_000  # rows that take less time than a process to begin

_BUILDERS: list[PatientBuilder] = []  # of a process that was spawned


def build_parts(plan: PartsPlan, scratch: Scratch, processes: int) -> Iterator[PartResult]:
    """Build all parts.

    plan (PartsPlan): how.
    scratch (Scratch): the rows.
    processes (int): how many processes there may be; 1 for none but this one.
    YIELDS (PartResult): what became of each part, in their order.
    RAISES: InputError (D188) if a process dies.
    """
    if processes < 2 or scratch.rows <= _FEW:
        builder = PatientBuilder(plan)
        yield from (builder.build(number, data) for number, data in enumerate(scratch.parts()))
        return
    waiting: deque[Future[PartResult]] = deque()
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin, (plan,)) as pool:
        try:
            for number, data in enumerate(scratch.parts()):
                waiting.append(pool.submit(_build, number, data))
                if len(waiting) > processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise InputError(Errors.D188) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(plan: PartsPlan) -> None:
    """Make the builder of a process, which ends with its parent."""
    follow_parent()
    _BUILDERS[:] = [PatientBuilder(plan)]


def _build(number: int, data: bytes) -> PartResult:
    """Build a part with it."""
    return _BUILDERS[0].build(number, data)
