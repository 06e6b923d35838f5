"""``torch.export.export``: run a module on fake tensors and keep the graph of its operators."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import Any

import sympy

from .._base.symbolic import SYMBOLIC, SymBool, SymFloat, SymInt
from .._compile.stance import stance_of_thread
from .._dispatch.overloads import ops
from .._dynamo.exc import UserError
from .._guards import GetItemSource, LocalSource, Source
from .._subclasses.fake_tensor import FakeTensorMode
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_leaves, tree_unflatten
from ..func import functional_call
from ..fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from ..fx.experimental.size_guards import GuardPrinter, conditions
from ..fx.experimental.symbolic_shapes import ShapeEnv, SymNode
from ..fx.graph_module import GraphModule
from ..fx.node import has_side_effect
from ..nn._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..nn.module import Module
from ..utils._sympy.functions import Mod
from ..utils._sympy.numbers import int_oo
from ..utils._sympy.value_ranges import ValueRanges
from .dynamic_shapes import (
    AdditionalInputs, Dim, ShapesCollection, argument_names, by_dimension, combined_args, context_of, of_leaves,
)
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, SymBoolArgument,
    SymFloatArgument, SymIntArgument, TensorArgument,
)


def export(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, dynamic_shapes: Any = None,
           strict: bool = False, preserve_module_call_signature: tuple[str, ...] = (),
           prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:
    """Return the graph of operators that a module's forward calls on example arguments, composites whole
    (``torch.export.export``). ``dynamic_shapes`` names the sizes that stay free; all others become numbers. The program
    has to take all inputs of ``AdditionalInputs``.

    The module runs on fake tensors, so that control flow in Python is followed for these arguments; ``strict`` is
    accepted for the same result.

    Raises:
        UserError: if ``dynamic_shapes`` does not fit the arguments, or a size that is to be free becomes a number.
        RuntimeError: for additional inputs that the program does not take.
        TypeError: if ``args`` is not a tuple.
    """
    check_arguments(mod, args)
    program = Export(mod, args, kwargs or {}, dynamic_shapes, prefer_deferred_runtime_asserts_over_guards).program()
    if isinstance(dynamic_shapes, AdditionalInputs):
        dynamic_shapes.verify(program)
    return program


def check_arguments(mod: Any, args: Any) -> None:
    """Refuse to export what is no module, or for what is no tuple of arguments.

    Raises:
        ValueError: for another object than a module.
        UserError: for other arguments than a tuple.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")


has_side_effect(ops.aten._assert_scalar.default)


class Export:
    """One export: its inputs with their names, the trace, and what is known of sizes."""

    def __init__(self, mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any,
                 deferred: bool) -> None:
        self.mod, self.args = mod, args
        combined = combined_args(mod, args, kwargs)
        self.kwargs = {name: kwargs[name] for name in sorted(kwargs, key=_order(combined, kwargs))}
        self.combined = combined
        if isinstance(dynamic_shapes, (AdditionalInputs, ShapesCollection)):
            dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, self.kwargs)
        self.leaves, self.in_spec = tree_flatten((args, self.kwargs))
        self.specs = of_leaves(combined, dynamic_shapes)
        self.env = ShapeEnv(duck_shape=False, prefer_deferred_runtime_asserts_over_guards=deferred)
        self.mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True, export=True)
        self.paths = _paths(combined)
        self.sources = [_source_of(path) for path in self.paths]
        self.names = _leaf_names(combined)

    def program(self) -> ExportedProgram:
        """Trace the module, and describe the graph."""
        tensors = {**dict(self.mod.named_parameters(remove_duplicate=False)),
                   **dict(self.mod.named_buffers(remove_duplicate=False))}
        owned = _owned_names(self.mod)
        fakes = {name: self.mode.from_tensor(tensor, static_shapes=True) for name, tensor in tensors.items()}
        inputs = self._fake_inputs()
        out_spec: Any = None
        count = len(fakes)
        results: list[Any] = []

        def run(*flat: Any) -> Any:
            nonlocal out_spec, results
            given, named = tree_unflatten(self._with_constants(list(flat[count:])), self.in_spec)
            out = functional_call(self.mod, {name: tensor for name, tensor in zip(fakes, flat[:count], strict=True)
                                             if name in owned}, given, named, tie_weights=False)
            results, out_spec = tree_flatten(out)
            _check_outputs(results)
            self._assert_promises()
            return tuple(results)

        traced = [value for value in inputs if isinstance(value, Tensor) or value.__class__ in SYMBOLIC]
        with self.mode, _module_stacks(self.mod), _exporting():
            gm = make_fx(run, pre_dispatch=True, record_stack_traces=True)(*fakes.values(), *traced)
        gm.__class__.__name__ = "GraphModule"
        gm.graph.eliminate_dead_code()
        constants = self._lift_constants(gm, count)
        self._name_placeholders(gm, list(fakes), list(constants), inputs)
        self._check_constraints(inputs)
        signature = self._graph_signature(gm, tensors, constants, inputs)
        saved = self.mod.state_dict(keep_vars=True)
        state = {name: tensor for name, tensor in tensors.items() if name in saved}
        further = {name: tensor for name, tensor in tensors.items() if name not in state} | constants
        call = ModuleCallSignature([], [], self.in_spec, out_spec,
                                   argument_names(self.mod, self.args, self.kwargs))
        modules = [ModuleCallEntry("", call), *[ModuleCallEntry(name) for name, _ in self.mod.named_modules() if name]]
        return ExportedProgram(gm, None, signature, state, self._range_constraints(), modules,
                               (self.args, self.kwargs), further, guards=self._guards(inputs), input_paths=self.paths)

    def _assert_promises(self) -> None:
        """Have the graph check the conditions on data that the program promised (``torch._check``). An equality is
        among them, by which the size would be known.
        """
        env, known = self.env, self.env.replacements
        env.replacements = {}
        env._changed()
        try:
            for promises in [*env.deferred_runtime_asserts.values()]:
                for promise in dict.fromkeys(promise.expr for promise in promises):
                    ops.aten._assert_scalar.default(SymBool(SymNode(promise, env, bool)),
                                                    f"Runtime assertion failed for expression {promise}")
        finally:
            env.replacements = known
            env._changed()

    def _with_constants(self, traced: list[Any]) -> list[Any]:
        """Return the leaves of the arguments: traced ones, and Python values as they are."""
        rest = iter(traced)
        return [next(rest) if isinstance(leaf, Tensor) or (type(leaf) in (int, float) and _is_free(wanted))
                else leaf for leaf, wanted in zip(self.leaves, self.specs, strict=True)]

    def _fake_inputs(self) -> list[Any]:
        """Return fake tensors for tensors, symbols for integers that are free, and other values as they are."""
        found: list[Any] = []
        named: dict[str, Any] = {}
        _check_names(self.specs)
        derived: list[tuple[Any, Dim]] = []
        given: set[int] = set()
        for leaf, spec, source in zip(self.leaves, self.specs, self.sources, strict=True):
            if isinstance(leaf, Tensor):
                if id(leaf) in given:  # a tensor has one fake: given twice, it would be one input
                    leaf = leaf.detach().requires_grad_(leaf.requires_grad)
                given.add(id(leaf))
                fake = self.mode.from_tensor(leaf, source=source, symbolic_context=context_of(leaf, spec))
                for size, wanted in zip(fake.shape, by_dimension(spec, leaf.dim()), strict=True):
                    if isinstance(wanted, Dim) and isinstance(size, SymInt):
                        symbol = size.node.expr
                        if wanted.root is not wanted:
                            derived.append((symbol, wanted))
                        elif wanted.__name__ in named:
                            self._equate(symbol, named[wanted.__name__], wanted)
                        else:
                            named[wanted.__name__] = symbol
                found.append(fake)
            elif type(leaf) is int and _is_free(spec):
                symbol = self.env.create_unspecified_symbol(leaf, source)
                found.append(self.env.create_symintnode(symbol, hint=leaf, source=source))
            else:
                found.append(leaf)
        for symbol, wanted in derived:
            if wanted.root.__name__ in named:
                self._equate(symbol, wanted.fn(named[wanted.root.__name__]), wanted)
        return found

    def _equate(self, symbol: Any, expr: Any, wanted: Dim) -> None:
        """Use the equality of two free sizes. Raises UserError if the examples are not equal."""
        value, other = self.env.var_to_val[symbol], expr.xreplace(self.env.var_to_val)
        if value != other:
            raise UserError(f"Constraints violated ({wanted.__name__})! The sizes of one Dim differ in the examples: "
                            f"{value} and {other}")
        if symbol != expr:
            self.env._narrow(symbol, self.env.bound_sympy(expr))
            self.env.replacements[symbol] = expr
            self.env._changed()

    # -- the graph -------------------------------------------------------------------------------------------------

    def _lift_constants(self, gm: GraphModule, before: int) -> dict[str, Any]:
        """Replace the graph's constants by inputs behind the module's tensors."""
        constants: dict[str, Any] = {}
        names: dict[int, str] = {}
        owned = {id(tensor): name for name, tensor in _attributes(self.mod)}
        placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
        place = placeholders[before] if before < len(placeholders) else next(
            node for node in gm.graph.nodes if node.op != "placeholder")
        made: dict[str, Any] = {}
        for node in list(gm.graph.nodes):
            if node.op != "get_attr":
                continue
            value = getattr(gm, str(node.target), None)
            if not isinstance(value, Tensor):
                continue
            name = names.get(id(value))
            if name is None:
                lifted = sum(target.startswith("lifted_tensor_") for target in constants)
                name = names[id(value)] = owned.get(id(value), f"lifted_tensor_{lifted}")
                constants[name] = value
                with gm.graph.inserting_before(place):
                    made[name] = gm.graph.placeholder(f"c_{re.sub('[^a-zA-Z0-9]', '_', name)}")
                made[name].meta["val"] = self.mode.from_tensor(value, static_shapes=True)
            node.replace_all_uses_with(made[name])
            gm.graph.erase_node(node)
        for target in [name for name in vars(gm) if name.startswith(("_tensor_constant", "_param_constant"))]:
            delattr(gm, target)
        return constants

    def _name_placeholders(self, gm: GraphModule, tensors: list[str], constants: list[str],
                           inputs: list[Any]) -> None:
        """Name the graph's inputs for the module's attributes and the arguments."""
        parameters = dict(self.mod.named_parameters(remove_duplicate=False))
        names = [f"{'p' if name in parameters else 'b'}_{_plain(name)}" for name in tensors]
        names += [f"c_{_plain(name)}" for name in constants]
        names += [name for name, value in zip(self.names, inputs, strict=True)
                  if isinstance(value, Tensor) or value.__class__ in SYMBOLIC]
        names = [f"{name}_{names[:i].count(name)}" if name in names[:i] else name for i, name in enumerate(names)]
        nodes = [node for node in gm.graph.nodes if node.op == "placeholder"]
        for node in nodes:
            node._rename(f"__{node.name}")
        for node, name in zip(nodes, names, strict=True):
            taken = next((other for other in gm.graph.nodes if other.name == name and other is not node), None)
            if taken is not None:
                taken._rename(f"{name}_1")
            gm.graph._graph_namespace._used_names.discard(name)
            node._rename(name)
            node.name = node.target = name  # also a name that is Python's: the code renames it
        for value, name in zip(inputs, self.names, strict=True):  # values that are part of the program
            if not (isinstance(value, Tensor) or value.__class__ in SYMBOLIC):
                later = [node for node, own in zip(nodes, names, strict=True)
                         if own in self.names and self.names.index(own) > self.names.index(name)]
                place = later[0] if later else next(n for n in gm.graph.nodes if n.op != "placeholder")
                with gm.graph.inserting_before(place):
                    gm.graph.placeholder(name).meta["val"] = value
        gm.recompile()

    def _graph_signature(self, gm: GraphModule, tensors: dict[str, Any], constants: dict[str, Any],
                         inputs: list[Any]) -> ExportGraphSignature:
        parameters = dict(self.mod.named_parameters(remove_duplicate=False))
        saved = self.mod.state_dict()
        nodes = iter([node for node in gm.graph.nodes if node.op == "placeholder"])
        specs = []
        for name in tensors:
            kind = InputKind.PARAMETER if name in parameters else InputKind.BUFFER
            specs.append(InputSpec(kind, TensorArgument(next(nodes).name), name,
                                   name in saved if kind is InputKind.BUFFER else None))
        specs += [InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(next(nodes).name), name) for name in constants]
        specs += [InputSpec(InputKind.USER_INPUT, argument_of(next(nodes).name, value), None) for value in inputs]
        output = next(iter(reversed(gm.graph.nodes)))
        outputs = [OutputSpec(OutputKind.USER_OUTPUT, argument_of(getattr(node, "name", ""), _value(node)), None)
                   for node in output.args[0]]
        return ExportGraphSignature(specs, outputs)

    # -- sizes -----------------------------------------------------------------------------------------------------

    def _named_sizes(self, inputs: list[Any]) -> Iterator[tuple[Any, str, str, Any]]:
        """Yield, for each size that ``dynamic_shapes`` frees by name or by ``Dim.DYNAMIC``, the wish, its name, the
        code of the size, and its expression.
        """
        for fake, spec, source in zip(inputs, self.specs, self.sources, strict=True):
            if isinstance(fake, Tensor):
                for i, (size, wanted) in enumerate(zip(fake.shape, by_dimension(spec, fake.dim()), strict=True)):
                    if wanted is not None and not isinstance(wanted, int) and wanted not in (Dim.AUTO, Dim.STATIC):
                        code = f"{source.name}.size()[{i}]"
                        expr = self.env.simplify(size.node.expr) if isinstance(size, SymInt) else sympy.sympify(size)
                        yield wanted, wanted.__name__ if isinstance(wanted, Dim) else code, code, expr

    def _check_constraints(self, inputs: list[Any]) -> None:
        """Raise UserError if a size that is to be free became a number or another one's, or has a smaller range."""
        sizes = [*self._named_sizes(inputs)]
        first: dict[Any, tuple[str, str]] = {}
        for wanted, name, code, expr in sizes:
            if isinstance(wanted, Dim) and expr.is_Symbol:
                first.setdefault(expr, (name, code))
        names = {symbol: sympy.Symbol(name) for symbol, (name, _) in first.items()}
        wrong: dict[str, list[str]] = {}  # by the names of sizes
        fixes: dict[str, str] = {}
        for wanted, name, code, expr in sizes:
            said = wrong.setdefault(name, [])
            if expr.is_Integer:
                said.append(f"You marked {name} as dynamic but your code specialized it to be a constant ({expr}). If "
                            "you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using "
                            "Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.")
                if isinstance(wanted, Dim):
                    fixes[name] = f"{name} = {expr}"
            elif isinstance(wanted, Dim) and wanted.root is wanted:
                other = first.get(expr, (name, code))
                if other[0] != name:
                    said.append(f"The values of {name} = {code} and {other[0]} = {other[1]} must always be equal.")
                    fixes[name] = f"{name} = {other[0]}"
                elif not expr.is_Symbol and expr.free_symbols <= names.keys() and len(expr.free_symbols) == 1:
                    root, place = first[next(iter(expr.free_symbols))]
                    fixes[name] = f"{name} = {expr.xreplace(names)}"
                    said.append(f"The values of {name} = {code} must always be related to the values of {root} = "
                                f"{place} by {fixes[name]}.")
                else:
                    said += self._narrower(wanted, code, expr, fixes)
        if any(wrong.values()):
            shown = "\n".join(f"  - {line}" for said in wrong.values() for line in dict.fromkeys(said))
            asked = [name for name, said in wrong.items() if said]
            raise UserError(f"Constraints violated ({', '.join(asked)})! For more information, run with "
                            f'TORCH_LOGS="+dynamic".\n{shown}' + (
                                "\nSuggested fixes:\n  " + "\n  ".join(fixes.values()) if fixes else ""))

    def _narrower(self, wanted: Dim, code: str, expr: Any, fixes: dict[str, str]) -> list[str]:
        """Return the conditions of the program that not all values of a ``Dim`` satisfy; note what would."""
        name, known = wanted.__name__, self.env.bound_sympy(expr)
        ends = [f"{wanted.min} <= " if wanted.min > 2 else "", f" <= {wanted.max}" if wanted.max != inf else ""]
        head = (f"Not all values of {name} = {code} in the specified range{f' {ends[0]}{name}{ends[1]}' * any(ends)} "
                "satisfy the generated guard ")
        said = []
        if known.lower > max(wanted.min, 2) or known.upper < wanted.max:
            most = "IntInfinity()" if known.upper == int_oo else known.upper
            said.append(f"{head}{known.lower} <= {code} and {code} <= {most}")
            limits = [f", min={known.lower}" if known.lower > 2 else "", f", max={most}" if most == known.upper else ""]
            fixes[name] = f"{name} = Dim('{name}'{limits[0]}{limits[1]})"
        for guard in self.env.guards:
            condition = self.env.replace(guard.expr)
            if (isinstance(condition, sympy.Eq) and condition.has(Mod) and expr.free_symbols & condition.free_symbols):
                said.append(f"{head}{CheckPrinter({expr: code}).doprint(condition)}.")
                if condition.rhs == 0 and condition.lhs.func is Mod and condition.lhs.args[0] == expr:
                    fixes[name] = f"_{name} = Dim('_{name}', min=1)\n  {name} = {condition.lhs.args[1]}*_{name}"
        return said

    def _range_constraints(self) -> dict[Any, ValueRanges]:
        """Return the ranges of the symbols, down to 0 where a size has a ``Dim`` without a lower limit."""
        found = {}
        for symbol, values in self.env.var_to_range.items():
            if symbol.is_Symbol and symbol not in self.env.replacements:
                found[symbol] = ValueRanges(0, values.upper) if values.lower == 2 and self._is_open(symbol) else values
        return found

    def _is_open(self, symbol: Any) -> bool:
        """Return True if a symbol is the size of a ``Dim`` that has no limit of 2 or more."""
        for source in self.env.var_to_sources.get(symbol, ()):
            place = next((i for i, own in enumerate(self.sources) if own == getattr(source, "base", None)), None)
            if place is not None and isinstance(self.leaves[place], Tensor):
                wanted = by_dimension(self.specs[place], self.leaves[place].dim())[source.idx or 0]  # type: ignore[attr-defined]
                if not isinstance(wanted, Dim) or wanted.min >= 2:
                    return False
        return symbol in self.env.var_to_val

    def _guards(self, inputs: list[Any]) -> list[str]:
        """Return the conditions on arguments, as code over ``L``, which has them by their names: on sizes, and that
        Python's values are those that are part of the program.
        """
        given = [(value, source) for value, source in zip(inputs, self.sources, strict=True)
                 if isinstance(value, Tensor) or value.__class__ in SYMBOLIC]
        found = conditions(self.env, [value for value, _ in given], [source for _, source in given],
                           lambda source: source.name, CheckPrinter, ignore_static=False)
        sizes = [code for code in found if ".stride()" not in code and ".storage_offset()" not in code]
        return [code for code in sizes if not re.fullmatch(r".* >= 2", code) or any(
            isinstance(spec, Dim) and spec.min >= 2 for specs in self.specs for spec in tree_leaves([specs]))] + [
                f"{source.name} == {value!r}" for value, source in zip(inputs, self.sources, strict=True)
                if type(value) in (bool, int, str) or (type(value) is float and isfinite(value))]


class CheckPrinter(GuardPrinter):
    """Prints the conditions that an exported program checks, each end of a range alone."""

    def of_range(self, name: str, least: int | None, most: int | None) -> list[str]:
        """Return the conditions that a size lies in a range; an end may be open."""
        ends = [f"{name} >= {least}"] if least is not None else []
        return ends + ([f"{name} <= {most}"] if most is not None else [])


@contextmanager
def _exporting() -> Iterator[None]:
    """Have ``torch.compiler.is_exporting`` return True in a block."""
    before, stance_of_thread.exporting = stance_of_thread.exporting, True
    try:
        yield
    finally:
        stance_of_thread.exporting = before


@contextmanager
def _module_stacks(root: Module) -> Iterator[None]:
    """Describe the nodes that are traced in a block by the modules whose calls they are part of: their names in
    ``root``, and their classes. A later call of a module has a number.
    """
    names = {id(module): name for name, module in reversed([*root.named_modules()])}
    calls: Counter[int] = Counter()

    def enter(module: Module, args: Any) -> None:
        mode, name = get_proxy_mode(), names.get(id(module))
        if mode is not None and name is not None:
            number, kind = calls[id(module)], type(module)
            key = f"L__self__{name}{f'@{number}' if number else ''}"
            calls[id(module)] += 1
            mode.tracer.module_stack[key] = name, f"{kind.__module__}.{kind.__qualname__}"

    def leave(module: Module, args: Any, result: Any) -> None:
        mode = get_proxy_mode()
        if mode is not None and id(module) in names and mode.tracer.module_stack:
            mode.tracer.module_stack.popitem()

    hooks = register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _check_names(specs: Any) -> None:
    """Raise UserError for two ``Dim``s of one name and other ranges."""
    known: dict[str, Dim] = {}
    for spec in tree_leaves(specs):
        if isinstance(spec, Dim):
            other = known.setdefault(spec.__name__, spec)
            if (other.min, other.max) != (spec.min, spec.max):
                raise UserError(f"Found different definitions {other} and {spec} for the same symbolic dimension "
                                f"{spec.__name__}!")


def _is_free(spec: Any) -> bool:
    return isinstance(spec, Dim) or spec in (Dim.DYNAMIC, Dim.AUTO)


def _owned_names(mod: Module) -> set[str]:
    """Return the names of parameters and buffers, one for each place: a module that stands twice counts once."""
    return {f"{path}.{name}" if path else name for path, module in mod.named_modules()
            for name in (*module._parameters, *module._buffers)}


def _attributes(mod: Module) -> list[tuple[str, Any]]:
    """Return the plain tensors among a module's attributes, with their names."""
    return [(f"{path}.{name}" if path else name, value) for path, module in mod.named_modules()
            for name, value in vars(module).items() if isinstance(value, Tensor)]


def _plain(name: str) -> str:
    return re.sub("[^a-zA-Z0-9]", "_", name).lower()


def _value(node: Any) -> Any:
    return node.meta.get("val") if hasattr(node, "meta") else node


def argument_of(name: str, value: Any) -> Any:
    """Return the description of an input or output."""
    kinds: dict[Any, Callable[[str], Any]] = {SymInt: SymIntArgument, SymFloat: SymFloatArgument,
                                              SymBool: SymBoolArgument}
    if value.__class__ in kinds:
        return kinds[value.__class__](name)
    return TensorArgument(name) if isinstance(value, Tensor) else ConstantArgument(name, value)


def _check_outputs(results: list[Any]) -> None:
    for result in results:
        if not isinstance(result, (Tensor, int, float, bool, str, type(None), *SYMBOLIC)):
            raise UserError("It looks like one of the outputs with type `" + f"{type(result)}` is not supported or "
                            "pytree-flattenable. \nExported graphs outputs can only contain the following supported "
                            "types: [tensors, symbolic and Python numbers, strings, None]. \nIf you are using a custom "
                            "class object, please register a pytree_flatten/unflatten function using "
                            "`torch.utils._pytree.register_pytree_node` or `torch.export.register_dataclass`.")


def _order(combined: dict[str, Any], kwargs: dict[str, Any]) -> Callable[[str], int]:
    names = [*combined]
    further = [*kwargs]
    return lambda name: names.index(name) if name in names else len(names) + further.index(name)


def _paths(combined: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the keys on the way to each leaf of the arguments."""

    def walk(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if isinstance(value, (list, tuple)):
            return [found for i, item in enumerate(value) for found in walk(item, (*path, i))]
        if isinstance(value, dict):
            return [found for key, item in value.items() for found in walk(item, (*path, key))]
        count = len(tree_leaves(value))
        return [path] if count == 1 or value is None else [(*path, i) for i in range(count)]

    return [found for name, value in combined.items() for found in walk(value, (name,))]


def _source_of(path: tuple[Any, ...]) -> Source:
    source: Source = LocalSource(path[0])
    for key in path[1:]:
        source = GetItemSource(source, key)
    return source


def _leaf_names(combined: dict[str, Any]) -> list[str]:
    """Return a name for each leaf of the arguments, by the path to it."""

    def walk(value: Any, name: str) -> list[str]:
        if isinstance(value, (list, tuple)):
            fields = getattr(value, "_fields", None) or range(len(value))
            return [found for key, item in zip(fields, value, strict=True) for found in walk(item, f"{name}_{key}")]
        if isinstance(value, dict):
            return [found for key, item in value.items() for found in walk(item, f"{name}_{_plain(str(key))}")]
        count = len(tree_leaves(value))
        return [name] if count == 1 or value is None else [f"{name}_{i}" for i in range(count)]

    names = [found for name, value in combined.items() for found in walk(value, name)]
    return [f"{name}_{names[:i].count(name)}" if name in names[:i] else name for i, name in enumerate(names)]


