"""Keras with its backend for JAX: convolutions with state, recurrence, attention, and training by `fit`."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)


def trained(model, x, y, loss):
    """The loss in two epochs of training, and the first predictions after it."""
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), loss)
    history = model.fit(x, y, batch_size=16, epochs=2, verbose=0).history["loss"]
    return [*history, *np.ravel(model.predict(x[:2], verbose=0))[:3]]


images = keras.Sequential([
    keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(),
    layers.MaxPooling2D(), layers.Dropout(0.2), layers.Flatten(), layers.Dense(3),
])  # fmt: skip
numbers = trained(
    images, rng.normal(size=(32, 8, 8, 1)).astype("float32"), rng.integers(0, 3, 32),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)  # fmt: skip

series = keras.Sequential([
    keras.Input((6, 2)), layers.LSTM(5, return_sequences=True), layers.GRU(4), layers.Dense(1)
])  # fmt: skip
numbers += trained(series, rng.normal(size=(32, 6, 2)), rng.normal(size=(32, 1)), "mse")

tokens = keras.Input((7,))
embedded = layers.Embedding(11, 8)(tokens)
attended = layers.MultiHeadAttention(2, 4)(embedded, embedded, use_causal_mask=True)
decoder = keras.Model(tokens, layers.Dense(11)(layers.LayerNormalization()(embedded + attended)))
words = rng.integers(0, 11, (32, 7))
numbers += trained(decoder, words, words, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
print(*numbers)
