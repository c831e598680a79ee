"""Metrics of a process: what was traced, compiled and moved, as Prometheus text or by OpenTelemetry."""

from __future__ import annotations

from rabbet_metrics.counters import prometheus, reset, snapshot
from rabbet_metrics.telemetry import to_opentelemetry

from rabbet.extend.functions import public_module

__all__ = ["prometheus", "reset", "snapshot", "to_opentelemetry"]
public_module(globals())
