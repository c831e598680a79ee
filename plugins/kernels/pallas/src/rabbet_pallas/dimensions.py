"""Which dimensions of a program's values go together, and along which elements are treated alike."""

from rabbet.extend.passes import Var

BAD = object()  # the class of dimensions along which elements differ by their place


class Alike:
    """Classes of dimensions of a program's values, which are pairs (variable, number of the dimension).

    Two are in one class if an operation goes along both. A class in which elements are added up, moved or
    told apart by their place is that of ``BAD``.
    """

    def __init__(self, jaxpr):
        self.above = {}
        for eqn in jaxpr.equations:
            RULES.get(eqn.primitive.name, by_kind)(self, eqn)

    def find(self, x):
        """The representative of a dimension's class."""
        while x in self.above:
            x = self.above[x]
        return x

    def join(self, x, y):
        a, b = self.find(x), self.find(y)
        if a is not b and a != b:
            a, b = (b, a) if a is BAD else (a, b)
            self.above[a] = b

    def classes(self, seeds):
        """The classes of some dimensions; None where one is bad."""
        found = {self.find(x) for x in seeds}
        return None if BAD in found else found

    def same(self, v, w, pairs=None):
        """Dimensions of two values go together, those of equal size."""
        if type(v) is Var and type(w) is Var:
            for i, j in pairs if pairs is not None else [(i, i) for i in range(w.aval.ndim)]:
                if v.aval.shape[i] == w.aval.shape[j]:
                    self.join((v, i), (w, j))

    def bad(self, v, dims=None):
        """Elements differ along dimensions of a value, by default all."""
        if type(v) is Var:
            for i in range(v.aval.ndim) if dims is None else dims:
                self.join((v, i), BAD)


def unknown(alike, eqn):
    for v in (*eqn.inputs, *eqn.outputs):
        alike.bad(v)


def by_kind(alike, eqn):
    """By what kind of primitive it is."""
    kinds, out = eqn.primitive.kinds, eqn.outputs[0] if eqn.outputs else None
    if "elementwise" in kinds and all(v.aval.shape in ((), out.aval.shape) for v in eqn.inputs):
        for v in eqn.inputs:
            if v.aval.shape:
                alike.same(v, out)
    elif "reduction" in kinds and "axes" in eqn.params and len(eqn.inputs) == 1 and len(eqn.outputs) == 1:
        axes = [a % eqn.inputs[0].aval.ndim for a in eqn.params["axes"]]
        left = [i for i in range(eqn.inputs[0].aval.ndim) if i not in axes]
        alike.same(eqn.inputs[0], out, [(i, j) for j, i in enumerate(left)])
        alike.bad(eqn.inputs[0], axes)
    else:
        unknown(alike, eqn)


def broadcast(alike, eqn):
    alike.same(eqn.inputs[0], eqn.outputs[0], list(enumerate(eqn.params["broadcast_dimensions"])))


def of_sizes(alike, eqn):
    """Where only dimensions of one element come or go."""
    v, out = eqn.inputs[0], eqn.outputs[0]
    here = [i for i, n in enumerate(v.aval.shape) if n != 1]
    there = [i for i, n in enumerate(out.aval.shape) if n != 1]
    if [v.aval.shape[i] for i in here] != [out.aval.shape[i] for i in there]:
        unknown(alike, eqn)
        return
    alike.same(v, out, list(zip(here, there, strict=True)))
    alike.bad(v, [i for i, n in enumerate(v.aval.shape) if n == 1])
    alike.bad(out, [i for i, n in enumerate(out.aval.shape) if n == 1])


def transpose(alike, eqn):
    alike.same(eqn.inputs[0], eqn.outputs[0], [(d, i) for i, d in enumerate(eqn.params["permutation"])])


def iota(alike, eqn):
    alike.bad(eqn.outputs[0], [eqn.params["dimension"]])


def dot_general(alike, eqn):
    (x, y), out = eqn.inputs, eqn.outputs[0]
    (contract, batch) = eqn.params["dimension_numbers"]
    place = 0
    for i, j in zip(*batch, strict=True):
        alike.same(x, out, [(i, place)])
        alike.same(y, out, [(j, place)])
        place += 1
    for v, gone, both in zip((x, y), contract, batch, strict=True):
        alike.bad(v, gone)
        for d in range(v.aval.ndim):
            if d not in gone and d not in both:
                alike.same(v, out, [(d, place)])
                place += 1


def load(alike, eqn):
    if eqn.params["place"].steps or eqn.params.get("masked", False):
        unknown(alike, eqn)
    else:
        alike.same(eqn.inputs[0], eqn.outputs[0])


def store(alike, eqn):
    if eqn.params["place"].steps or eqn.params.get("masked", False):
        unknown(alike, eqn)
    else:
        alike.same(eqn.inputs[0], eqn.outputs[0])
        alike.same(eqn.inputs[1], eqn.outputs[0])


RULES = {
    "broadcast_in_dim": broadcast, "expand_dims": of_sizes, "squeeze": of_sizes, "reshape": of_sizes,
    "transpose": transpose, "iota": iota, "dot_general": dot_general, "load": load, "store": store,
}  # fmt: skip

__all__ = ["Alike"]
