"""A rule is a function from a call to rows, and a row is a way to run the operator on one dimension of a mesh.

A row has a placement for each output and for each input tensor: "if the inputs lie so, the operator on the processes'
parts gives outputs that lie so". That all are replicated is a way for every operator that has a rule.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .._dtensor_spec import DTensorSpec, TensorMeta
from ..placement_types import Placement, Replicate

R = Replicate()


class Run(NamedTuple):
    """The call that a row's replacement of the operator takes, as it goes to this process's parts."""

    call: Call
    func: Any
    args: dict[str, Any]
    mesh_dims: list[int]  # those that chose the row
    specs: list[DTensorSpec]  # of the inputs, redistributed
    outputs: list[DTensorSpec]


class Row(NamedTuple):
    """Placements of outputs (one for all, or one each) and of inputs, and what is run in the operator's place."""

    outputs: tuple[Placement, ...]
    inputs: tuple[Placement, ...]
    run: Callable[[Run], Any] | None = None


class Call:
    """A call of an operator: arguments by the schema's names, with a spec for each tensor.

    ``specs`` are those of all tensors in order; ``places`` has the indices in it that belong to an argument;
    ``outputs`` are shape, strides and dtype of the outputs.
    """

    def __init__(self, name: str, args: Mapping[str, Any], specs: Sequence[DTensorSpec],
                 places: Mapping[str, list[int]], outputs: Sequence[TensorMeta]):
        self.name, self.args, self.specs, self.places, self.outputs = name, args, list(specs), places, list(outputs)
        self.mesh_dim = 0  # the dimension of the mesh that rows are wanted for

    def __getitem__(self, name: str) -> Any:
        return self.args.get(name)

    def ndim(self, index: int = 0) -> int:
        """Return the number of dimensions of an input."""
        return self.specs[index].ndim

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of an input."""
        return tuple(self.specs[index].shape)

    def dim(self, name: str, index: int = 0) -> int:
        """Return an argument that is a dimension of an input, counted from the front."""
        return self[name] % max(self.ndim(index), 1)

    def even(self, dim: int, index: int = 0) -> bool:
        """Return True if a dimension of an input has parts of equal sizes, none empty, once it is divided."""
        mesh, size = self.specs[0].mesh, self.shape(index)[dim]
        others = max(spec.with_placements([R if i == self.mesh_dim else place for i, place in enumerate(
            spec.placements)]).parts(dim) for spec in self.specs if spec.ndim > dim)
        return size > 0 and size % (others * mesh.size(self.mesh_dim)) == 0

    def all(self, placement: Placement, outputs: Placement | None = None) -> Row:
        """Return the row in which all inputs, and outputs, have a placement."""
        return Row((placement if outputs is None else outputs,), (placement,) * len(self.specs))

    def row(self, outputs: Placement | Iterable[Placement], run: Callable[[Run], Any] | None = None, /,
            **inputs: Placement) -> Row:
        """Return the row in which the named inputs have placements, and all others are replicated."""
        given: list[Placement] = [R] * len(self.specs)
        for name, placement in inputs.items():
            for index in self.places.get(name, ()):
                given[index] = placement
        return Row((outputs,) if isinstance(outputs, Placement) else tuple(outputs), tuple(given), run)


Rule = Callable[[Call], Iterable[Row]]
#: The rules by the operators' names, without overload, and without the in-place mark.
RULES: dict[str, Rule] = {}


def rule(names: str) -> Callable[[Rule], Rule]:
    """Decorate the rule of some operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names.split(), function))
        return function

    return register
