"""The demo does what the README says: it learns the digits and leaves a picture."""

import importlib.util
import pathlib

TRAIN = pathlib.Path(__file__).parents[2] / "examples" / "digits" / "train.py"


def load_demo():
    spec = importlib.util.spec_from_file_location("digits_train", TRAIN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_digits_are_learned_and_the_picture_is_written(tmp_path, capsys):
    accuracy, path = load_demo().main(["--out", str(tmp_path)])
    assert accuracy >= 0.97
    assert path.parent == tmp_path.resolve()
    assert path.read_bytes().startswith(b"\x89PNG")
    assert str(path) in capsys.readouterr().out.replace("\n", "")


def test_a_single_image_has_the_gradient_that_vmap_gives_it():
    demo = load_demo()
    (images, labels), _ = demo.load()
    params = demo.init(demo.rb.random.key(0))
    norms = demo.gradient_norms(params, images[:4], labels[:4])
    for i in range(4):
        grads = demo.rb.grad(demo.example_loss)(params, images[i], labels[i])
        alone = sum(float((g**2).sum()) for g in demo.rb.tree.leaves(grads)) ** 0.5
        assert abs(alone - float(norms[i])) < 1e-4 * alone
