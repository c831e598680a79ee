"""Data of other libraries in and out, and batches that are read ahead of time."""

import collections

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp


def test_pandas_both_ways():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [1, 2], "c": [True, False]})
    kinds = {name: rnp.asarray(frame[name]).dtype.name for name in frame}
    assert kinds == {"a": "float32", "b": "int32", "c": "bool"}
    wide = rnp.asarray(frame["a"], dtype="float64")
    assert wide.dtype == "float64" and wide.tolist() == [1.5, 2.5]
    back = pd.DataFrame(np.asarray(rnp.ones((2, 3))), columns=list("xyz"))
    assert back.dtypes.tolist() == [np.float32] * 3
    assert pd.Series(np.asarray(rnp.arange(3))).sum() == 3


def test_arrow_shares_memory_both_ways():
    pa = pytest.importorskip("pyarrow")
    array = rnp.arange(1000.0)
    column = pa.array(np.asarray(array))
    assert column.buffers()[1].address == array.unsafe_buffer_pointer()
    given = pa.array(np.arange(1000) * 0.5)
    taken = rb.dlpack.from_dlpack(given)
    assert taken.dtype == "float64" and float(taken[3]) == 1.5
    if given.buffers()[1].address % 64 == 0:
        assert taken.unsafe_buffer_pointer() == given.buffers()[1].address
    with pytest.raises(Exception, match="null"):
        rb.dlpack.from_dlpack(pa.array([1.0, None]))
    assert rnp.asarray(pa.chunked_array([[1, 2], [3]])).tolist() == [1, 2, 3]


def test_parquet(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    half = rnp.arange(6.0).astype("bfloat16")
    table = pa.table({"x": np.asarray(rnp.arange(6.0)), "bits": np.asarray(half.view("uint16"))})
    parquet.write_table(table, tmp_path / "t.parquet")
    read = parquet.read_table(tmp_path / "t.parquet")
    assert rnp.asarray(read["x"]).tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(rnp.asarray(read["bits"].to_numpy()).view("bfloat16"), half)


def ahead(batches, count=2, place=None):
    """As on the page "Doors to other systems"."""
    waiting = collections.deque()
    for batch in batches:
        waiting.append(rb.device_put(batch, place))
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


def test_batches_are_there_before_they_are_asked_for():
    taken = []
    batches = ahead((taken.append(i) or {"x": np.full(3, i)} for i in range(6)), count=2)
    first = next(batches)
    assert taken == [0, 1, 2] and isinstance(first["x"], rb.Array)
    assert [int(b["x"][0]) for b in batches] == [1, 2, 3, 4, 5]


@pytest.mark.filterwarnings("default")
def test_grain():
    grain = pytest.importorskip("grain")
    source = [{"x": np.full(4, i, np.float32), "y": np.int32(i)} for i in range(20)]
    options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=8)
    batches = grain.MapDataset.source(source).shuffle(seed=1).to_iter_dataset(options).batch(5)
    step = rb.jit(lambda total, batch: total + rnp.sum(batch["x"]) * 0.25)
    total, labels = 0.0, []
    for batch in ahead(batches):
        total = step(total, batch)
        labels += batch["y"].tolist()
    assert float(total) == sum(range(20)) and sorted(labels) == list(range(20)) != labels
