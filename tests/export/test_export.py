"""``torch.export``: the graph, what its inputs are, sizes that stay free, and programs in files."""
from __future__ import annotations

import importlib
import io
import re
import zipfile
from typing import Any

import pytest

import mindtorch
from tests.support import torch

LIBRARIES = (mindtorch, torch)


def exporter(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.export")


def network(lib: Any) -> Any:
    """Return a module with parameters, buffers, a constant, and nested arguments."""

    class Net(lib.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lin = lib.nn.Linear(3, 4)
            self.register_buffer("scale", lib.ones(4))
            self.register_buffer("hidden", lib.ones(4), persistent=False)
            self.bn = lib.nn.BatchNorm1d(4)

        def forward(self, x: Any, y: Any = None, *, z: Any) -> Any:
            h = self.lin(x).relu() * self.scale + self.hidden
            return {"a": self.bn(h), "n": (x.shape[0], h.view(-1) + z[0])}

    return Net()


def exported(lib: Any) -> Any:
    """Return the network, exported with a free first size."""
    export = exporter(lib)
    batch = export.Dim("batch", min=2, max=64)
    return export.export(network(lib), (lib.randn(5, 3),), {"z": [lib.ones(1)]},
                         dynamic_shapes={"x": {0: batch}, "z": [None]})


def test_the_signature_and_the_ranges_are_pytorchs() -> None:
    ours, theirs = (exported(lib) for lib in LIBRARIES)
    assert [str(spec) for spec in ours.graph_signature.input_specs] == [
        str(spec) for spec in theirs.graph_signature.input_specs]
    assert str(ours.range_constraints) == str(theirs.range_constraints)
    assert list(ours.state_dict) == list(theirs.state_dict)
    assert sorted(ours.constants) == sorted(theirs.constants)
    placeholders = [[(node.name, str(list(node.meta["val"].shape))) for node in program.graph.nodes
                     if node.op == "placeholder"] for program in (ours, theirs)]
    assert placeholders[0] == placeholders[1]


def test_the_module_computes_what_the_original_does_for_other_sizes() -> None:
    net = network(mindtorch)
    export = exporter(mindtorch)
    program = export.export(net, (mindtorch.randn(5, 3),), {"z": [mindtorch.ones(1)]},
                            dynamic_shapes={"x": {0: export.Dim("batch")}, "z": [None]})
    x, z = mindtorch.randn(8, 3), [mindtorch.ones(1)]
    module = program.module()
    found, wanted = module(x, z=z), net(x, z=z)
    assert found["a"].allclose(wanted["a"]) and found["n"][0] == 8 and found["n"][1].allclose(wanted["n"][1])
    found["a"].sum().backward()
    assert module.lin.weight is net.lin.weight and net.lin.weight.grad is not None


def test_other_sizes_than_promised_are_refused_in_pytorchs_words() -> None:
    for x in (lambda lib: lib.randn(5, 4), lambda lib: lib.randn(100, 3)):
        messages = []
        for lib in LIBRARIES:
            with pytest.raises(AssertionError, match="Guard failed") as caught:
                exported(lib).module()(x(lib), z=[lib.ones(1)])
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def test_decompositions_write_nothing_and_return_new_values_of_buffers() -> None:
    ours, theirs = (exported(lib).run_decompositions() for lib in LIBRARIES)
    assert sorted(ours.graph_signature.buffers_to_mutate.values()) == sorted(
        theirs.graph_signature.buffers_to_mutate.values())
    targets = [[str(node.target) for node in program.graph.nodes if node.op == "call_function"]
               for program in (ours, theirs)]
    assert sorted(targets[0]) == sorted(targets[1])
    module = ours.module()
    module(mindtorch.randn(7, 3), z=[mindtorch.ones(1)])
    module(mindtorch.randn(7, 3), z=[mindtorch.ones(1)])
    assert module.bn.num_batches_tracked.item() == 2


def test_a_size_that_the_program_makes_a_number_is_an_error() -> None:
    class Fixed(mindtorch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + x.new_ones(5, 2)

    export = exporter(mindtorch)
    with pytest.raises(Exception, match=r"Constraints violated \(batch\)!(.*\n)*.*You marked batch as dynamic but"):
        export.export(Fixed(), (mindtorch.ones(5, 2),), dynamic_shapes=({0: export.Dim("batch")},))
    program = export.export(Fixed(), (mindtorch.ones(5, 2),), dynamic_shapes=({0: export.Dim.AUTO},))
    assert program.graph_signature.user_inputs == ("x",) and not program.range_constraints


def test_equal_and_derived_sizes_are_one_symbol() -> None:
    class Add(mindtorch.nn.Module):
        def forward(self, x: Any, y: Any, z: Any) -> Any:
            return x + y + z[1:]

    export = exporter(mindtorch)
    size = export.Dim("size", min=3)
    program = export.export(Add(), (mindtorch.ones(4), mindtorch.ones(4), mindtorch.ones(5)),
                            dynamic_shapes=({0: size}, {0: size}, {0: size + 1}))
    shapes = [str(node.meta["val"].shape[0]) for node in program.graph.nodes if node.op == "placeholder"]
    assert shapes == [shapes[0], shapes[0], f"{shapes[0]} + 1"]
    assert program.module()(mindtorch.ones(6), mindtorch.ones(6), mindtorch.ones(7)).shape == (6,)


def test_sizes_of_data_are_symbols() -> None:
    class Positive(mindtorch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x[x > 0] * 2, x.nonzero().shape[0]

    program = exporter(mindtorch).export(Positive(), (mindtorch.tensor([1.0, -1.0, 2.0]),))
    assert re.search(r"u\d+", program.graph_module.print_readable(print_output=False))
    found, count = program.module()(mindtorch.tensor([1.0, 3.0, 5.0]))
    assert found.tolist() == [2.0, 6.0, 10.0] and count == 3


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_sizes_of_data_pass_through_views_of_contiguous_tensors(lib: Any) -> None:
    class Repeated(lib.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            count = x.item()
            rows = y.unsqueeze(0).repeat(count, 1)
            return rows + count, rows.view(-1), rows.reshape(count, 3, 2).sum(0)

    program = lib.export.export(Repeated(), (lib.tensor(4), lib.arange(6.0)), strict=False)
    rows, flat, added = program.module()(lib.tensor(2), lib.arange(6.0))
    assert rows.shape == (2, 6) and flat.tolist() == [*range(6)] * 2 and added.tolist() == [[0, 2], [4, 6], [8, 10]]


def test_promises_about_data_are_checked_when_the_program_runs() -> None:
    class Promise(mindtorch.nn.Module):
        def forward(self, x: Any) -> Any:
            count = x.item()
            mindtorch._check(count >= 4)
            return mindtorch.full((count, 1), 1)

    module = exporter(mindtorch).export(Promise(), (mindtorch.tensor([5]),)).module()
    assert module(mindtorch.tensor([6])).shape == (6, 1)
    with pytest.raises(RuntimeError, match=r"Runtime assertion failed for expression u\d+ >= 4"):
        module(mindtorch.tensor([3]))


def test_a_module_that_stands_twice_is_left_as_it_was() -> None:
    class Shared(mindtorch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = mindtorch.nn.LayerNorm([4])
            self.norms = mindtorch.nn.ModuleList([layer, layer])
            self.register_buffer("hidden", mindtorch.ones(4), persistent=False)

        def forward(self, x: Any) -> Any:
            for norm in self.norms:
                x = norm(x)
            return x + self.hidden

    net, x = Shared(), mindtorch.randn(2, 4)
    program = exporter(mindtorch).export(net, (x,))
    assert all(type(tensor) is not mindtorch._subclasses.FakeTensor for tensor in net.state_dict().values())
    assert program.module()(x).allclose(net(x)) and "hidden" not in program.module().state_dict()


def test_a_file_holds_the_same_program_and_runs_nothing() -> None:
    export, program, file = exporter(mindtorch), exported(mindtorch), io.BytesIO()
    export.save(program, file, extra_files={"note": "hello"})
    extra = {"note": ""}
    loaded = export.load(file, extra_files=extra)
    assert str(loaded) == str(program) and extra == {"note": "hello"}
    x, z = mindtorch.randn(9, 3), [mindtorch.ones(1)]
    assert loaded.module()(x, z=z)["n"][1].allclose(program.module()(x, z=z)["n"][1])
    hostile = io.BytesIO()
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(hostile, "w") as other:
        for name in archive.namelist():
            data = archive.read(name)
            other.writestr(name, data.replace(b'"s77"', b'"__import__(1)"') if name == "program.json" else data)
    with pytest.raises((ValueError, KeyError)):
        export.load(hostile)


def test_a_program_cannot_be_called_by_its_graphs_inputs() -> None:
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        exported(mindtorch)(mindtorch.ones(1))


def test_functions_of_higher_order_operators_become_graphs() -> None:
    class Choice(mindtorch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = mindtorch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            y = mindtorch.cond(x.sum() > 0, lambda x: self.lin(x).relu(), lambda x: x - 1, (x,))
            total, sums = mindtorch._higher_order_ops.scan(lambda c, row: (c + row, c * 2), mindtorch.zeros(3), y)
            return y, total, sums, mindtorch._higher_order_ops.map(lambda row, z: row * z, y, x[0])

    net, x = Choice(), mindtorch.randn(4, 3).abs()
    program = exporter(mindtorch).export(net, (x,))
    targets = [str(node.target) for node in program.graph.nodes]
    assert {"cond", "scan", "map_impl", "true_graph_0", "false_graph_0"} <= set(targets)
    module = program.module()
    for given in (x, -x):
        assert all(ours.allclose(wanted) for ours, wanted in zip(module(given), net(given), strict=True))


def operators(program: Any) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def layers(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(2, 4), nn.Softmax(1), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.5))


@pytest.mark.parametrize("keeps", [(), ("linear.default",), ("linear.default", "conv2d.default", "flatten.using_ints")])
def test_composites_stay_whole_until_a_table_decomposes_them(keeps: tuple[str, ...]) -> None:
    found = []
    for lib in LIBRARIES:
        program = exporter(lib).export(layers(lib), (lib.ones(1, 1, 4, 4),))
        table = exporter(lib).default_decompositions()
        for name in keeps:
            packet, overload = name.split(".")
            table.pop(getattr(getattr(lib.ops.aten, packet), overload), None)
        found.append([operators(program), operators(program.run_decompositions(table)),
                      operators(program.run_decompositions()), operators(program.run_decompositions({})),
                      program.graph_module.code, str(program.graph_signature)])
    assert found[0] == found[1] and "aten.linear.default" in found[0][0]


def constants(lib: Any) -> Any:
    class Net(lib.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, k: Any = 2, *, s: Any = "a", l: Any = None) -> Any:
            return x * k * l[0]["n"] if s == "a" else x

    x = lib.ones(4)
    return exporter(lib).export(Net(), (x, 3), {"s": "a", "l": [{"n": 1.5, "t": x}]}).module()


@pytest.mark.parametrize("call", [
    lambda f, x: f(x, 3, s="a", l=[{"n": 1.5, "t": x}]), lambda f, x: f(x, 3.0, l=[{"n": 1.5, "t": x}], s="a"),
    lambda f, x: f(x, 4, s="a", l=[{"n": 1.5, "t": x}]), lambda f, x: f(x, 3, s="b", l=[{"n": 1.5, "t": x}]),
    lambda f, x: f(x, 3, s="a", l=[{"n": 2.5, "t": x}]), lambda f, x: f(x, 3, s="a", l=[{"n": 1.5, "t": x[:2]}]),
    lambda f, x: f(x, 3), lambda f, x: f(x, k=3, s="a", l=[{"n": 1.5, "t": x}])])
def test_values_that_are_part_of_the_program_are_checked(call: Any) -> None:
    def outcome(lib: Any) -> Any:
        try:
            return call(constants(lib), lib.ones(4)).tolist()
        except (AssertionError, ValueError) as error:
            return type(error), str(error)

    assert outcome(mindtorch) == outcome(torch)


def test_another_structure_of_the_arguments_is_refused() -> None:
    for lib in LIBRARIES:
        with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec"):
            constants(lib)(lib.ones(4), 3, s="a", l=None)


#: Functions of two vectors, which have six and ``last`` elements, and whose first sizes are Dims.
RELATED = {
    "equal": (lambda x, y: x + y, 6, {}), "twice": (lambda x, y: x.repeat(2) + y, 12, {}),
    "one more": (lambda x, y: x[1:] + y, 5, {}), "a number": (lambda x, y: (x + x.new_ones(6)).sum() + y, 5, {}),
    "at least": (lambda x, y: (x * 2 if x.shape[0] > 3 else x).sum() + y, 5, {}),
    "at most": (lambda x, y: (x * 2 if x.shape[0] < 10 else x).sum() + y, 5, {"max": 12}),
}


@pytest.mark.parametrize("name", RELATED)
def test_sizes_that_the_program_relates_are_an_error_with_the_mend(name: str) -> None:
    function, last, options = RELATED[name]
    said = []
    for lib in LIBRARIES:
        net = type("Net", (lib.nn.Module,), {"forward": lambda self, x, y: function(x, y)})
        dims = [exporter(lib).Dim(letter, **options) for letter in "ab"]
        with pytest.raises(Exception, match="Constraints violated") as raised:
            exporter(lib).export(net(), (lib.ones(6), lib.ones(last)), dynamic_shapes=({0: dims[0]}, {0: dims[1]}))
        said.append(str(raised.value).partition("\n\nThe error above")[0].strip())
    assert said[0] == said[1]


def test_one_tensor_given_twice_is_two_inputs() -> None:
    """PyTorch's program reads the last of them alone."""
    export = exporter(mindtorch).export
    net = type("Net", (mindtorch.nn.Module,), {"forward": lambda self, x, y: x - y})
    x = mindtorch.ones(3)
    assert export(net(), (x, x)).module()(x, x * 3).tolist() == [-2.0] * 3


@pytest.mark.parametrize("truth", [lambda x: x.sum() > 0, lambda x: x.any(), lambda x: x.sum().item() > 0])
def test_a_branch_on_data_is_refused(truth: Any) -> None:
    for lib in LIBRARIES:
        net = type("Net", (lib.nn.Module,), {"forward": lambda self, x: x * 2 if truth(x) else x})
        with pytest.raises(Exception, match="Could not guard on data-dependent expression"):
            exporter(lib).export(net(), (lib.ones(3),))


def test_nodes_name_the_lines_and_modules_that_they_come_from() -> None:
    found: list[Any] = []
    printed = ""
    for lib in LIBRARIES:
        class Net(lib.nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.layers = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())  # noqa: B023

            def forward(self, x: Any) -> Any:
                y = self.layers(x).exp()
                return self.layers(y)

        program = exporter(lib).export(Net(), (lib.ones(1, 2),))
        printed = printed or str(program)
        found.append([])
        for one in (program, program.run_decompositions()):
            for node in one.graph.nodes:
                lines = re.findall(r'test_export\.py", line \d+, in (\w+)\n    (.+)', node.stack_trace or "")
                modules = [(key, name, kind.rpartition(".")[2])
                           for key, (name, kind) in (node.meta.get("nn_module_stack") or {}).items()]
                found[-1].append((node.name, lines, modules))
    assert found[0] == found[1]
    assert re.search(r"# File: .*test_export\.py:\d+ in forward, code: y = self\.layers\(x\)\.exp\(\)\n", printed)


@pytest.mark.parametrize(("sizes", "said"), [
    (["batch"], r"to have the same length as the actual tensor shape torch.Size\(\[4, 3\]\) \(expected 2, but got 1 "),
    (["batch", None, None], r"\(expected 2, but got 3 "), ({2: "batch"}, "Unexpected dimension 2 "),
    ({"a": "batch"}, "Unexpected dimension a "), (3, "Unexpected dynamic_shape 3 of tensor"),
    ("batch", r"Unexpected dynamic_shape Dim\('batch'\) of tensor"),
])
def test_free_sizes_are_named_by_dimension(sizes: Any, said: str) -> None:
    export = exporter(mindtorch)

    def named(part: Any) -> Any:
        return export.Dim(part) if isinstance(part, str) else part

    spec = [named(part) for part in sizes] if isinstance(sizes, list) else (
        {dim: named(part) for dim, part in sizes.items()} if isinstance(sizes, dict) else named(sizes))
    with pytest.raises(export.dynamic_shapes.UserError, match=said):
        export.export(Double(), (mindtorch.ones(4, 3),), dynamic_shapes=(spec,))


@pytest.mark.parametrize("hint", ["AUTO", "DYNAMIC", "STATIC"])
def test_a_size_without_a_name_is_free_if_asked_for(hint: str) -> None:
    export = exporter(mindtorch)
    program = export.export(Double(), (mindtorch.ones(4, 3),), dynamic_shapes=({-1: getattr(export.Dim, hint)},))
    assert len(program.range_constraints) == (hint != "STATIC")


class Double(mindtorch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2


def test_a_program_knows_that_it_is_exported() -> None:
    found: list[list[Any]] = []
    for lib in LIBRARIES:
        class Asks(lib.nn.Module):  # type: ignore[misc,name-defined]
            def forward(self, x: Any) -> Any:
                ask = lib.compiler  # noqa: B023  it runs in this turn
                found[-1] += [ask.is_exporting(), ask.is_compiling(), ask.is_dynamo_compiling()]
                return x + 1 if ask.is_exporting() else x - 1

        found.append([])
        program = exporter(lib).export(Asks(), (lib.ones(2),))
        found[-1] += [lib.compiler.is_exporting(), program.module()(lib.ones(2)).tolist()]
    assert found[0] == found[1] == [True, True, False, False, [2, 2]]
    assert mindtorch.compile(lambda x: x + mindtorch.compiler.is_exporting(), fullgraph=True)(mindtorch.ones(1)) == 1


@pytest.mark.parametrize("value,said", [(2, r"Eq\(u0, 2\)"), (2.0, r"Eq\(zuf0, 2.0\)")])
def test_an_equality_that_the_program_promises_is_checked(value: Any, said: str) -> None:
    class Promises(mindtorch.nn.Module):
        def forward(self, x: Any, i: Any) -> Any:
            number = i.item()
            mindtorch._check(number == 2)
            return x + number

    made = mindtorch.export.export(Promises(), (mindtorch.ones(1), mindtorch.tensor(value))).module()
    assert made(mindtorch.ones(1), mindtorch.tensor(value)).tolist() == [3]
    with pytest.raises(RuntimeError, match=f"Runtime assertion failed for expression {said}"):
        made(mindtorch.ones(1), mindtorch.tensor(value + 1))


class Scaled(mindtorch.nn.Module):
    def forward(self, x: Any, y: Any = None, *, n: Any = 2) -> Any:
        return x * n + (0 if y is None else y["a"].sum())


class Halved(mindtorch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.reshape(2, -1) if x.shape[0] > 3 else x


#: A module, the shape of its argument, further arguments by name, and those of further calls.
FURTHER = {
    "no further inputs": ("Scaled", (3, 4), {}, []),
    "another size": ("Scaled", (3, 4), {}, [((5, 4), {})]),
    "a size in a dictionary": ("Scaled", (3, 4), {"y": 2}, [((3, 4), {"y": 7})]),
    "the same number": ("Scaled", (3, 4), {"n": 3}, [((3, 4), {"n": 3})]),
    "another number": ("Scaled", (3, 4), {"n": 3}, [((3, 4), {"n": 4}), ((3, 4), {"n": 5})]),
    "another fraction": ("Scaled", (3, 4), {"n": 3.0}, [((3, 4), {"n": 4.0})]),
    "another type": ("Scaled", (3, 4), {"n": 3.0}, [((3, 4), {"n": 4})]),
    "another number of dimensions": ("Scaled", (3, 4), {}, [((3, 4, 1), {})]),
    "a size that the program takes": ("Halved", (4, 3), {}, [((6, 3), {})]),
    "a size that the program does not take": ("Halved", (4, 3), {}, [((2, 3), {})]),
}


@pytest.mark.parametrize("name", FURTHER)
def test_sizes_in_which_additional_inputs_differ_are_free(name: str) -> None:
    module, shape, named, further = FURTHER[name]

    def exported(lib: Any) -> Any:
        def given(shape: Any, named: Any) -> Any:
            return (lib.ones(shape),), {key: {"a": lib.ones(value)} if key == "y" else value
                                        for key, value in named.items()}

        export = importlib.import_module(f"{lib.__name__}.export")
        more = export.AdditionalInputs()
        for each in further:
            more.add(*given(*each))
        kind = type("Module", (lib.nn.Module,), {"forward": globals()[module].forward})
        try:
            program = export.export(kind(), *given(shape, named), dynamic_shapes=more)
        except (RuntimeError, ValueError) as error:
            return type(error).__name__
        return [str(getattr(node.meta["val"], "shape", node.meta["val"])) for node in program.graph.nodes
                if node.op == "placeholder"]

    assert exported(mindtorch) == exported(torch)


def test_additional_inputs_are_a_tuple_and_a_dictionary() -> None:
    more = mindtorch.export.AdditionalInputs()
    for wrong in (([1],), ((1,), [1])):
        with pytest.raises(AssertionError, match="must be"):
            more.add(*wrong)


def test_the_table_of_decompositions_finds_composites_that_are_defined_later() -> None:
    table = mindtorch.export.default_decompositions()
    assert isinstance(table, mindtorch.export.decomp_utils.CustomDecompTable)
    library = mindtorch.library.Library("of_the_table", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    twice, linear = mindtorch.ops.of_the_table.twice.default, mindtorch.ops.aten.linear.default

    class Both(mindtorch.nn.Module):
        def forward(self, x: Any) -> Any:
            return mindtorch.ops.of_the_table.twice(mindtorch.nn.functional.linear(x, x))

    program = mindtorch.export.export(Both(), (mindtorch.ones(2, 2),))

    def called(table: Any) -> list[Any]:
        return [node.target for node in program.run_decompositions(table).graph.nodes if node.op == "call_function"]

    assert twice in table and len(table) == len([*table]) == len({**table})
    assert twice not in called(table) and linear not in called(table)
    kept = table.copy()
    assert callable(kept.pop(twice)) and kept.pop(twice, None) is None and twice not in kept and twice in table
    del kept[linear]
    assert called(kept) == [linear, twice]
    kept[linear] = table[linear]
    kept.update({twice: table[twice]})
    assert called(kept) == called(table)
    with pytest.raises(KeyError):
        del kept[mindtorch.ops.aten.mm.default]
