"""Products of sparse matrices beside SciPy's: a 100000 x 100000 matrix with a million entries, in float32.

    python benchmarks/sparse.py

Each time is the least of several, in milliseconds; the ratio is ours by SciPy's, both from this run. What is
`compiled` gets the stored arrays as arguments of `rb.jit`; `at once` is the operator @ outside of it.
"""

import time

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
import scipy.sparse
from rabbet.experimental import sparse

SIZE, ENTRIES, COLUMNS = 100_000, 1_000_000, 64


def least(run, repeats=15):
    """The least time of a call in milliseconds, after one that compiles."""
    rb.block_until_ready(run())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        rb.block_until_ready(run())
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main():
    rng = np.random.default_rng(0)
    theirs = scipy.sparse.random_array(
        (SIZE, SIZE), density=ENTRIES / SIZE**2, format="csr", dtype=np.float32, rng=rng
    )
    theirs.sort_indices()
    operands = {
        "vector": rng.random(SIZE, dtype=np.float32),
        f"{COLUMNS} columns": rng.random((SIZE, COLUMNS), dtype=np.float32),
    }
    product = rb.jit(lambda x, v: x @ v)
    print(f"{'format':8}{'operand':14}{'SciPy':>10}{'at once':>10}{'ratio':>7}{'compiled':>10}{'ratio':>7}")
    for name, cls in (("COO", sparse.BCOO), ("CSR", sparse.BCSR)):
        other = theirs.asformat(name.lower())
        ours = cls.from_scipy_sparse(other)
        for what, v in operands.items():
            mine = rnp.asarray(v)
            np.testing.assert_allclose(ours @ mine, other @ v, rtol=1e-4)
            scipys = least(lambda other=other, v=v: other @ v)
            eager = least(lambda ours=ours, mine=mine: ours @ mine)
            compiled = least(lambda ours=ours, mine=mine: product(ours, mine))
            print(
                f"{name:8}{what:14}{scipys:10.2f}{eager:10.2f}{eager / scipys:7.2f}"
                f"{compiled:10.2f}{compiled / scipys:7.2f}"
            )


if __name__ == "__main__":
    main()
