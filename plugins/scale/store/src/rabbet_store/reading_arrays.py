"""Arrays on disk read under any sharding, several at once, in a bounded amount of the host's memory."""

import asyncio
import collections
import contextlib
import math

import numpy as np
import rabbet as rb
import tensorstore as ts
from rabbet import dtypes
from rabbet.experimental.layout import Format
from rabbet.extend.sharding import Sharding

from rabbet_store.errors import CheckpointError


def given(**options):
    """Those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


class Reading:
    """An array on disk that is to lie as a sharding, a ``Format``, or a device says.

    Made, it is being opened. ``start`` begins to read the parts that this process needs, ``bytes`` of memory;
    ``finish`` waits for them. What is not there, or cannot be read, is a CheckpointError.
    """

    def __init__(self, place, spec, global_shape=None, dtype=None, **options):
        inner = getattr(place, "sharding", None)  # of a Format, or of what stands for an array
        self.format = place if isinstance(place, Format) and place.layout is not None else None
        self.place = inner if isinstance(inner, Sharding) else place
        self.spec, self.shape, self.dtype = spec, global_shape, dtype
        with self.errors():
            self.opened = ts.open(ts.Spec(spec), open=True, **given(**options))

    @contextlib.contextmanager
    def errors(self):
        try:
            yield
        except ValueError as error:
            raise CheckpointError(f"{self.where()}: {str(error).split(' [')[0]}") from None

    def where(self):
        """What an error says of the place on disk."""
        return self.spec.get("kvstore") if isinstance(self.spec, dict) else self.spec

    def open(self):
        """Wait until it is known what is there."""
        with self.errors():
            array = self.opened.result()
            if self.dtype is not None:
                array = ts.cast(array, ts.dtype(np.dtype(dtypes.canonicalize(self.dtype)).name))
            self.array, self.shape = array, tuple(array.shape if self.shape is None else self.shape)
            if len(self.shape) != array.ndim:
                raise CheckpointError(
                    f"{self.where()}: the array has the shape {array.shape}, and {self.shape} is asked for\n"
                    "  to fix: give global_shape as many dimensions as the array on disk has"
                )
            indices = [tuple([slice(0, n) for n in self.shape])]
            if isinstance(self.place, Sharding):
                indices = self.place.addressable_devices_indices_map(self.shape).values()
            self.spans = {self.span(index): None for index in indices}
        self.bytes = sum(map(self.bytes_of, self.spans))

    def bytes_of(self, span):
        """What a part takes of the host's memory."""
        return math.prod([b - a for a, b in span]) * self.array.dtype.numpy_dtype.itemsize

    def span(self, index):
        return tuple([s.indices(n)[:2] for s, n in zip(index, self.shape, strict=True)])

    def start(self, spans=None):
        with self.errors():
            for span in self.spans if spans is None else spans:
                sizes = zip(span, self.array.shape, strict=True)
                there = tuple([slice(a, max(a, min(b, n))) for (a, b), n in sizes])
                self.spans[span] = (self.array[there] if there else self.array).read()

    def part(self, index):
        """A part of the whole, with zeros for what is not on disk."""
        span = self.span(index)
        values = self.spans[span].result()
        widths = [(0, b - a - n) for (a, b), n in zip(span, values.shape, strict=True)]
        return np.pad(values, widths) if any(w for _, w in widths) else np.asarray(values)

    def finish(self):
        with self.errors():
            if not isinstance(self.place, Sharding):  # a device
                return rb.device_put(self.part(tuple([slice(0, n) for n in self.shape])), self.place)
            made = rb.make_array_from_callback(self.shape, self.place, self.part)
        return made if self.format is None else rb.device_put(made, self.format)

    def devices(self):
        """Which devices are to have a part, and its index, by span."""
        if not isinstance(self.place, Sharding):
            whole = tuple([slice(0, n) for n in self.shape])
            return {self.span(whole): (whole, [self.place])}
        found = {}
        for device, index in self.place.addressable_devices_indices_map(self.shape).items():
            found.setdefault(self.span(index), (index, []))[1].append(device)
        return found

    def placed(self, span, index, devices):
        """Read one part, and put it on its devices; the host's memory is free afterwards."""
        self.start([span])
        with self.errors():
            values = self.part(index)
            self.spans[span] = None
            parts = [rb.device_put(values, device) for device in devices]
        return rb.block_until_ready(parts)

    def assembled(self, parts):
        """The array, of what ``placed`` made."""
        if not isinstance(self.place, Sharding):
            return parts[0]
        made = rb.make_array_from_single_device_arrays(self.shape, self.place, parts)
        return made if self.format is None else rb.device_put(made, self.format)


async def read_within(reading, limiter):
    """One array, whose parts are read as a limiter of bytes lets them."""
    await asyncio.to_thread(reading.open)

    async def placed(span, index, devices):
        size = reading.bytes_of(span)
        await limiter.wait_for_bytes(size)
        try:
            return await asyncio.to_thread(reading.placed, span, index, devices)
        finally:
            await limiter.release_bytes(size)

    parts = await asyncio.gather(*[placed(span, *rest) for span, rest in reading.devices().items()])
    return await asyncio.to_thread(reading.assembled, [part for some in parts for part in some])


def read_all(readings, limit):
    """Arrays, of which as many are read at once as take ``limit`` bytes; a larger one is read alone."""
    made, begun, held = [], collections.deque(), 0
    for reading in readings:
        reading.open()
        while begun and held + reading.bytes > limit:
            held -= begun[0].bytes
            made.append(begun.popleft().finish())
        reading.start()
        begun.append(reading)
        held += reading.bytes
    return [*made, *[reading.finish() for reading in begun]]


def read(place, spec, global_shape=None, dtype=None, **options):
    """One array."""
    (made,) = read_all([Reading(place, spec, global_shape, dtype, **options)], math.inf)
    return made
