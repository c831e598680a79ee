"""The numbers as instruments of OpenTelemetry's own library, which its exporters send by OTLP."""

from __future__ import annotations

from typing import Any

from rabbet_metrics.counters import METRICS, snapshot


def to_opentelemetry(meter: Any) -> list[Any]:
    """Make an observable instrument of each metric.

    Args:
      meter: a ``Meter``, ``opentelemetry.metrics.get_meter("my-program")``.

    Returns:
      the instruments, in the order of the metrics.

    Raises:
      ModuleNotFoundError: OpenTelemetry is not installed; ``pip install "rabbet-metrics[otlp]"``.

    Example:
      >>> import importlib.util
      >>> if importlib.util.find_spec("opentelemetry") is not None:
      ...     from opentelemetry import metrics
      ...     instruments = rb.metrics.to_opentelemetry(metrics.get_meter("mine"))
    """
    from opentelemetry.metrics import Observation

    def observe(name: str) -> Any:
        def callback(options: Any) -> list[Any]:
            return [Observation(v, dict(labels)) for (own, labels), v in snapshot().items() if own == name]

        return callback

    made = []
    for name, (kind, sentence) in METRICS.items():
        make = meter.create_observable_counter if kind == "counter" else meter.create_observable_gauge
        unit = "s" if "seconds" in name else "By" if "bytes" in name else "1"
        made.append(
            make(name.removesuffix("_total"), callbacks=[observe(name)], unit=unit, description=sentence)
        )
    return made


__all__ = ["to_opentelemetry"]
