"""A process whose coordinator is killed; jaxlib ends it."""

import time

import rabbet as rb
from rabbet_distributed import api

rb.distributed.initialize()
print("printed before", end="")  # it stands in the buffer still
api._coordinator.process.kill()
time.sleep(3600)
print("it went on")
