"""What the report runs: each program's command under each framework, and the figures with their budgets.

A budget is `{framework: limit}`: the ratio of rabbet's figure to that framework's may be `limit` at most. A
figure with an empty budget is measured and reported, no more.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Program:
    """One program: `title` in the table, `commands` by framework, `budgets` by figure, in the table's order.

    `warm`: measured in a second process whose persistent cache the first one filled. `once`: frameworks that
    run in the first round only (they are there for orientation). `growth`: its figures are `WHAT@N`, shown as
    a table and a curve of their own.
    """

    title: str
    commands: dict
    budgets: dict = field(default_factory=dict)
    warm: bool = False
    once: tuple = ("torch_compile", "numpy")
    growth: bool = False


def same(file, *rest, frameworks=("rabbet", "jax")):
    """Commands of a program that takes the framework's name as its first argument."""
    return {name: (file, name, *rest) for name in frameworks}


def transformer(layers):
    """gpt_step.py under rabbet and jax, and its twin under torch."""
    twins = ("torch", "torch_compile") if layers < 12 else ("torch",)
    layers = str(layers)
    return same("gpt_step.py", layers) | same("gpt_step_torch.py", layers, frameworks=twins)


def stepping(file, *others, torch=None):
    """A program of harness.py's kind: at most a twentieth slower than jax; `torch`: the limit to torch."""
    limits = {"jax": 1.05} | ({"torch": torch} if torch else {})
    figures = {"trace_lower_s": {}, "compile_s": {}, "step_ms_min": limits}
    return Program(file, same(file, frameworks=("rabbet", "jax", "torch", *others)), figures)


def each(*names):
    """The budget of a compiled function alone, for each of `names`."""
    return {f"{name}_ms": {"jax": 1.05} for name in names}


TRANSFORMER = {
    "import_s": {"jax": 0.35},
    "trace_s": {"jax": 0.15},
    "lower_s": {"jax": 0.15},
    "trace_lower_s": {"jax": 0.25},
    "compile_s": {"jax": 0.3},
    "step_ms_min": {"jax": 0.48, "torch": 0.95},
}
SMALL = {
    "jit_2_args": {"jax": 1.1},
    "jit_150_leaf_tree": {"jax": 0.8},
    "eager_add": {"jax": 0.9},
    "eager_add_scalar": {},
    "eager_tanh": {"jax": 0.9},
    "eager_mean": {"jax": 0.9},
    "eager_index": {"jax": 0.4},
    "device_put_numpy": {"jax": 0.4},
    "to_numpy": {},
    "grad_eager_small": {"jax": 0.2},
    "tree_map_150": {},
    "trace_3000_ops_s": {"jax": 0.15},
    "trace_lower_3000_ops_s": {"jax": 0.15},
    "trace_grad_3000_ops_s": {"jax": 0.15},
    "trace_vmap_grad_3000_ops_s": {"jax": 0.15},
}
KERNELS = each("jacobi_2d", "go_fast", "softmax", "azimint", "conv2d_bias", "cavity", "state")
KERNELS["conv2d_bias_ms"] |= {"torch": 1.0}
OPERATIONS = each(
    *"lstm_scan_100 lstm_scan_100_grad cholesky_64x64x64 cholesky_512 solve_64x64x64 lu_64x64x64".split(),
    *"qr_64x64x64 svd_64x64x64 eigh_64x64x64 conv_forward conv_backward max_pool_backward".split(),
    *"sort_1e6 cumsum_1e6 cumsum_rows gather_rows scatter_add_rows fft_64x16384 rfft_64x16384".split(),
)
COMPILING = {"compile_all_s": {}}
# Beside jax's interpreter, in processor time; what a kernel costs beside the plain program has no limit here.
INTERPRETED = {"matmul": 0.77, "softmax": 0.025, "layer_norm": 0.025, "flash": 0.77, "splash": 1.0}
PALLAS = {f"{name}_ms": {"jax": limit} for name, limit in INTERPRETED.items()} | {
    f"{name}_to_plain": {} for name in ("matmul_rows", *INTERPRETED)
}
ALL = ("rabbet", "jax", "torch", "numpy")


def growth(study, frameworks=("rabbet", "jax")):
    return Program(
        f"growth.py {study}", same("growth.py", study, frameworks=frameworks), once=frameworks, growth=True
    )


DEVICES = {
    "dispatch": {
        "jit_2_us": {"jax": 1.1}, "jit_8_us": {"jax": 1.1}, "pmap_2_us": {"jax": 0.8},
        "pmap_8_us": {"jax": 0.8}, "jit_8_150_leaves_us": {},
    },
    "put": {"put_64mb_rows_ms": {"jax": 1.0}, "put_64mb_columns_ms": {}, "put_small_us": {}},
    "step": {"trace_lower_s": {"jax": 0.2}, "compile_s": {"jax": 0.5}, "step_ms": {"jax": 0.7}},
    "scaling": {f"devices_{count}_ms": {} for count in (1, 2, 4, 8)},
    "processes": {"sum_1mb_ms": {}, "sum_100mb_ms": {}},
}  # fmt: skip


def over_devices(part):
    """A part of parallel.py."""
    return Program(f"parallel.py {part}", same("parallel.py", "12", part), DEVICES[part])


SUITE = (
    Program("gpt_step.py 12", transformer(12), TRANSFORMER),
    Program(
        "gpt_step.py 12, warm", same("gpt_step.py", "12", "3"), {"first_step_s": {"jax": 0.3}}, warm=True
    ),
    Program("gpt_step.py 4", transformer(4), {"compile_s": {}, "step_ms_min": {"jax": 1.05}}),
    stepping("mlp.py", "torch_compile", "numpy"),
    stepping("convnet.py", torch=0.9),
    stepping("lstm.py", torch=1.1),
    stepping("shallow_water.py", "torch_compile", "numpy"),
    stepping("nbody.py", "torch_compile", "numpy"),
    Program("kernels.py", same("kernels.py", frameworks=ALL), KERNELS | COMPILING),
    Program("operations.py", same("operations.py"), OPERATIONS | COMPILING),
    Program("pallas.py", same("pallas.py"), PALLAS),
    Program("micro.py", same("micro.py"), SMALL),
    *[over_devices(part) for part in DEVICES],
    growth("ops"),
    growth("layers"),
    growth("sizes", ALL),
)
