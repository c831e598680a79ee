"""How a function is run on something other than arrays: interpreters, staging, bodies, axes."""
