"""Plugins that load and do not fit to what else is there: their packages are named and left out, everybody
else works, and `rabbet doctor` says what to change.
"""

import pytest

pytestmark = pytest.mark.library

SETTINGS = """
    from rabbet.extend.backend import Alias, Setting
    DEVICES = [Setting("num_cpu_devices", 3, int, "Mine."), Setting("waves", 1, int, "How many.")]
    CORE = [Setting("cache", 3, int, "Mine.")]
    PARSE = [Setting("watched", 3, 3, "Mine.")]
    LOOSE = [Alias("somewhere", "no_such_setting")]
    """
OTHERS = """
    import ml_dtypes
    from rabbet.extend.dtype import DTypeSpec
    from rabbet.extend.hooks import hookimpl
    from rabbet.extend.passes import Pass
    from rabbet.extend.transform import RuleSet

    CIRCLE = Pass("circle", lambda jaxpr, context: jaxpr, after=("dead-code",), before=("cse",))
    BRAIN = DTypeSpec(
        "brain16", ml_dtypes.bfloat16, "bf16", "f", above=("float*",), below=("float32",),
        finfo=lambda: ml_dtypes.finfo(ml_dtypes.bfloat16),
    )
    BATCH = RuleSet("batch")
    BATCH.later("no_such_module", "sin", "no_such_primitive")

    class Answering:
        def __init__(self, answer):
            self.answer = answer

        @hookimpl
        def doctor_checks(self):
            return self.answer

    TEXT, TRIPLE, PAIR = Answering("all is well"), Answering(("mine", True, "well")), Answering([("a", True)])

    class Facts:
        @hookimpl
        def compile_finished(self, name, duration):
            pass

    FACTS = Facts()
    """


@pytest.fixture
def misfits(environment):
    """Six packages, each with something that is wrong only beside the others."""
    entry = "[rabbet.settings]\n{0} = rabbet_settings_{0}:{1}\n"
    for name, value in {"devices": "DEVICES", "core": "CORE", "parse": "PARSE", "loose": "LOOSE"}.items():
        environment.install(f"rabbet-settings-{name}", SETTINGS, entry.format(name, value))
    environment.install(
        "rabbet-misfit",
        OTHERS,
        """
        [rabbet.passes]
        circle = rabbet_misfit:CIRCLE
        [rabbet.dtypes]
        brain16 = rabbet_misfit:BRAIN
        [rabbet.rules]
        batch = rabbet_misfit:BATCH
        [rabbet.hooks]
        text = rabbet_misfit:TEXT
        triple = rabbet_misfit:TRIPLE
        pair = rabbet_misfit:PAIR
        facts = rabbet_misfit:FACTS
        """,
    )
    return environment


@pytest.mark.needs("jit", "vmap", "cpu", "bfloat16", "numpy")
def test_everybody_else_works(misfits):
    done = misfits.python(
        "-c",
        "import warnings; warnings.simplefilter('always')\n"
        "import rabbet as rb, rabbet.numpy as rnp, numpy as np\n"
        "try:\n    rb.config.update('no_such', 1)\n"
        "except AttributeError as error:\n    print(error)\n"
        "print(rb.jit(rb.vmap(rnp.sin))(rnp.ones(3)).shape, rnp.ones(2, 'bfloat16').dtype, rb.config.cache)\n"
        "print(rb.typeof(np.ones(2, 'float32').astype(rnp.bfloat16)).dtype, rb.config.num_cpu_devices)\n"
        "from rabbet.extend.passes import all_passes; print(*[one.name for one in all_passes()])",
    )
    assert done.returncode == 0, done.stderr
    assert "(3,) bfloat16 True" in done.stdout
    *_, passes = done.stdout.splitlines()
    assert "dead-code" in passes and "cse" in passes and "circle" not in passes
    for package in ("devices", "core", "parse"):
        assert f"rabbet-settings-{package} 1.0" in done.stdout  # those that would have more settings
        assert f"rabbet-settings-{package} 1.0" in done.stderr  # a warning each
    assert done.stderr.count("rabbet-misfit 1.0") == 1  # one for all that it brings


def test_doctor_names_each_with_what_to_change(misfits):
    done = misfits.doctor()
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    report = done.stdout.split("BROKEN  ")
    for label, *facts in (
        (
            "settings.devices",
            "rabbet-settings-devices 1.0",
            "'num_cpu_devices' exists already",
            "another name",
        ),
        ("settings.core", "rabbet-settings-core 1.0", "'cache'", "rb.config has itself", "to fix"),
        ("settings.parse", "rabbet-settings-parse 1.0", "'watched' has parse=3", "to fix"),
        ("settings.loose", "rabbet-settings-loose 1.0", "'no_such_setting', which does not exist", "to fix"),
        ("passes.circle", "rabbet-misfit 1.0", "circle", "to fix: take a name out of `after` or `before`"),
        ("dtypes.brain16", "rabbet-misfit 1.0", "NumPy calls its numpy_dtype 'bfloat16'", "to fix"),
        ("rules.batch", "rabbet-misfit 1.0", "no_such_module", "to fix"),
        ("hooks.text", "rabbet-misfit 1.0", "'all is well', which is not a check", "to fix"),
        ("hooks.triple", "rabbet-misfit 1.0", "'mine', which is not a check", "list of triples"),
        ("hooks.pair", "rabbet-misfit 1.0", "('a', True), which is not a check", "to fix"),
        ("hooks.facts", "rabbet-misfit 1.0", "takes 'duration'", "take any of name, seconds, cached"),
    ):
        found = [one for one in report if one.startswith(f"{label}:")]
        assert len(found) == 1, (label, done.stdout)
        for fact in facts:
            assert fact in found[0], (fact, found[0])
    assert "passes.cse" not in done.stdout and "passes.dead-code" not in done.stdout
