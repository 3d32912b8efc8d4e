"""Counts what the service does, for Prometheus. Labels are routes, methods, codes and states: values from fixed sets,
never ids, names of files or users, or anything of a note.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .. import __version__
from .store import Store
from .workers import Supervisor, TextProcessor

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # upper bounds of the histogram


class Monitor:
    """Counts requests, problems and texts, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "spacy_deid_requests", "Requests that were answered", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "spacy_deid_request_seconds", "Time of requests", ("route",), buckets=SECONDS, registry=self.registry
        )
        self._problems = Counter(
            "spacy_deid_problems",
            "Requests that failed, by the code of the problem",
            ("code",),
            registry=self.registry,
        )
        self._texts = Counter(
            "spacy_deid_texts", "Texts and resources, by what became of them", ("result",), registry=self.registry
        )

    def count_request(self, scope: Mapping[str, Any], route: str, status: int, seconds: float) -> None:
        """Count a request.

        scope (Mapping): its ASGI scope, with the code of a problem.
        route (str): the path of its rule in `access.RULES`.
        status (int): HTTP status of the response; 0 if the client did not wait for it.
        seconds (float): time from its headers to the end of the response.
        """
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if "problem" in scope:
            self._problems.labels(scope["problem"]).inc()

    def count_text(self, result: str) -> None:
        """Count a text or resource. result (str): "released" or the code of a problem."""
        self._texts.labels(result).inc()

    def watch(self, store: Store, supervisor: Supervisor, texts: TextProcessor) -> None:
        """Show the state of the queue and the workers in the metrics, as it is when they are read."""
        self.registry.register(_State(store, supervisor, texts))

    def export(self) -> bytes:
        """Return all metrics in the text format of Prometheus, version 0.0.4."""
        return generate_latest(self.registry)


class _State(Collector):
    """Reads the state of the service when the metrics are read."""

    def __init__(self, store: Store, supervisor: Supervisor, texts: TextProcessor) -> None:
        self.store, self.supervisor, self.texts = store, supervisor, texts
        self.began = time.time()

    def describe(self) -> Iterable[Metric]:
        """Return nothing: registering must not read the database."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        yield _gauge("info", "Version of the service", {(__version__,): 1}, "version")
        yield _gauge("start_time_seconds", "Unix time at which the service started", {(): self.began})
        yield _gauge("ready", "Whether texts are accepted without loading a pipeline", {(): self.texts.ready})
        running = sum(worker.alive for worker in self.supervisor.workers)
        yield _gauge("workers", "Workers for files that are running", {(): running})
        yield _gauge("texts_waiting", "Texts that wait for a worker or are processed", {(): self.texts.taken})
        yield _gauge("tasks", "Tasks of files in the queue", self.store.queue.count_tasks(), "task", "state")
        files = {(state,): count for state, count in self.store.count_files().items()}
        yield _gauge("files", "Files of all jobs, by state", files, "state")


def _gauge(name: str, about: str, values: Mapping[Any, float], *labels: str) -> Metric:
    """Make a gauge. values (Mapping): the values of its labels → value."""
    made = GaugeMetricFamily(f"spacy_deid_{name}", about, labels=labels)
    for given, value in values.items():
        made.add_metric(given, float(value))
    return made
