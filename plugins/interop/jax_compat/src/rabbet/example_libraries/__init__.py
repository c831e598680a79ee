"""Two small libraries that older programs start from, imported by name: ``stax`` (layers) and ``optimizers``.

Example:
  >>> from rabbet.example_libraries import optimizers
  >>> init, update, params_of = optimizers.sgd(0.5)
  >>> float(params_of(update(0, 1.0, init(2.0))))
  1.5
"""
