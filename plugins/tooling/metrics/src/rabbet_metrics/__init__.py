"""Metrics of a process: what was traced, compiled and moved."""

from rabbet_metrics.counts import prometheus, reset, snapshot
from rabbet_metrics.telemetry import to_opentelemetry

__all__ = ["prometheus", "reset", "snapshot", "to_opentelemetry"]
