"""What a plan means for training: use of the hardware, tokens per second, price, and what failures cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rabbet_plan.given import SMALL, number

HOUR = 3600.0


@dataclass(frozen=True)
class Training:
    """Figures of a training run, from a step's time and what the user says of the model.

    Attributes:
      seconds: of a step, with the pipeline's bubbles.
      tokens_per_second: of all devices.
      model_flops: 6 N D, the operations that a step of N parameters on D tokens takes without attention.
      mfu: their share of what the devices could do at their peak in that time.
      again: operations in products of the compiled program for each one of 6 N D: above 1 for attention and
        what is computed again or by several devices alike. None where the plan has no products.
      bubbles: the share of a step in which a stage of a pipeline waits.
      interval: the best time between two checkpoints; None without a rate of failures.
      goodput: the share of the time that is not lost to checkpoints, failures and restarts; 1 without them.
      price: of 1e9 tokens, None without a price.

    Example:
      >>> from rabbet_plan.training import training_of
      >>> found = training_of(1.0, devices=8, peak=1e12, parameters=1e9, tokens=500)
      >>> found.tokens_per_second, found.mfu
      (500.0, 0.375)
    """

    seconds: float
    tokens_per_second: float
    model_flops: float
    mfu: float
    again: float | None
    bubbles: float
    interval: float | None
    goodput: float
    price: float | None


def bubbles_of(stages: int, microbatches: int, rounds: int = 1) -> float:
    """The share of a step in which a stage of a pipeline waits: ``(p - 1) / (m v + p - 1)`` for ``p`` stages,
    ``m`` microbatches and ``v`` ``rounds`` of each stage (Narayanan and others 2021, "Efficient large-scale
    language model training on GPU clusters using Megatron-LM").

    Example:
      >>> from rabbet import planning
      >>> planning.bubbles_of(4, 12)
      0.2
    """
    for name, value in (("stages", stages), ("microbatches", microbatches), ("rounds", rounds)):
        number("bubbles_of", name, value, 1)
    return (stages - 1) / (microbatches * rounds + stages - 1)


def goodput_of(checkpoint: float, between_failures: float, restart: float = 0.0) -> tuple[float, float]:
    """The best time between checkpoints and the share of time that is then not lost.

    Args:
      checkpoint: seconds for which one stops the training.
      between_failures: mean seconds between two failures of any device.
      restart: seconds from a failure to the first new step.

    The interval is Young's (1974), ``sqrt(2 c M)``; lost are a checkpoint in each interval, half an interval
    and a restart in each failure.

    Example:
      >>> from rabbet import planning
      >>> interval, share = planning.goodput_of(checkpoint=2.0, between_failures=10_000.0)
      >>> interval, round(share, 3)
      (200.0, 0.98)
    """
    for name, value in (("checkpoint", checkpoint), ("restart", restart)):
        number("goodput_of", name, value)
    number("goodput_of", "between_failures", between_failures, SMALL)
    interval = math.sqrt(2 * checkpoint * between_failures)
    lost = (interval / 2 + restart) / between_failures
    if interval:
        lost += checkpoint / (interval + checkpoint)
    return interval, max(0.0, 1.0 - lost)


def training_of(
    seconds: float,
    *,
    devices: int,
    peak: float,
    parameters: float,
    tokens: float,
    products: float | None = None,
    stages: int = 1,
    microbatches: int = 1,
    between_failures: float | None = None,
    checkpoint: float = 0.0,
    restart: float = 0.0,
    price: float | None = None,
) -> Training:
    """``Training`` from a step's time.

    Args:
      seconds: of a step, without bubbles.
      devices: how many.
      peak: operations per second of one of them in products.
      parameters: of the model; of one with experts those that a token meets.
      tokens: in a step.
      products: operations in products of one device in a step.
      stages, microbatches: of a pipeline.
      between_failures, checkpoint, restart: as ``goodput_of`` takes them.
      price: of a device for an hour.

    Example:
      >>> from rabbet import planning
      >>> planning.training_of(1.0, devices=8, peak=1e14, parameters=1e9, tokens=1e5).mfu
      0.75
    """
    given = {"parameters": parameters, "tokens": tokens, "seconds": seconds, "peak": peak}
    for name, value in given.items():
        number("training", name, value, SMALL)
    number("training", "devices", devices, 1)
    for name, figure in (("price", price), ("products", products)):
        if figure is not None:
            number("training", name, figure)
    bubbles = bubbles_of(stages, microbatches)
    whole = seconds / (1 - bubbles)
    model = 6.0 * parameters * tokens
    interval, goodput = None, 1.0
    if between_failures is not None:
        interval, goodput = goodput_of(checkpoint, between_failures, restart)
    speed = tokens / whole
    cost = None
    if price is not None and goodput:
        cost = price * devices / HOUR / (speed * goodput) * 1e9
    return Training(
        whole, speed, model, model / (whole * devices * peak),
        None if not products else products * devices / model, bubbles, interval, goodput, cost,
    )  # fmt: skip


__all__ = ["Training", "bubbles_of", "goodput_of", "training_of"]
