"""Run one test file, as the harness's ``worker.py`` does, with the compiler in scope.

Supplied besides: ``torch._dynamo.test_case`` and ``torch._inductor.test_case``; the helpers of
``torch._dynamo.testing``, executed from PyTorch's source; ``JitTestCase``, without TorchScript; ``functorch``.
"""
from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import types
from typing import Any

sys.path[:] = [os.environ["MINDTORCH_HARNESS"], *(path for path in sys.path if path != os.path.dirname(__file__))]
shim: Any = importlib.import_module("shim")
worker: Any = importlib.import_module("worker")

#: Beside the compiler, these are out of scope.
OUT_OF_SCOPE = {"name": r"inductor", "source": r"torch\._inductor"}
#: What a file with such a name is about, and so in its scope.
SUBJECTS = {"test_sparse": "sparse", "test_nestedtensor": "nested tensor"}
#: Modules that hold nothing but a TestCase.
TEST_CASES = ("torch._dynamo.test_case", "torch._inductor.test_case")
#: What tests use of ``torch._dynamo.utils``.
UTILITIES = ("same", "ifdynstaticdefault")


class Finder(shim.Finder):  # type: ignore[misc, unused-ignore]
    """The harness's finder, with the modules that tests of the compiler import."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Find the test cases and ``functorch``; the harness finds the rest."""
        if self.lib != "torch" and name in TEST_CASES:
            return importlib.machinery.ModuleSpec(name, self)
        if self.lib != "torch" and name.split(".")[0] == "functorch":
            with contextlib.suppress(ImportError):
                if importlib.util.find_spec(f"{self.lib}.{name}") is not None:
                    return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return super().find_spec(name, path, target)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Make a module of test cases or an alias; the harness makes the rest."""
        if spec.name in TEST_CASES:
            return test_case(spec.name)
        if spec.name.split(".")[0] == "functorch":
            return importlib.import_module(f"{self.lib}.{spec.name}")
        if spec.name == "torch.testing._internal.jit_utils":
            path = os.path.join(self.root, "testing", "_internal", "jit_utils.py")
            names = shim.LazyNS(path, spec.name)
            names["JitTestCase"] = importlib.import_module("torch.testing._internal.common_utils").TestCase
            return shim.ShimModule(spec.name, names)
        return super().create_module(spec)


def test_case(name: str) -> types.ModuleType:
    """Return a module with a TestCase that forgets all programs around each test."""
    dynamo = importlib.import_module("torch._dynamo")
    counters = importlib.import_module("torch._dynamo.utils").counters
    base = importlib.import_module("torch.testing._internal.common_utils").TestCase

    class TestCase(base):  # type: ignore[misc, valid-type]
        def setUp(self) -> None:
            super().setUp()
            dynamo.reset()
            counters.clear()

        def tearDown(self) -> None:
            dynamo.reset()
            counters.clear()
            super().tearDown()

    module = types.ModuleType(name)
    module.TestCase, module.run_tests = TestCase, lambda *arguments, **settings: None  # type: ignore[attr-defined]
    return module


def supply_helpers(root: str) -> None:
    """Have ``torch._dynamo.testing`` and ``utils`` look up what they lack in PyTorch's source."""
    dynamo, testing, utils, guards = (importlib.import_module(f"torch._dynamo{name}")
                                      for name in ("", ".testing", ".utils", ".guards"))
    guards.guard_manager_testing_hook_fn = None  # type: ignore[attr-defined]
    for module, allowed in ((testing, None), (utils, UTILITIES)):
        short = module.__name__.rpartition(".")[2]
        names = shim.LazyNS(os.path.join(root, "_dynamo", f"{short}.py"), f"torch._dynamo.{short}")
        for known in (dynamo, module):
            names.update({key: value for key, value in vars(known).items() if not key.startswith("__")})
        for key in ("eval_frame", "output_graph"):
            with contextlib.suppress(ImportError):
                names[key] = importlib.import_module(f"torch._dynamo.{key}")
        names["debug_insert_nops"] = lambda function: function

        def get(key: str, names: Any = names, allowed: Any = allowed, module: types.ModuleType = module) -> Any:
            if key.startswith("__") or (allowed is not None and key not in allowed):
                raise AttributeError(f"module {module.__name__!r} has no attribute {key!r}")
            if key == "same":
                return testing.same
            try:
                return names[key]
            except KeyError:
                raise AttributeError(key) from None

        module.__getattr__ = get  # type: ignore[method-assign]


def install(lib: str, testdir: str) -> types.ModuleType:
    """Install the library as the harness does, then the helpers of the compiler's tests."""
    torch: types.ModuleType = harness_install(lib, testdir)
    # test_repros.py hangs a hook of PyTorch 2.6's signature onto each check of guards.
    testing = importlib.import_module("torch._dynamo.testing")
    testing.install_guard_manager_testing_hook = lambda hook: contextlib.nullcontext()  # type: ignore[attr-defined]
    if lib != "torch":
        supply_helpers(shim.torch_source_root())
        torch.ops.load_library = lambda path: None  # TestFX's setUp loads C++ classes, which only TorchScript's need
    return torch


def in_scope(excluded: list[tuple[str, re.Pattern[str]]], kind: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return what stays out of scope, by name or by source."""
    flags = re.IGNORECASE if kind == "name" else 0
    file = "".join(sys.argv[2:3])
    subjects = {"vmap/functorch", *(subject for start, subject in SUBJECTS.items() if file.startswith(start))}
    return [(name, re.compile(OUT_OF_SCOPE[kind], flags) if name == "dynamo/compile" else pattern)
            for name, pattern in excluded if name not in subjects]


harness_install, shim.install, shim.Finder = shim.install, install, Finder
worker.EXCLUDE_NAME, worker.EXCLUDE_SRC = in_scope(worker.EXCLUDE_NAME, "name"), in_scope(worker.EXCLUDE_SRC, "source")

if __name__ == "__main__":
    worker.main()
