"""From measured results to the tables of docs/benchmarks.md; nothing here runs or reads a clock."""

from dataclasses import dataclass

OTHERS = {"jax": "jax", "torch": "torch", "torch_compile": "torch.compile", "numpy": "numpy"}


@dataclass(frozen=True)
class Row:
    """One figure of one program: `ratios` of rabbet to the other frameworks, and the budget's limits."""

    program: str
    figure: str
    ratios: dict
    limits: dict
    failed: bool = False

    @property
    def excess(self):
        """How far over budget, as a factor (infinite if rabbet failed); None without a budget."""
        if self.failed:
            return float("inf")
        return max(
            (self.ratios[o] / limit for o, limit in self.limits.items() if o in self.ratios), default=None
        )


def ratio(ours, theirs):
    """The least of our rounds over the least of theirs.

    What else a machine does only adds to a time, so the least reading says most about a program. A median
    does not do: on a shared machine whole processes run at half the speed of the next one.
    """
    return min(ours) / min(theirs)


def numbers(rows, figure):
    """The figure's positive values in a framework's results."""
    return [r[figure] for r in rows if isinstance(r.get(figure), (int, float)) and r[figure] > 0]


def rows_of(program, results):
    """A `Row` for each figure of `program` that rabbet printed, or one that says it failed."""
    ours = results.get("rabbet", [])
    if any("failed" in r for r in ours):
        return [Row(program.title, "", {}, {}, failed=True)]
    rows = []
    for figure, limits in program.budgets.items():
        mine = numbers(ours, figure)
        found = {o: numbers(results[o], figure) for o in OTHERS if o in results}
        ratios = {o: ratio(mine, theirs) for o, theirs in found.items() if mine and theirs}
        if mine:
            rows.append(Row(program.title, figure, ratios, limits))
    return rows


def failures(program, results):
    """A line for each framework that failed on `program`."""
    return [
        f"- {program.title}: {name} failed: {r['failed']}"
        for name, rows in results.items()
        for r in rows
        if "failed" in r
    ]


def line(row, others):
    """The row as a line of Markdown, with a column for each of `others`."""
    cells = [f"{row.ratios[o]:.2f}" if o in row.ratios else "" for o in others]
    budget = ", ".join(f"{limit} {o}" for o, limit in row.limits.items())
    excess = row.excess
    verdict = "failed" if row.failed else "" if excess is None else "yes" if excess <= 1 else "**no**"
    return "| " + " | ".join([row.program, row.figure, *cells, budget, verdict]) + " |"


def table(rows):
    """The whole table: what is over its budget first, the farthest over on top; then the rest as it came."""
    over = sorted((r for r in rows if (r.excess or 0) > 1), key=lambda r: -r.excess)
    rest = [r for r in rows if r not in over]
    others = [o for o in OTHERS if any(o in r.ratios for r in rows)]
    head = ["program", "figure", *(f"rabbet / {OTHERS[o]}" for o in others), "budget", "within"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + [line(r, others) for r in over + rest])


def summary(rows):
    """How many of the figures with a budget are within it, as a sentence."""
    judged = [r.excess for r in rows if r.excess is not None]
    return f"{sum(e <= 1 for e in judged)} of the {len(judged)} figures that have a budget are within it."


def curves(results):
    """A growth study's results as `{what: {framework: {n: value}}}`."""
    found = {}
    for name, rows in results.items():
        for result in rows[:1]:
            for figure, value in result.items():
                what, at, n = figure.partition("@")
                if at:
                    found.setdefault(what, {}).setdefault(name, {})[int(n)] = value
    return found


def growth_table(title, found):
    """A growth study as a table: a line for each figure and framework, a column for each size."""
    sizes = sorted({n for by_name in found.values() for points in by_name.values() for n in points})
    lines = [
        f"| {title} | framework | " + " | ".join(f"{n:,}" for n in sizes) + " |",
        "|" + "---|" * (len(sizes) + 2),
    ]
    for what, by_name in found.items():
        for name, points in by_name.items():
            cells = [f"{points[n]:.3g}" if n in points else "" for n in sizes]
            lines.append(f"| {what} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
