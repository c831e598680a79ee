"""Rabbet beside ``asyncio``: what blocks is waited for in threads, and the event loop goes on."""

import asyncio
import threading
import time
import warnings

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "pure_callback")

X = np.float32(2)


@rb.jit
def slowly(n):
    return lax.fori_loop(0, n, lambda i, x: lax.sin(x) + 1.0, X)


def test_an_array_is_waited_for_in_a_thread_while_the_loop_goes_on():
    async def main():
        turns = 0
        waiting = asyncio.create_task(asyncio.to_thread(lambda: slowly(3_000_000).block_until_ready()))
        while not waiting.done():
            turns += 1
            await asyncio.sleep(0.001)
        return turns, float(waiting.result())

    turns, found = asyncio.run(main())
    assert turns > 1 and np.isfinite(found)


def test_a_cancelled_task_leaves_all_else_as_it_was():
    async def main():
        task = asyncio.create_task(asyncio.to_thread(lambda: slowly(3_000_000).block_until_ready()))
        await asyncio.sleep(0)
        task.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 5
        return float(slowly(3))

    wanted = float(slowly(3))
    assert asyncio.run(main()) == wanted == float(slowly(3))


def test_event_loops_in_several_threads():
    async def main(i):
        values = await asyncio.gather(*[asyncio.to_thread(lambda j=j: float(slowly(j))) for j in range(4)])
        return values, float(rb.grad(lambda x: x * x)(float(i)))

    found = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: asyncio.run(main(i))})) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = [float(slowly(j)) for j in range(4)]
    assert found == {i: (values, 2.0 * i) for i in range(4)}


def test_a_callback_waits_for_the_loop():
    async def main():
        loop = asyncio.get_running_loop()

        def ask(x):
            return np.float32(asyncio.run_coroutine_threadsafe(answer(x), loop).result(60))

        async def answer(x):
            await asyncio.sleep(0)
            return x + 1

        asked = rb.jit(lambda x: rb.pure_callback(ask, rb.ShapeDtypeStruct((), "float32"), x))
        return await asyncio.to_thread(lambda: float(asked(X)))

    assert asyncio.run(main()) == 3.0


@pytest.mark.parametrize("transformation", [rb.jit, rb.vmap, rb.grad, lambda f: rb.jit(rb.checkpoint(f))])
def test_async_functions_are_refused_by_name(transformation):
    async def wait(x):
        return x * 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=r"wait.*coroutine.*the function is async"):
            transformation(wait)(np.ones(2, "float32") if transformation is rb.vmap else X)


def test_blocks_of_settings_end_in_any_order():
    async def within(i):
        with rb.enable_x64(bool(i % 2)):
            await asyncio.sleep(0.002 * (1 + i))

    async def main():
        await asyncio.gather(*[within(i) for i in range(4)])

    before = rb.config.enable_x64
    asyncio.run(main())
    assert rb.config.enable_x64 == before
