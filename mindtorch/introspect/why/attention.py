"""Why attention, or a recurrent layer, cannot take its sequences: batches, masks, states, and tuples between layers."""
from __future__ import annotations

from typing import Any

from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, ShapeRow, Shapes, Step, Steps, cells, given, text, whole
from .failure import Failure
from .rules import arguments, on
from .wrote import is_module, is_tensor


def _called(failure: Failure, *kinds: str) -> Any:
    """Return the innermost call of a module of one of some kinds."""
    return next((call for call in failure.outer[::-1] if type(call.function).__name__ in kinds), None)


def _name(failure: Failure, tensor: Any, role: str) -> str:
    return failure.involved(tensor, role).label


def batches(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain query, key and value of attention that hold different numbers of samples."""
    call = _called(failure, "MultiheadAttention")
    named = ("query", "key", "value")
    sequences = [] if call is None else list(filter(is_tensor, (*call.args[:3], *map(call.keywords.get, named))))
    if len(sequences) < 3 or any(len(each.shape) != 3 for each in sequences):
        return None
    module = call.function
    axis = 0 if module.batch_first else 1
    q, k = sequences[:2]
    if q.shape[axis] == k.shape[axis]:
        return None
    query, key = _name(failure, q, "query"), _name(failure, k, "key")
    layer = failure.module_name(module) or "attention"
    turned = not module.batch_first and q.shape[0] == k.shape[0]
    sizes = ", ".join(str(k.shape[0]) if d == axis else "-1" for d in range(3))
    return Diagnosis(
        f"{query} holds {q.shape[axis]} samples and {key} {k.shape[axis]}: dimension {axis} counts them, "
        f"{'with' if module.batch_first else 'without'} batch_first",
        "Each sample of the query looks at the same sample of key and value. Without batch_first=True the "
        "sequences are "
        "[steps, samples, features], with it [samples, steps, features].",
        (Fix("if dimension 0 counts the samples, make the layer with batch_first=True", f"{layer}.batch_first = True")
         if turned else None,
         Fix("if one query is meant for all samples, repeat it", f"{query}.expand({sizes})")
         if q.shape[axis] == 1 and not turned else None,
         Fix("or look where the samples got lost")),
        (Shapes((ShapeRow(query, cells(q.shape, [axis])), ShapeRow(key, cells(k.shape, [axis]))),
                ("samples", "steps", "features") if axis == 0 else ("steps", "samples", "features")),))


def masks(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain masks of attention that do not have the shape of what they mask."""
    call = _called(failure, "MultiheadAttention")
    if call is None or len(call.args) < 2 or not all(is_tensor(value) for value in call.args[:2]):
        return None
    module, (q, k) = call.function, call.args[:2]
    if len(q.shape) != 3 or len(k.shape) != 3:
        return None
    batch, length, sources = (q.shape[0], q.shape[1], k.shape[1]) if module.batch_first else (
        q.shape[1], q.shape[0], k.shape[0])
    words = call.keywords
    padding = words.get("key_padding_mask", call.args[3] if len(call.args) > 3 else None)
    if is_tensor(padding) and tuple(padding.shape) != (batch, sources):
        name = _name(failure, padding, "key_padding_mask")
        turned = tuple(padding.shape) == (sources, batch)
        return Diagnosis(
            f"key_padding_mask should have the shape {text((batch, sources))}, and {name} is {text(padding.shape)}",
            "It marks for each sample which steps of the key are padding, True for those: [samples, steps of the key], "
            "also without batch_first.",
            (Fix("exchange its dimensions", f"{name}.T") if turned else
             Fix("make it from the lengths of the sequences", f"torch.arange({sources}) >= lengths[:, None]"),),
            (Shapes((whole(name, padding.shape), whole("needed", (batch, sources)))),))
    mask = words.get("attn_mask", call.args[5] if len(call.args) > 5 else None)
    shapes = [(length, sources), (batch * module.num_heads, length, sources)]
    if not is_tensor(mask) or tuple(mask.shape) in shapes:
        return None
    name = _name(failure, mask, "attn_mask")
    fix = (Fix("repeat the mask of each sample for its heads", f"{name}.repeat_interleave({module.num_heads}, 0)")
           if tuple(mask.shape) == (batch, length, sources) else
           Fix("exchange its dimensions", f"{name}.mT") if tuple(mask.shape) == (sources, length) else
           Fix("a mask of which steps are padding is another argument", f"key_padding_mask={name}")
           if tuple(mask.shape) == (batch, sources) else
           Fix("of a mask that hides what comes later", f"nn.Transformer.generate_square_subsequent_mask({length})"))
    return Diagnosis(
        f"attn_mask should have the shape {text(shapes[0])}, or {text(shapes[1])}, and {name} is {text(mask.shape)}",
        f"It says for each step of the query which steps of the key it may see: one mask for all samples, or "
        f"one for each "
        f"sample and each of the {module.num_heads} heads.", (fix,),
        (Shapes((whole(name, mask.shape), whole("needed", shapes[0]))),))


@on(r"the batch number of src and tgt must be equal|feature number of src and tgt must be equal")
def transformer(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``nn.Transformer`` of a source and a target with other numbers of samples."""
    call = _called(failure, "Transformer")
    if call is None or len(call.args) < 2:
        return None
    src, tgt = call.args[:2]
    axis = 0 if call.function.batch_first else 1
    names = _name(failure, src, "src"), _name(failure, tgt, "tgt")
    turned = axis == 1 and src.shape[0] == tgt.shape[0]
    return Diagnosis(
        f"{names[0]} {text(src.shape)} and {names[1]} {text(tgt.shape)} differ in their samples: dimension "
        f"{axis} counts them",
        "Without batch_first=True a Transformer reads [steps, samples, features].",
        (Fix("if dimension 0 counts the samples, make the layer with batch_first=True", "batch_first=True")
         if turned else Fix("give both the same samples"),),
        (Shapes((ShapeRow(names[0], cells(src.shape, [axis])), ShapeRow(names[1], cells(tgt.shape, [axis])))),))


def one_state(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``lstm(x, h)``: an LSTM has two states."""
    wrote = failure.wrote
    if not is_module(wrote.function) or not type(wrote.function).__name__.startswith("LSTM"):
        return None
    given_ = arguments(failure)
    (x, _), (h, value) = given_.get("0", ("x", None)), given_.get("1", given_.get("hx", ("", None)))
    if not is_tensor(value):
        return None
    return Diagnosis(
        f"an LSTM has two states, and was given one: {h}",
        "Besides its hidden state, which is what it puts out, an LSTM keeps a cell state; both go in and come out as a "
        "tuple. A GRU and a plain RNN have one state.",
        (Fix("give both, a cell state of zeros at the beginning", f"{wrote.name}({x}, ({h}, torch.zeros_like({h})))"),
         Fix("or neither: they begin with zeros", f"{wrote.name}({x})")),
        (Steps((Step("(h, c)", "two states go in", GOOD), Step(h, "is one", CLASH))),))


def between_layers(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain a layer of a Sequential that is given the tuple of the recurrent layer before it."""
    outer = _called(failure, "Sequential")
    inner = next((call for call in failure.outer[::-1] if is_module(call.function)), None)
    if outer is None or inner is None or inner is outer or not inner.args or not isinstance(inner.args[0], tuple):
        return None
    layers = list(outer.function.children())
    at = next((i for i, layer in enumerate(layers) if layer is inner.function), 0)
    before, after = type(layers[at - 1]).__name__, type(inner.function).__name__
    return Diagnosis(
        f"{before} returns a tuple, outputs and state, and {after}, which follows it in the Sequential, takes a tensor",
        "A Sequential passes on what a layer returns, whole. Where a layer returns several results, a forward "
        "of your own "
        "takes the one that is meant.",
        (Fix("write a module whose forward takes the outputs", "out, state = self.rnn(x); return self.head(out)"),
         Fix("or put a layer between them that takes the first", "class First(nn.Module):\n    "
             "def forward(self, results): return results[0]")),
        (Steps((Step(before, "returns (outputs, state)", CLASH), Step(after, "takes a tensor"))),))


@on(r"'(?:tuple)' object has no attribute '(detach_?|to|cuda|cpu|clone|data)'", AttributeError)
def states(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``hidden.detach()`` of the two states of an LSTM."""
    error: Any = failure.error
    text_ = failure.wrote.name.rpartition(".")[0] or failure.wrote.owner
    if not isinstance(error.obj, tuple) or len(error.obj) != 2 or not all(map(is_tensor, error.obj)) or not text_:
        return None
    call = f"part.{found[1]}()" if found[1] in ("detach", "clone", "cuda", "cpu") else f"part.{found[1]}(…)"
    return Diagnosis(
        f"{text_} is 2 results in a tuple, such as the two states of an LSTM, and {found[1]} belongs to each of them",
        "A tuple has no methods of tensors; what is to be done is done to its parts.",
        (Fix("do it to each", f"tuple({call} for part in {text_})"), Fix("or take one", f"{text_}[0]")),
        (given([f"{text_}: a tuple"], f"{text_}[0]"),), ())


RECOGNISED = {"batches of attention": batches, "masks of attention": masks, "transformer": transformer,
              "one state": one_state, "tuple between layers": between_layers, "states of an LSTM": states}
