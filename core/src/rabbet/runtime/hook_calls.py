"""Who is told of compiles and cache hits: nobody, until ``rabbet`` is composed with the hook plugins."""

notify = None
_listening = None


def set_notifier(function, listening):
    """Name the function ``notify(hook, **facts)`` that tells hook plugins, and one that says whether there
    are any. Called once, by composition.
    """
    global notify, _listening
    notify, _listening = function, listening


def listening():
    """Whether it is worth finding out what to tell."""
    return notify is not None and _listening()


def tell(hook, **facts):
    """Tell the hook plugins, if there are any."""
    if notify is not None:
        notify(hook, **facts)
