"""Products of sparse matrices beside SciPy's: a 100000 x 100000 matrix with a million entries, in float32.

    python benchmarks/sparse.py

Times are in milliseconds, each the least of several: on the clock, and of the processors. The three ways
take turns, so that the ratios, ours by SciPy's, come from one run. What is `compiled` gets the stored arrays
as arguments of `rb.jit`; `at once` is the operator @ outside of it.
"""

import time

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
import scipy.sparse
from rabbet.experimental import sparse

SIZE, ENTRIES, COLUMNS = 100_000, 1_000_000, (None, 2, 8, 16, 64)


def least(ways, repeats):
    """The least times of each call, (on the clock, of the processors), after one that compiles."""
    found = [[] for _ in ways]
    for run in ways:
        rb.block_until_ready(run())
    for _ in range(repeats):
        for run, times in zip(ways, found, strict=True):
            clock, processors = time.perf_counter(), time.process_time()
            rb.block_until_ready(run())
            times.append((time.perf_counter() - clock, time.process_time() - processors))
    return [[1e3 * min(each) for each in zip(*times, strict=True)] for times in found]


def main():
    rng = np.random.default_rng(0)
    theirs = scipy.sparse.random_array(
        (SIZE, SIZE), density=ENTRIES / SIZE**2, format="csr", dtype=np.float32, rng=rng
    )
    theirs.sort_indices()
    product = rb.jit(lambda x, v: x @ v)
    print("least time on the clock, its ratio to SciPy's / least time of the processors, its ratio")
    print(f"{'format':8}{'operand':12}{'SciPy':>15}{'at once':>27}{'compiled':>27}")
    for name, cls in (("COO", sparse.BCOO), ("CSR", sparse.BCSR)):
        other = theirs.asformat(name.lower())
        ours = cls.from_scipy_sparse(other)
        for columns in COLUMNS:
            v = rng.random(SIZE if columns is None else (SIZE, columns), dtype=np.float32)
            mine = rnp.asarray(v)
            np.testing.assert_allclose(ours @ mine, other @ v, rtol=1e-4)
            ways = [
                lambda other=other, v=v: other @ v,
                lambda ours=ours, mine=mine: ours @ mine,
                lambda ours=ours, mine=mine: product(ours, mine),
            ]
            scipys, *found = least(ways, 100 if columns is None else 30 if columns < 16 else 8)
            shown = [
                f"{t[0]:7.2f} {t[0] / scipys[0]:5.2f} /{t[1]:6.2f} {t[1] / scipys[1]:5.2f}" for t in found
            ]
            what = "vector" if columns is None else f"{columns} columns"
            print(f"{name:8}{what:12}{scipys[0]:7.2f} /{scipys[1]:6.2f}  {shown[0]}  {shown[1]}")


if __name__ == "__main__":
    main()
