"""``jax.monitoring``: events that a program records go to the listeners that it registered. Rabbet's own come
by its hooks (``rabbet.extend.hooks``).
"""

_listeners: dict[str, list] = {"event": [], "duration": [], "scalar": [], "span": []}


def _tell(kind, *args, **kwargs):
    for listener in list(_listeners[kind]):
        listener(*args, **kwargs)


def record_event(event, **kwargs):
    """An event happened."""
    _tell("event", event, **kwargs)


def record_event_duration_secs(event, duration, **kwargs):
    """How long something took, in seconds."""
    _tell("duration", event, duration, **kwargs)


def record_event_time_span(event, start_time, end_time, **kwargs):
    """When something began and ended."""
    _tell("span", event, start_time, end_time, **kwargs)


def record_scalar(event, value, **kwargs):
    """A number."""
    _tell("scalar", event, value, **kwargs)


def register_event_listener(callback):
    """Call ``callback(event, **kwargs)`` for each event."""
    _listeners["event"].append(callback)


def register_event_duration_secs_listener(callback):
    """Call ``callback(event, duration, **kwargs)`` for each duration."""
    _listeners["duration"].append(callback)


def register_event_time_span_listener(callback):
    """Call ``callback(event, start_time, end_time, **kwargs)`` for each span."""
    _listeners["span"].append(callback)


def register_scalar_listener(callback):
    """Call ``callback(event, value, **kwargs)`` for each number."""
    _listeners["scalar"].append(callback)


def unregister_event_listener(callback):
    """Undo ``register_event_listener``."""
    _listeners["event"].remove(callback)


def unregister_event_duration_listener(callback):
    """Undo ``register_event_duration_secs_listener``."""
    _listeners["duration"].remove(callback)


def unregister_event_time_span_listener(callback):
    """Undo ``register_event_time_span_listener``."""
    _listeners["span"].remove(callback)


def unregister_scalar_listener(callback):
    """Undo ``register_scalar_listener``."""
    _listeners["scalar"].remove(callback)


def clear_event_listeners():
    """Forget all listeners."""
    for listeners in _listeners.values():
        listeners.clear()
