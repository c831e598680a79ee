"""a model that is fitted, with metrics, and saved"""

# packages: keras
import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(16, 4)
y = x.sum(1, keepdims=True)
model = keras.Sequential(
    [
        keras.Input((4,)),
        keras.layers.Dense(8, "relu"),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse", metrics=["mae"])
history = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0)
print(*history.history["loss"], *history.history["mae"], float(model.predict(x, verbose=0).sum()))
