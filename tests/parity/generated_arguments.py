"""Arguments for calls, drawn from a table of kinds.

A line of ``generated_calls.txt`` says of which kinds a function's arguments are::

    sum prod: any axis=axes? keepdims=flag? where=mask?

``name=kind`` is passed by name, ``?`` leaves it out in half of the calls. From each line come calls with
arguments that fit together, and calls of which one argument is wrong. All is drawn from a generator that the
function's name seeds, so a call is the same in every run and in both packages.
"""

import zlib

import numpy as np

SHAPES = ((3,), (2, 3), (2, 3), (), (3, 2, 2), (0,), (1, 3))
DTYPES = (
    "float32", "float32", "float32", "int32", "int32", "bool", "complex64", "float16", "uint8", "bfloat16"
)  # fmt: skip
FLOATS = ("float32", "float32", "float32", "float16", "bfloat16")
REALS = ("float32", "float32", "int32", "int32", "bool", "float16", "uint8", "int8")
INTS = ("int32", "int32", "uint8", "int8", "bool")
NUMBERS = (2, -1, 0, 1.5, True, 1 + 2j)


class Weak:
    """A weakly typed array of a value."""

    def __init__(self, value, shape):
        self.value, self.shape = value, shape

    def __repr__(self):
        return f"Weak({self.value!r}, {self.shape})"


class Typed:
    """An array of a dtype that NumPy does not have."""

    def __init__(self, array, dtype):
        self.array, self.dtype, self.shape = array, dtype, array.shape

    def __repr__(self):
        return f"Typed({self.array!r}, {self.dtype})"


class Key:
    """A key of random numbers."""

    def __init__(self, seed):
        self.seed = seed

    def __repr__(self):
        return f"Key({self.seed})"


def as_arguments(value, package, fnp):
    """What a package is given for a drawn value."""
    if isinstance(value, Weak):
        return fnp.broadcast_to(fnp.asarray(value.value), value.shape)
    if isinstance(value, Typed):
        return fnp.asarray(value.array, value.dtype)
    if isinstance(value, Key):
        return package.random.PRNGKey(value.seed)
    if isinstance(value, (list, tuple)):
        return type(value)([as_arguments(v, package, fnp) for v in value])
    return value


class Draw:
    """The arguments of one call: ``x`` is the first array, to which the others are made to fit."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.x = None

    def of(self, kind):
        """A value of a kind."""
        name, _, argument = kind.partition(":")
        return getattr(self, name)(argument.replace("_", " ")) if argument else getattr(self, name)()

    def choice(self, options):
        return options[int(self.random.integers(len(options)))]

    def array(self, dtypes, shapes=SHAPES, low=-3.0, high=3.0):
        """An array; its numbers are eighths, so that sums of them are exact in most dtypes."""
        dtype, shape = self.choice(dtypes), self.choice(shapes)
        numbers = np.round(self.random.uniform(low, high, shape) * 8) / 8
        if dtype == "complex64":
            made = (numbers + 1j * np.round(self.random.uniform(-2, 2, shape) * 8) / 8).astype(dtype)
        elif dtype == "bool":
            made = np.asarray(numbers > 0)
        elif dtype == "bfloat16":
            made = Typed(np.asarray(numbers, "float32"), dtype)
        else:
            made = np.asarray(abs(numbers) if dtype.startswith("u") else numbers).astype(dtype)
        if self.x is None:
            self.x = made
        return made

    # Arrays: the first one of a call is x.
    def any(self):
        """An array of any dtype, a number, or a weakly typed array."""
        sort = self.random.integers(8)
        if sort == 0:
            self.x = self.choice(NUMBERS)
            return self.x
        if sort == 1:
            self.x = Weak(self.choice((2, 1.5)), self.choice(((3,), (2, 3), ())))
            return self.x
        return self.array(DTYPES)

    def ranks(self, numbers):
        """An array of so many dimensions."""
        ranks = [int(c) for c in numbers.split()]
        return self.array(DTYPES, [s for s in SHAPES if len(s) in ranks and 0 not in s])

    def real(self):
        return self.array(REALS)

    def nonempty(self):
        return self.array(REALS, ((3,), (2, 3), (3, 2, 2)))

    def floats(self):
        return self.array(FLOATS)

    def positive(self):
        return self.array(FLOATS, low=0.25, high=4.0)

    def unit(self):
        return self.array(("float32",), low=0.125, high=0.875)

    def within(self):
        return self.array((*FLOATS, "complex64"), low=-0.875, high=0.875)

    def ints(self):
        return self.array(INTS)

    def vector(self):
        return self.array(REALS, ((3,),))

    def fvector(self):
        return self.array(("float32", "float32", "int32"), ((3,),))

    def sorted(self):
        self.array(("float32", "int32"), ((4,),))
        self.x = np.sort(self.x)
        return self.x

    def table(self):
        return self.array(("float32", "float32", "int32", "complex64"), ((2, 3), (3, 2)))

    def square(self):
        n = self.choice((2, 3))
        self.x = self.array(("float32",), ((n, n), (2, n, n))) + 4 * np.eye(n, dtype="float32")
        return self.x

    def definite(self):
        m = self.square()
        self.x = np.asarray(m @ np.swapaxes(m, -1, -2))
        return self.x

    def images(self):
        return self.array(("float32",), ((4, 5),))

    def bits(self):
        return self.array(("uint8", "bool"), ((8,), (2, 8)))

    # What fits to x.
    def shape_of_x(self):
        return np.shape(self.x) if not isinstance(self.x, (Weak, Typed)) else self.x.shape

    def beside(self):
        """An operand that broadcasts against x, of any dtype."""
        shape, sort = self.shape_of_x(), self.random.integers(6)
        if sort == 0:
            return self.choice(NUMBERS[:-1])
        if sort == 1:
            return np.float32(1.5) if self.random.integers(2) else np.int8(2)
        return self.array(DTYPES[:-1], (shape, shape[1:], (1,) * len(shape), ()))

    def beside_real(self):
        shape = self.shape_of_x()
        return self.array(REALS, (shape, shape, shape[1:], ()))

    def beside_ints(self):
        shape = self.shape_of_x()
        return self.array(INTS, (shape, shape, shape[1:]))

    def beside_positive(self):
        shape = self.shape_of_x()
        return self.array(("float32",), (shape, shape, ()), low=0.25, high=4.0)

    def alike(self):
        """An array of the type of x."""
        x = self.x.array if isinstance(self.x, Typed) else np.asarray(self.x)
        made = self.array((x.dtype.name,), (x.shape,))
        return Typed(made, self.x.dtype) if isinstance(self.x, Typed) else made

    def alike_ints(self):
        return np.asarray(self.array((np.asarray(self.x).dtype.name,), (self.shape_of_x(),), 0, 4))

    def like_shape(self):
        """Another array of the shape of x."""
        return self.array(DTYPES[:-1], (self.shape_of_x(),))

    def mask(self):
        return self.array(("bool",), (self.shape_of_x(), self.shape_of_x()[1:]))

    def several(self):
        """A list of arrays of the shape of x, which is the first."""
        first = self.array(DTYPES[:-1], ((3,), (2, 3)))
        return [first, *[self.like_shape() for _ in range(self.random.integers(0, 3))]]

    def right(self):
        """A right-hand side for the square matrix x."""
        n = self.shape_of_x()[-1]
        return self.array(("float32",), ((*self.shape_of_x()[:-1], 2), (n, 2)))

    def axis(self):
        n = max(1, len(self.shape_of_x()))
        return int(self.random.integers(-n, n))

    def axes(self):
        """None, an axis, or a tuple of them."""
        n = len(self.shape_of_x())
        if n == 0 or self.random.integers(4) == 0:
            return None
        return self.axis() if self.random.integers(2) else tuple(range(int(self.random.integers(1, n + 1))))

    def all_axes(self):
        return tuple(int(i) for i in self.random.permutation(len(self.shape_of_x())))

    def dims(self):
        """Axes as ``lax`` takes them."""
        n = len(self.shape_of_x())
        return tuple(range(int(self.random.integers(0, n + 1))))

    def newshape(self):
        n = int(np.prod(self.shape_of_x()))
        return self.choice((-1, (n,), (1, n), (n, 1), [n]))

    def shape(self):
        return self.choice(((2, 3), (), 3, [2], (0, 2)))

    def lshape(self):
        return self.choice(((2, 3), (), (4,)))

    def wide(self):
        """A shape to which x broadcasts."""
        return (2, *self.shape_of_x())

    def indices(self):
        return np.asarray(self.random.integers(-2, 3, self.choice(((2,), (), (2, 2)))), "int32")

    def naturals(self):
        self.x = np.asarray(self.random.integers(0, 4, 5), self.choice(("int32", "int32", "uint8")))
        return self.x

    # Plain values.
    def int(self, choices="-1 0 1 2"):
        return self.choice([int(c) for c in choices.split()])

    def count(self):
        return self.choice((0, 1, 3, 4, np.int32(2)))

    def number(self):
        return self.choice((0, 2, 0.5, -1.5, np.float32(1.5)))

    def share(self):
        return self.choice((0.25, 0.5, np.float32(0.125)))

    def flag(self):
        return bool(self.random.integers(2))

    def dtype(self):
        return self.choice(("float32", "int32", "complex64", np.float16, float, int, bool, "uint8"))

    def fdtype(self):
        return self.choice(("float32", np.float16, float))

    def word(self, choices):
        return self.choice(choices.split())

    def size(self):
        return self.choice((1, 3, 7))

    def key(self):
        return Key(int(self.random.integers(9)))

    # A wrong value in place of one of a kind.
    def wrong(self, kind):
        name = kind.partition(":")[0]
        return self.choice(WRONG.get(name, WRONG["array"]))


class Thing:
    """What no function takes."""

    def __repr__(self):
        return "Thing()"


ODD = np.ones((5, 7), "float32")
WRONG = {
    "array": ("text", None, Thing(), ODD, [1.0, 2.0], {"a": 1}, np.array(["a"]), np.ones((5,), "complex64")),
    "several": ("text", None, Thing(), [], [1, 2], ODD, [ODD, np.ones((3,), "float32")], 1.5),
    "axis": (7, -9, 1.5, "0", (0, 0), Thing(), [0]),
    "axes": (7, -9, 1.5, "0", (0, 0), Thing(), (0, 9)),
    "all_axes": ((0, 0), (9,), "ab", 1.5, Thing()),
    "dims": ((9,), (0, 0), "0", 1.5, Thing()),
    "newshape": ((7, 11), (-1, -1), "x", 1.5, (1.5,), Thing()),
    "shape": ((-1,), "x", 1.5, (1.5, 2), Thing(), None),
    "lshape": ((-1,), "x", 1.5, (1.5, 2), Thing(), None),
    "wide": ((7, 11), "x", 1.5, (-1,), Thing()),
    "dtype": ("nonsense", Thing(), 3, "str", object),
    "fdtype": ("nonsense", Thing(), "int32", "bool", "str"),
    "int": ("1", 1.5, None, Thing(), (1,)),
    "count": ("1", -1, 1.5, Thing(), (1, 2)),
    "size": ("1", -1, 1.5, Thing()),
    "flag": (),
    "word": ("nonsense", 3, Thing()),
    "share": ("text", Thing()),
    "number": ("text", Thing(), ODD),
    "key": (ODD, "text", 1.5, Thing()),
}


class Call:
    """One call: the arguments by position and by name, and what is wrong with it, if anything."""

    def __init__(self, args, kwargs, wrong=None):
        self.args, self.kwargs, self.wrong = args, kwargs, wrong

    def __repr__(self):
        shown = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"({', '.join(shown)})".replace("\n", "")


def calls(function, kinds, good, bad):
    """``good`` calls of a function that fit, and ``bad`` ones with a wrong argument."""
    for i in range(good + bad):
        seed = f"{function} good {i}" if i < good else f"{function} bad {i - good}"
        draw = Draw(zlib.crc32(seed.encode()))
        args, kwargs, given = [], {}, []
        for text in kinds:
            name, named, kind = text.partition("=")
            kind = (kind if named else name).strip()
            optional = kind.endswith("?")
            if optional and draw.random.integers(2):
                if named:
                    continue
                break
            value = draw.of(kind.rstrip("?"))
            given.append((name if named else len(args), kind.rstrip("?")))
            if named:
                kwargs[name] = value
            else:
                args.append(value)
        wrong = None
        if i >= good:
            given = [g for g in given if WRONG.get(g[1].partition(":")[0], True)]
            if not given:
                continue
            place, kind = draw.choice(given)
            wrong = place
            value = draw.wrong(kind)
            if isinstance(place, str):
                kwargs[place] = value
            else:
                args[place] = value
        yield Call(args, kwargs, wrong)


def table(text):
    """``{module.function: kinds}`` of a file of lines, where ``[module]`` starts a module."""
    found, module = {}, ""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            module = line.strip("[]")
        elif line:
            names, _, kinds = line.partition(": ")
            for name in names.rstrip(":").split():
                found[f"{module}.{name}"] = kinds.split()
    return found
