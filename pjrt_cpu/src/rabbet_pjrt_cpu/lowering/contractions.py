"""Products on the CPU, in a form for which there are fast kernels.

**Products that sum over several dimensions**, as gradients of weights do, over batch and time: as one that
sums over one dimension, where these lie side by side and no compiler cuts the program up over devices.

**Batches of products that sum over an inner dimension of their first operand**, as gradients of attention do.
XLA has fast kernels where the first operand is summed over its last dimension, and calls a slower library
once for each product elsewhere. So the operands change places, where the second one is summed over its last
dimension, or one of them is transposed before. A barrier keeps XLA from taking the transposition back.

Measured on a Zen 5, 2 threads, float32, as a share of the time of the plain product; ``k`` is summed over:

| batch, k, m, n | form | jaxlib 0.12 | 0.10 |
|---|---|---|---|
| 128, 6, 6, 16 | bkm,bkn->bmn | 0.33 | 0.24 |
| 64, 128, 128, 32 | bkm,bkn->bmn | 0.52 | 0.57 |
| 16, 512, 512, 64 | bkm,bkn->bmn | 0.55 | 0.52 |
| 2, 512, 64, 512 | bkm,bkn->bmn | 0.66 | 0.93 |
| 128, 6, 6, 16 | bkm,bnk->bmn | 0.38 | 0.58 |
| 64, 128, 128, 32 | bkm,bnk->bmn | 0.25 | 0.81 |
| 16, 512, 512, 64 | bkm,bnk->bmn | 0.46 | 0.48 |

float64 takes 0.36 to 0.97 of the time, bfloat16 0.2 to 1.05. Where outputs are small and sums long it does
not pay (1.14 at 4, 1024, 32, 32), nor where arrays that caches do not hold are moved (1.22 at 100, 100, 100,
100, and 1.45 at 64, 128, 128, 128, with an array's temporary memory), so what each way takes is estimated
first. Where the compiler cuts the program up over devices nothing is known of what each of them multiplies.

**Products in programs that are cut up over devices**, in the order of operands that needs less temporary
memory: see ``exchanged``. Training steps of a decoder over eight devices took 1.13 of JAX's memory with the
tensors cut and 1.12 with the sequence cut, and take 1.01 and 1.05; they send the same bytes.

**bfloat16 with jaxlib 0.10**, whose fast kernels give float32: asked for so, and then rounded. Measured: 0.5
of the time at 1024 x 1024, 0.8 at 256 x 256. Later jaxlibs have kernels that give bfloat16.
"""

from math import prod

from rabbet import lax
from rabbet.extend import primitive
from rabbet.extend.native import compiler_has
from rabbet.extend.transform import lower

WIDE_KERNELS = not compiler_has("bfloat16 products")
TURNED = frozenset(["bfloat16", "float32", "float64"])

# What an estimate is made of, in nanoseconds: one call of the slow library, a multiplication with it and with
# a fast kernel, an element that is moved within caches and of a larger array, what more operations in a
# program cost. It must promise a sixth.
CALL, SLOW, FAST, NEAR, FAR, MORE, WORTH = 500, 1 / 55, 1 / 80, 0.2, 0.8, 3000, 0.85
CACHED = 2**21  # bytes


def dot_general(op, x, y):
    """The rule for ``dot_general`` on the CPU."""
    for parts in (merged(op), exchanged(op), rounded_after(op), turned(op)):
        if parts is not None:
            (name,) = op.write(parts, op.in_avals, [x, y])
            return name
    return lower.lookup(primitive.dot_general)(op, x, y)


def merged(op):
    """Summed-over dimensions that lie side by side in both operands as one, or None where there are none.

    A weight's gradient, summed over batch and time, is then a plain matrix product. Where the compiler cuts
    the program up over devices, a reshape would cost collective operations.
    """
    (sums, sums_y), (batch, batch_y) = op.params["dimension_numbers"]
    if len(sums) < 2 or op.is_cut_up or not consecutive(sums) or not consecutive(sums_y):
        return None
    x, y = op.in_avals
    if not all(type(n) is int for n in x.shape + y.shape):
        return None
    count = len(sums) - 1

    def flat(x, first):
        behind = first + count + 1
        return lax.reshape(x, (*x.shape[:first], prod(x.shape[first:behind]), *x.shape[behind:]))

    def moved(batch, first):
        return tuple([i if i < first else i - count for i in batch])

    def parts(x, y):
        of_x, of_y = moved(batch, sums[0]), moved(batch_y, sums_y[0])
        return [product(op, flat(x, sums[0]), flat(y, sums_y[0]), of_x, sums[:1], of_y, sums_y[:1])]

    return parts


def exchanged(op):
    """A product whose operands change places, since the copies that XLA makes then live shorter or serve
    twice; None for another one, or where no compiler cuts the program up.

    XLA sums over the last dimension of a first operand, and copies one that is summed over others.

    **Sums over several leading dimensions**, as in the gradient of a weight: the first operand is the input
    of the layer, whose copy is made as soon as the input is there, and kept until the cotangent comes. A copy
    of the cotangent is needed at once. Where one device computes, ``merged`` leaves one dimension to sum
    over, and XLA copies neither.

    **Batches whose second operand has other dimensions between those of the batch**, as the values of
    attention have: that one is copied anyway. The copy of a first operand has the dimension that is summed
    over last, and so has the copy that the backward pass needs of it: they are one.
    """
    (sums, sums_y), (batch, batch_y) = op.params["dimension_numbers"]
    if not op.is_cut_up or op.params.get("out_sharding") is not None:
        return None
    x, y = op.in_avals
    if not batch:
        several = leading(sums)
        if len(sums) < 2 or y.ndim == len(sums) or tuple(sums) != several or tuple(sums_y) != several:
            return None
    elif (
        tuple(batch) != leading(batch)
        or tuple(sums) != (x.ndim - 1,)
        or len(sums_y) != 1
        or tuple(batch_y) == leading(batch)
        or y.ndim - 1 in (*batch_y, *sums_y)
    ):
        return None
    precision = op.params.get("precision")
    params = {**op.params, "precision": precision[::-1] if type(precision) is tuple else precision}
    count = len(batch)
    behind = y.ndim - len(sums)  # where in the product the dimensions of x stand

    def parts(x, y):
        summed = sums_y
        if not batch:
            y = lax.transpose(y, [*range(len(sums), y.ndim), *sums])
            summed = range(behind, y.ndim)
        out = lax.dot_general(
            y, x, **{**params, "dimension_numbers": ((tuple(summed), sums), (batch_y, batch))}
        )
        return [lax.transpose(out, [*range(count), *range(behind, out.ndim), *range(count, behind)])]

    return parts


def consecutive(dims):
    """Whether dimensions follow each other in order."""
    return tuple(dims) == tuple(range(dims[0], dims[0] + len(dims)))


def rounded_after(op):
    """A product of bfloat16 by way of float32, or None where that is no gain."""
    out = op.out
    # Names of dtypes are slow, and few programs have such products.
    if (
        not WIDE_KERNELS
        or out.dtype.itemsize != 2
        or {aval.dtype.name for aval in (*op.in_avals, out)} != {"bfloat16"}
    ):
        return None
    params = {**op.params, "preferred_element_type": "float32"}

    def parts(x, y):
        return [lax.convert_element_type(lax.dot_general(x, y, **params), out.dtype)]

    return parts


def turned(op):
    """A batch of products with its first operand summed over the last dimension, or None where it is so
    already or where that is no gain.
    """
    (sums, sums_y), (batch, batch_y) = op.params["dimension_numbers"]
    if not batch or len(sums) != 1 or op.is_cut_up:
        return None
    x, y = op.in_avals
    last, last_y = sums[0] == x.ndim - 1, sums_y[0] == y.ndim - 1
    sizes = x.shape + y.shape
    if last or op.params.get("out_sharding") is not None or not all(type(n) is int for n in sizes):
        return None
    if {x.dtype.name, y.dtype.name, op.out.dtype.name} - TURNED:
        return None
    products = prod([x.shape[i] for i in batch])
    if not products * x.size * y.size:
        return None
    work = op.out.size * x.shape[sums[0]]
    swapping = op.out.size + (0 if last_y else y.size)
    moved = swapping if last_y else min(x.size, swapping)
    swaps = moved == swapping
    largest = max(op.out.size, 0 if last_y else y.size) if swaps else x.size
    each = NEAR if largest * x.dtype.itemsize <= CACHED else FAR
    if FAST * work + each * moved + MORE > WORTH * (CALL * products + SLOW * work):
        return None

    def parts(x, y):
        if not swaps:
            return [product(op, sums_last(x, batch, sums), y, leading(batch), (x.ndim - 1,), batch_y, sums_y)]
        if last_y:
            out = product(op, y, x, batch_y, sums_y, batch, sums)
        else:
            y = sums_last(y, batch_y, sums_y)
            out = product(op, y, x, leading(batch_y), (y.ndim - 1,), batch, sums)
        free_y, count = y.ndim - 1 - len(batch), len(batch)
        order = [*range(count), *range(count + free_y, out.ndim), *range(count, count + free_y)]
        return [lax.transpose(lax.optimization_barrier(out), order)]

    return parts


def leading(dimensions):
    """As many leading dimensions as these are."""
    return tuple(range(len(dimensions)))


def sums_last(x, batch, sums):
    """``x`` with its batch dimensions first and the one to sum over last."""
    free = [i for i in range(x.ndim) if i not in batch and i not in sums]
    return lax.optimization_barrier(lax.transpose(x, [*batch, *free, *sums]))


def product(op, x, y, batch, sums, batch_y, sums_y):
    """The product of the operation ``op`` with other dimensions."""
    params = {**op.params, "dimension_numbers": ((sums, sums_y), (batch, batch_y))}
    return lax.dot_general(x, y, **params)
