"""``jax._src.distributed``, which Orbax asks whether there are other processes to agree with."""

import rabbet as rb


class _State:
    """What is known of this process among the others."""

    @property
    def client(self):
        """None: there is no client of JAX's; what is written for one process asks for that."""

    @property
    def process_id(self):
        """The number of this process."""
        return rb.process_index()

    @property
    def num_processes(self):
        """How many there are."""
        return rb.process_count()


global_state = _State()
