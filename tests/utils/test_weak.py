"""References and dictionaries that do not keep tensors alive, and know them by identity, are PyTorch's."""
from __future__ import annotations

import copy
import importlib
from typing import Any

from tests.both import Program, assert_same_outcome, each_program


def weak(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.utils.weak")


def filled(t: Any, *keys: Any) -> Any:
    return weak(t).WeakTensorKeyDictionary({key: number for number, key in enumerate(keys)})


def joined(t: Any, join: Any) -> list[Any]:
    """Return what two dictionaries with a common key make, and what is in the first then."""
    x, y, z = t.ones(1), t.ones(1), t.ones(1)
    first, second = filled(t, x, y), filled(t, z, x)
    out = join(first, second)
    return [[found.get(key) for key in (x, y, z)] for found in (out, first)]


def deleted(t: Any) -> list[Any]:
    x, y = t.ones(1), t.ones(1)
    found = filled(t, x, y)
    reference, tensor = weak(t).WeakIdRef(x), weak(t).TensorWeakRef(x)
    before = [len(found), len(found.keyrefs()), reference() is x, tensor() is x]
    del x
    return [*before, len(found), [*found.values()], reference() is None, tensor() is None]


@each_program(
    lambda t: [(x := t.ones(2)) in (made := filled(t, x)), t.ones(2) in made, made[x], len(made),
               next(iter(made)) is x],
    lambda t: filled(t, t.ones(1))[t.ones(1)],
    lambda t: filled(t, x := t.ones(1)).pop(x),
    lambda t: [(ref := weak(t).WeakIdRef)(x := t.ones(1)) == ref(x), ref(x) == ref(y := t.ones(1)), ref(x) != ref(x),
               hash(ref(x)) == id(x), y is None],
    lambda t: (lambda ref: [ref == ref, ref == weak(t).WeakIdRef(t.ones(1))])(weak(t).WeakIdRef(t.ones(1))),
    lambda t: joined(t, lambda a, b: a | b), lambda t: joined(t, lambda a, b: a.__ior__(b)),
    lambda t: joined(t, lambda a, b: {**b} and dict(b) | a), lambda t: joined(t, lambda a, b: a.copy()),
    lambda t: joined(t, lambda a, b: copy.copy(a)), lambda t: joined(t, lambda a, b: copy.deepcopy(a)),
    lambda t: joined(t, lambda a, b: a | 3), lambda t: joined(t, lambda a, b: 3 | a),
    deleted, lambda t: weak(t).TensorWeakRef(3),
)
def test_tensors_are_known_by_identity_for_as_long_as_they_live(program: Program) -> None:
    assert_same_outcome(program)
