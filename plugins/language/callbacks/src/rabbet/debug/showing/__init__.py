"""``rabbet.debug.show``: a program at each stage on its way to the device, as a page."""
