"""Who is told of compiles and cache hits: nobody, until ``rabbet`` is composed with the hook plugins."""

notify = None


def set_notifier(function):
    """Name the function ``notify(hook, **facts)`` that tells hook plugins. Called once, by composition."""
    global notify
    notify = function


def tell(hook, **facts):
    """Tell the hook plugins, if there are any."""
    if notify is not None:
        notify(hook, **facts)
