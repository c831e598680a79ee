"""load.py FOLDER SIGNATURE GIVEN OUT: call a SavedModel by TensorFlow alone, on arrays of GIVEN.npz."""

import sys

import numpy as np
import tensorflow as tf

folder, signature, given, out = sys.argv[1:]
function = tf.saved_model.load(folder).signatures[signature]
found = function(**{name: tf.constant(x) for name, x in np.load(given).items()})
assert not any(name.split(".")[0] in ("jax", "rabbet", "jaxlib") for name in sys.modules)
np.savez(out, **{name: x.numpy() for name, x in found.items()})
