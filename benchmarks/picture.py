"""The picture of docs/benchmarks.svg: ratios of step times, and how cost grows. Needs matplotlib."""

COLORS = {
    "rabbet": "#c2452d",
    "jax": "#3b6fb6",
    "torch": "#e8a33d",
    "numpy": "#6b7280",
    "torch_compile": "#7a4ea3",
}
TICKS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10)


def bars(axes, rows):
    """Times of compiled steps over jax's and torch's, a bar each, on a logarithmic axis with 1 marked."""
    rows = [
        r
        for r in rows
        if r.figure == "step_ms_min" or (r.program == "kernels.py" and r.figure.endswith("_ms"))
    ]
    labels = [r.program if r.figure == "step_ms_min" else r.figure.removesuffix("_ms") for r in rows]
    for shift, other in ((-0.2, "jax"), (0.2, "torch")):
        places = [(i + shift, r.ratios[other]) for i, r in enumerate(rows) if other in r.ratios]
        if places:
            at, ratios = zip(*places)
            axes.barh(
                at, [x - 1 for x in ratios], 0.38, left=1, color=COLORS[other], label=f"rabbet / {other}"
            )
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [t for t in TICKS if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(rows)), labels)
    axes.invert_yaxis()
    axes.set_title("time of a step (left of 1: rabbet is faster)")
    if rows:
        axes.legend(fontsize=8)


def grown(axes, found, shown, title, along, unit, scale="log"):
    """Curves of the figures `shown`, solid for the first and dashed for the next, a colour a framework."""
    for style, what in zip(("-", "--", ":"), shown):
        for name, points in found.get(what, {}).items():
            label = f"{name} {what}"
            axes.plot(points.keys(), points.values(), style, marker=".", color=COLORS[name], label=label)
    axes.set_xscale(scale)
    axes.set_yscale("log")
    axes.set(title=title, xlabel=along, ylabel=unit)
    axes.grid(alpha=0.3)
    if found:
        axes.legend(fontsize=7)


def draw(path, rows, studies):
    """Write the picture: `rows` of the table, `studies` as `{"ops" | "layers" | "sizes": curves}`."""
    import matplotlib

    matplotlib.use("svg")
    # The same figures give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"
    from matplotlib import pyplot

    figure, ((steps, ops), (layers, sizes)) = pyplot.subplots(2, 2, figsize=(12, 9), layout="constrained")
    bars(steps, rows)
    grown(ops, studies.get("ops", {}), ("trace_lower_s", "trace_s"), "tracing", "operations", "seconds")
    shown = ("compile_s", "trace_s", "lower_s")
    grown(layers, studies.get("layers", {}), shown, "transformer", "layers", "seconds", "linear")
    grown(sizes, studies.get("sizes", {}), ("chain_ms", "sum_ms"), "arrays", "elements", "milliseconds")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
