"""PyTorch's loader of batches, with arrays and with tensors."""

import numpy as np
import pytest
import rabbet as rb

torch = pytest.importorskip("torch")

DATA = [(np.full(3, i, np.float32), i) for i in range(10)]


def test_batches_of_arrays_and_of_tensors():
    arrays = torch.utils.data.DataLoader(DATA, 4, collate_fn=lambda items: tuple(map(np.stack, zip(*items))))
    tensors = torch.utils.data.DataLoader(DATA, 4)
    for mine, theirs in zip(arrays, tensors, strict=True):
        put, taken = rb.device_put(mine), rb.torch.from_torch(theirs)
        assert put[0].shape == taken[0].shape and put[1].tolist() == taken[1].tolist()
        assert type(taken) is type(theirs) and taken[1].dtype == "int64"
        assert (put[0] == taken[0]).all()
