"""Rotations against SciPy's."""

import itertools

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.spatial.transform
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy.spatial.transform import Rotation, Slerp

random = np.random.default_rng(8)
Theirs = scipy.spatial.transform.Rotation
QUATS, VECTORS = random.normal(size=(6, 4)), random.normal(size=(6, 3))
MANY, WANTED = Rotation.from_quat(ours(QUATS)), Theirs.from_quat(QUATS)
ONE, WANTED_ONE = MANY[0], WANTED[0]
SEQUENCES = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]


def test_other_forms():
    close(MANY.as_quat(), WANTED.as_quat())
    close(MANY.as_quat(True, True), WANTED.as_quat(canonical=True, scalar_first=True))
    for name in ("as_matrix", "as_mrp", "as_rotvec", "magnitude"):
        close(getattr(MANY, name)(), getattr(WANTED, name)())
    close(ONE.as_rotvec(degrees=True), WANTED_ONE.as_rotvec(degrees=True))


@pytest.mark.narrow
def test_from_other_forms():
    for name, value in (
        ("from_matrix", WANTED.as_matrix()), ("from_rotvec", VECTORS), ("from_mrp", VECTORS),
        ("from_rotvec", VECTORS * 1e-4), ("from_matrix", np.diag([1.0, -1.0, -1.0])),
    ):  # fmt: skip
        close(getattr(Rotation, name)(ours(value)).as_matrix(), getattr(Theirs, name)(value).as_matrix())
    close(
        Rotation.from_rotvec(ours(VECTORS), degrees=True).quat,
        Theirs.from_rotvec(VECTORS, degrees=True).as_quat(),
    )
    assert Rotation.from_quat([0, 0, 1, 1]).quat.dtype == "float32"


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("capital", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_angles(capital):
    angles = random.uniform(-3, 3, size=(4, 3))
    locked = np.array([[0.3, middle, 0.5] for middle in (0, np.pi / 2, -np.pi / 2, np.pi)])
    for seq in SEQUENCES if capital else SEQUENCES[::3]:
        seq = seq.upper() if capital else seq
        both = np.concatenate([angles, locked])
        found, wanted = Rotation.from_euler(seq, ours(both)), Theirs.from_euler(seq, both)
        close(found.as_matrix(), wanted.as_matrix())
        close(found.as_euler(seq)[:4], wanted.as_euler(seq)[:4], atol=1e-8)
        again = Rotation.from_euler(seq, found.as_euler(seq)).as_matrix()
        close(again, wanted.as_matrix(), atol=1e-6)
    close(Rotation.from_euler("XY", ours(angles[0, :2]), True).quat,
          Theirs.from_euler("XY", angles[0, :2], True).as_quat())  # fmt: skip
    assert Rotation.from_euler("z", 90.0, True).single
    assert Rotation.from_euler("z", ours(angles[0])).quat.shape == (3, 4)


def test_operations():
    close((MANY * ONE).quat, (WANTED * WANTED_ONE).as_quat())
    close((ONE * MANY).as_matrix(), (WANTED_ONE * WANTED).as_matrix())
    close(MANY.inv().as_matrix(), WANTED.inv().as_matrix())
    close((ONE**2.5).as_matrix(), (WANTED_ONE**2.5).as_matrix())
    close(MANY.apply(ours(VECTORS)), WANTED.apply(VECTORS))
    close(MANY.apply(ours(VECTORS[0]), inverse=True), WANTED.apply(VECTORS[0], inverse=True))
    close(ONE.apply(ours(VECTORS)), WANTED_ONE.apply(VECTORS))
    close(MANY.mean().as_matrix(), WANTED.mean().as_matrix())
    weights = np.arange(1.0, 7.0)
    close(MANY.mean(ours(weights)).as_matrix(), WANTED.mean(weights).as_matrix())
    assert MANY.approx_equal(MANY * Rotation.identity(dtype="float64")).all()


def test_arrays_of_rotations():
    assert (len(MANY), MANY.single, ONE.single) == (6, False, True)
    assert MANY[1:3].quat.shape == (2, 4)
    assert Rotation.concatenate([ONE, MANY]).quat.shape == (7, 4)
    assert Rotation.identity(2).as_matrix().tolist() == np.stack([np.eye(3)] * 2).tolist()
    drawn = Rotation.random(rb.random.key(0), 500)
    np.testing.assert_allclose(rnp.linalg.norm(drawn.quat, axis=-1), 1, rtol=1e-6)
    np.testing.assert_allclose(drawn.as_matrix().mean(0), np.zeros((3, 3)), atol=0.1)
    assert rb.tree.structure(ONE) == rb.tree.structure(MANY)
    assert isinstance(rb.jit(lambda r: r.inv())(MANY), Rotation)
    np.testing.assert_allclose(rb.vmap(lambda r: r.magnitude())(MANY), MANY.magnitude())


def test_slerp():
    times, at = np.array([0.0, 1, 2, 4, 5, 7]), np.linspace(0, 7, 15)
    found = Slerp.init(ours(times), MANY)
    close(found(ours(at)).as_matrix(), scipy.spatial.transform.Slerp(times, WANTED)(at).as_matrix())
    assert found(2.5).single
    close(found(ours(np.array([-3.0, 9.0]))).as_matrix(), WANTED[[0, 5]].as_matrix())  # those at the ends
    check_gradient(lambda t: found(t).as_matrix(), np.array([0.3, 4.5]))


def test_derivatives_and_batches():
    check_gradient(lambda q, v: Rotation.from_quat(q).apply(v), QUATS, VECTORS)
    check_gradient(lambda v: (Rotation.from_rotvec(v).as_rotvec(), Rotation.from_mrp(v).as_mrp(),
                              Rotation.from_rotvec(v).as_euler("xyz"), Rotation.from_rotvec(v).magnitude(),
                              Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix()).quat),
                   VECTORS)  # fmt: skip
    for function, wanted in (
        (lambda v: Rotation.from_rotvec(v).as_rotvec().sum(), [1, 1, 1]),
        (lambda v: Rotation.from_rotvec(v).as_matrix()[0, 1], [0, 0, -1]),
        (lambda v: Rotation.from_rotvec(v).magnitude(), [0, 0, 0]),
    ):
        assert rb.grad(function)(rnp.zeros(3)).tolist() == wanted
    check_batches(lambda q: Rotation.from_quat(q).as_euler("ZXZ"), QUATS)


def test_messages():
    for wrong, error, words in (
        (lambda: Rotation.from_quat(np.ones(3)), ValueError, "from_quat takes an array of shape"),
        (lambda: Rotation.from_matrix(np.ones((3, 2))), ValueError, "from_matrix takes"),
        (lambda: Rotation.from_euler("xx", np.ones(2)), ValueError, "must differ"),
        (lambda: Rotation.from_euler("xY", np.ones(2)), ValueError, "seq must be"),
        (lambda: Rotation.from_euler("xyz", np.ones(2)), ValueError, "from_euler takes"),
        (lambda: ONE.as_euler("xy"), ValueError, "seq must be 3 letters"),
        (lambda: Rotation.from_quat(np.ones(4) * 1j), TypeError, "real numbers"),
        (lambda: MANY.mean(np.ones(2)), ValueError, "weights must be"),
        (lambda: len(ONE), TypeError, "no length"),
        (lambda: ONE[0], TypeError, "no elements"),
        (lambda: ONE * 2, TypeError, "unsupported"),
        (lambda: Slerp.init(np.ones(2), MANY), ValueError, "as many rotations"),
        (lambda: Slerp.init(np.ones(2), QUATS), TypeError, "takes a Rotation"),
    ):
        with pytest.raises(error, match=words):
            wrong()
