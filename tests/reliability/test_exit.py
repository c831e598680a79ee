"""The end of the interpreter, in a child process: what is held until then goes without a word."""

import pytest

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "grad", "vmap", "pure_callback", "export", "shard_map")


def test_what_goes_after_the_modules_goes_without_a_word(child):
    """Modules are taken down one after another, and what functions of theirs know by name is None then. What
    runs that late must do without: finalizers, callbacks of weak references, and comparisons of keys.
    """
    assert "done" in child(
        """
        import gc, sys, types
        from rabbet import export, sharding
        from rabbet.extend.primitive import ShapedArray
        from rabbet.program import avals
        from rabbet.runtime.jaxlib import dlpack

        def things():
            x = rnp.arange(6.0)
            for _ in range(4):  # equal names, so equal hashes, in scopes of their own
                yield ShapedArray((*export.symbolic_shape("b"), 3), "float32")
            (b,) = export.symbolic_shape("b")
            yield export.export(rb.jit(lambda x: rnp.sin(x).sum(0)))(rb.ShapeDtypeStruct((b, 3), "float32"))
            yield dlpack.consume(np.arange(3.0).__dlpack__())
            yield rnp.from_dlpack(x.astype("bfloat16"))
            yield np.from_dlpack(x)
            mesh = rb.make_mesh((1,), ("a",))
            yield rb.device_put(x, sharding.NamedSharding(mesh, sharding.PartitionSpec("a")))
            yield rb.pure_callback(lambda y: np.sin(y), x, x)
            for f in (
                rb.jit(lambda x: rb.pure_callback(lambda y: np.sin(y), x, x)),
                rb.jit(rb.grad(lambda x: (x**2).sum())),
                rb.vmap(rb.checkpoint(lambda x: x * 2)),
                rb.jit(lambda x: lax.scan(lambda c, a: (c + a, a), 0.0, x)),
            ):
                yield f, f(x)

        last = sys.modules["last"] = types.ModuleType("last")
        held = list(things())
        for name in [name for name in sys.modules if name.startswith("rabbet")]:
            sys.modules[name] = sys.modules.pop(name)  # modules go from the last to the first
        sys.held = list(sys.modules.values())  # a module that nobody has is not taken down
        last._held, last.alive = held, avals._alive
        del held
        gc.collect()
        print("done")
        """,
        quiet=True,
    )


def test_the_first_array_may_be_made_when_the_interpreter_exits(child):
    """No thread can be started any more then; what Rabbet does on threads of its own it does without them."""
    assert child(
        """
        import atexit

        def late():
            print(rb.jit(lambda x: x * 2)(rnp.ones(2)), rb.grad(lambda x: x**2)(3.0))
            print(lax.while_loop(lambda c: c < 5, lambda c: c * 2, 1.0))
            print(rb.pure_callback(lambda a: a + 1, rb.ShapeDtypeStruct((), "float32"), 1.0))

        atexit.register(late)
        """,
        quiet=True,
    ).split() == ["[2.", "2.]", "6.0", "8.0", "2.0"]


def test_arrays_that_a_thread_drops_while_the_interpreter_ends(child):
    """They die in jaxlib, which gives Python's lock away meanwhile; no function of Rabbet's is seen there.
    Nothing is waited for here, so that it need not be much that the thread drops.
    """
    assert "made" in child(
        """
        import threading
        from rabbet.runtime.jaxlib import interpreter_exit

        interpreter_exit.QUIET_SECONDS = 0.0
        f = rb.jit(lambda x: x + 1)
        x = rnp.ones(2)
        held = [f(x) for _ in range(20_000)]
        threading.Thread(target=held.clear, daemon=True).start()
        print("made")
        """
    )


def test_threads_that_are_told_to_go_while_garbage_is_collected(child):
    """Python drops what is raised in the collector's callbacks, and writes that to stderr: there are none."""
    child(
        """
        import gc, threading, time

        rnp.ones(2)

        def collect():
            while True:
                gc.collect(0)

        for _ in range(2):
            threading.Thread(target=collect, daemon=True).start()
        time.sleep(0.1)
        """,
        quiet=True,
    )
