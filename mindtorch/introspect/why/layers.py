"""Why a layer cannot take its input: told from the layer, or the operator, and the shapes that it was called with."""
from __future__ import annotations

import re
from typing import Any

from .explanation import Diagnosis, Fields, Fix, ShapeRow, Shapes, aside, cells, plain, whole
from .failure import Failure
from .wrote import is_tensor

MEANT = {1: ("samples", "channels", "length"), 2: ("samples", "channels", "height", "width"),
         3: ("samples", "channels", "depth", "height", "width")}


def refused(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain an input that does not fit the innermost layer or operator that received it."""
    call = next((call for call in failure.calls if call.packet in OPERATORS), None)
    if call is not None:
        return OPERATORS[call.packet](failure, f)
    module = next((call for call in failure.outer[::-1] if hasattr(call.function, "forward")), None)
    kind = "" if module is None else type(module.function).__name__.rstrip("123d")
    if module is None or kind not in MODULES or not module.args or not hasattr(module.args[0], "shape"):
        return None
    return MODULES[kind](failure, module.function, failure.involved(module.args[0], "input"))


# -- convolution and pooling ------------------------------------------------------------------------------------------


def convolution(failure: Failure, f: Fields) -> Diagnosis | None:
    x, weight, dims = f.input, f.weight, len(f.weight.shape) - 2
    asked = next((int(call.packet[4]) for call in failure.calls if re.fullmatch(r"conv\dd", call.packet)), dims)
    if dims != asked:
        return Diagnosis(
            f"the kernel of a {asked}-d convolution has {asked + 2} dimensions, and {weight} {weight.size} "
            f"has {dims + 2}",
            "It is [channels that come out, channels that come in, sizes …]: a kernel of sizes alone serves "
            "one channel.",
            (Fix("add the dimensions of channels", f"{weight}[{'None, ' * (asked - dims)}]".replace(", ]", "]"))
             if dims == asked - 2 else Fix("look at its "
                                           "shape"),), (plain(x, weight, note=lambda t: f"{len(t.shape)}-d"),))
    outputs, inputs = weight.shape[0], weight.shape[1] * f.groups
    batched = len(x.shape) == dims + 2
    if not batched and len(x.shape) != dims + 1:
        missing = dims + 1 - len(x.shape)
        fix = (Fix("add the dimension of channels", f"{x}[None]") if missing == 1 else
               Fix("look at the shape: a view or a flatten too many"))
        return Diagnosis(f"a {dims}-d convolution takes {', '.join(MEANT[dims])}, and {x} is {x.size}",
                         "One sample may come without the dimension of samples; the channels must be there.", (fix,),
                         (plain(x, weight),))
    channels = x.shape[1 if batched else 0]
    if outputs < f.groups:
        return Diagnosis(
            f"{f.groups} groups need {f.groups} kernels or more, and {weight} {weight.size} has {outputs}",
            "Each group of channels has kernels of its own. The first size of the weight counts them, over all groups.",
            (Fix("use the same kernel in each group", f"{weight}.repeat({f.groups}, {', '.join('1' * (dims + 1))})")
             if outputs == 1 else Fix("give each group its kernels"),), (plain(x, weight),))
    if channels != inputs:
        last = x.shape[-1] == inputs
        order = ", ".join(map(str, (0, len(x.shape) - 1, *range(1, len(x.shape) - 1))))
        alone = not batched and inputs == 1
        where = [1 if batched else 0]
        expanded = [str(inputs) if d == where[0] else "-1" for d in range(len(x.shape))]
        head = MEANT[dims] if batched else MEANT[dims][1:]
        return Diagnosis(
            f"the convolution takes {inputs} channel{'s' * (inputs != 1)}, and {x} {x.size} has {channels}",
            f"An input is {', '.join(MEANT[dims])}, in this order"
            + ("; without the samples it is one sample." if not batched else "."),
            (Fix("the channels come last: move them to the front", f"{x}.permute({order})")
             if last and batched else None,
             Fix("of pictures in grey, repeat the one channel", f"{x}.expand({', '.join(expanded)})")
             if channels == 1 and inputs == 3 else None,
             Fix("of pictures whose fourth channel is alpha (transparency), keep the colours",
                 f"{x}[:, :3]" if batched else f"{x}[:3]") if channels == 4 and inputs == 3 else None,
             Fix("of pictures in colours, average them to grey", f"{x}.mean({where[0]}, keepdim=True)")
             if channels in (3, 4) and inputs == 1 and not last else None,
             Fix("if these are samples of one channel, add the dimension of channels", f"{x}.unsqueeze(1)")
             if alone else None,
             Fix("or make the layer for these channels",
                 failure.layer(f"nn.Conv{dims}d({channels}, {outputs}{_settings(f)})") if f.groups == 1 else "")),
            (Shapes((ShapeRow(x.label, cells(x.shape, where)),
                     aside(weight.label, where[0], (inputs,), [0], f"takes {inputs}, makes {outputs}")), head),))
    reach = [d * (k - 1) + 1 for d, k in zip(f.dilation, weight.shape[2:], strict=True)]
    padding = f.padding if not isinstance(f.padding, str) else [0] * dims
    sizes = x.shape[-dims:]
    if any(size + 2 * p < r for size, p, r in zip(sizes, padding, reach, strict=True)):
        need = max((r - size + 1) // 2 for size, r in zip(sizes, reach, strict=True))
        return Diagnosis(
            f"the kernel {reach} is larger than the image {list(sizes)}",
            "A convolution without padding makes an image smaller by the kernel less one; pooling halves it. After "
            "some layers nothing is left.",
            (Fix("pad the image", f"nn.Conv{dims}d({inputs}, {outputs}, {weight.shape[-1]}, padding={need})"),
             Fix("or use a smaller kernel, fewer layers of pooling, larger images")),
            (Shapes((whole("kernel", reach), whole(f"image, padded by {list(padding)}", sizes))),))
    return None


def _settings(f: Fields) -> str:
    """Return the settings of a convolution behind its channels, as they are written: ``, 3, padding=1``."""
    def short(sizes: Any) -> Any:
        return sizes[0] if not isinstance(sizes, str) and len(set(sizes)) == 1 else (
            sizes if isinstance(sizes, str) else tuple(sizes))

    words = {"stride": (short(f.stride), 1), "padding": (short(f.padding), 0), "dilation": (short(f.dilation), 1)}
    return f", {short(f.weight.shape[2:])}" + "".join(
        f", {name}={value!r}" for name, (value, usual) in words.items() if value != usual)


def pooling(failure: Failure, f: Fields) -> Diagnosis | None:
    kernel = f.kernel_size if isinstance(f.kernel_size, (list, tuple)) else [f.kernel_size]
    sizes = f.x.shape[-len(kernel):]
    if not any(size < k for size, k in zip(sizes, kernel, strict=True)):
        return None
    return Diagnosis(
        f"windows of {list(kernel)} do not fit into an image of {list(sizes)}: nothing would come out",
        "Each pooling divides the size of the image by its stride; after some layers nothing is left.",
        (Fix("pool less often, or begin with larger images"),
         Fix("or ask for the size that is to come out", f"nn.AdaptiveAvgPool{len(kernel)}d(1)")),
        (Shapes((whole("window", kernel), whole(f"image of {f.x}", sizes))),))


# -- normalisation ----------------------------------------------------------------------------------------------------


def batch_norm(failure: Failure, f: Fields) -> Diagnosis | None:
    x = f.input
    features = next((t.shape[0] for t in (f.running_mean, f.weight) if t is not None), None)
    if len(x.shape) < 2 or features in (None, x.shape[1]):
        return None
    kind = f"BatchNorm{max(1, len(x.shape) - 2)}d"
    last = len(x.shape) > 2 and x.shape[-1] == features
    return Diagnosis(
        f"the layer keeps statistics of {features} channels, and {x} {x.size} has {x.shape[1]}",
        "Batch normalisation treats dimension 1 as the channels, and averages over all others.",
        (Fix("the channels come last: move them", f"{x}.movedim(-1, 1)") if last else None,
         Fix("make the layer for these channels", f"nn.{kind}({x.shape[1]})")),
        (Shapes((ShapeRow(x.label, cells(x.shape, [1])), aside("the layer", 1, (features,), [0]))),))


def batch_norm_module(failure: Failure, module: Any, x: Any) -> Diagnosis | None:
    name = type(module).__name__
    dims = {"BatchNorm1d": (2, 3), "BatchNorm2d": (4,), "BatchNorm3d": (5,)}.get(name, ())
    if dims and len(x.shape) not in dims:
        right = {2: "BatchNorm1d", 3: "BatchNorm1d", 4: "BatchNorm2d", 5: "BatchNorm3d"}.get(len(x.shape))
        return Diagnosis(
            f"{name} takes {' or '.join(map(str, dims))} dimensions, and {x} {x.size} has {len(x.shape)}",
            "The number in the name counts the dimensions of an image or a sequence, besides samples and channels.",
            (Fix("use the layer for this shape", f"nn.{right}({module.num_features})") if right else None,
             Fix("look at the shape: a flatten too early, a dimension of samples that is missing") if not right
             else None), (plain(x, note=lambda t: f"{len(t.shape)}-d"),))
    if len(x.shape) > 1 and x.shape[1] == module.num_features and module.training:
        return Diagnosis(
            f"{x} {x.size} has one value per channel: it has no variance",
            "While training, batch normalisation divides by the variance over the samples of the batch. Of one number "
            "there is none. The last batch of a pass is often that small.",
            (Fix("to predict, switch to evaluation", "model.eval()"),
             Fix("to train, leave out a last batch that is not full", "DataLoader(…, drop_last=True)"),
             Fix("or normalise each sample by itself", f"nn.LayerNorm({module.num_features})")),
            (Shapes((ShapeRow(x.label, cells(x.shape, [0])),), ("samples", "channels")),))
    return None


def group_norm(failure: Failure, f: Fields) -> Diagnosis | None:
    x, features = f.input, f.weight.shape[0] if f.weight is not None else None
    if len(x.shape) < 2 or features in (None, x.shape[1]):
        return None
    return Diagnosis(
        f"the layer normalises {features} channels, and {x} {x.size} has {x.shape[1]}",
        "Group normalisation treats dimension 1 as the channels, which it cuts into groups.",
        (Fix("make the layer for these channels", failure.layer(f"nn.GroupNorm({f.num_groups}, {x.shape[1]})"))
         if x.shape[1] % f.num_groups == 0 else Fix("make the layer for these "
                                                    "channels", f"nn.GroupNorm(1, "
                                                                                         f"{x.shape[1]})"),),
        (Shapes((ShapeRow(x.label, cells(x.shape, [1])), aside("the layer", 1, (features,), [0]))),))


def layer_norm(failure: Failure, f: Fields) -> Diagnosis | None:
    x, shape = f.input, tuple(f.normalized_shape)
    if x.shape[-len(shape):] == shape:
        return None
    ours = list(x.shape[-len(shape):])
    return Diagnosis(
        f"the layer normalises {list(shape)} elements, and {x} {x.size} ends in {ours}",
        "Layer normalisation works on the last dimensions, whose sizes it is made with.",
        (Fix("make the layer for these sizes", f"nn.LayerNorm({ours[0] if len(ours) == 1 else ours})"),),
        (Shapes((ShapeRow(x.label, cells(x.shape, range(len(x.shape) - len(shape), len(x.shape)))),
                 aside("the layer", len(x.shape) - len(shape), shape, range(len(shape))))),))


# -- sequences --------------------------------------------------------------------------------------------------------


def recurrent(failure: Failure, module: Any, x: Any) -> Diagnosis | None:
    name = type(module).__name__
    if len(x.shape) not in (2, 3):
        return Diagnosis(
            f"{name} takes steps, samples, features, and {x} is {x.size}",
            "With batch_first=True it is samples, steps, features.",
            (Fix("bring it into that shape", f"{x}.flatten(2)" if len(x.shape) > 3 else f"{x}[:, None, None]"),),
            (plain(x, note=lambda t: f"{len(t.shape)}-d"),))
    if x.shape[-1] == module.input_size:
        return _hidden(failure, module, x)
    return Diagnosis(
        f"{name} takes {module.input_size} features at each step, and {x} {x.size} has {x.shape[-1]}",
        "The last dimension of the input holds the features; the first counts the steps, or with batch_first=True the "
        "samples.",
        (Fix("the features stand elsewhere: move them", f"{x}.movedim({x.shape.index(module.input_size)}, -1)")
         if module.input_size in x.shape else None,
         Fix("or make the layer for these features", f"nn.{name}({x.shape[-1]}, {module.hidden_size})")),
        (Shapes((ShapeRow(x.label, cells(x.shape, [len(x.shape) - 1])),
                 aside("the layer", len(x.shape) - 1, (module.input_size,), [0]))),))


def _hidden(failure: Failure, module: Any, x: Any) -> Diagnosis | None:
    """Explain a hidden state whose shape does not match the input."""
    name, call = type(module).__name__, failure.outer[-1]
    given_ = call.args[1] if len(call.args) > 1 else call.keywords.get("hx")
    states = [given_] if is_tensor(given_) else list(given_ or ())
    layers = module.num_layers * (2 if module.bidirectional else 1)
    batch = () if len(x.shape) < 3 else (x.shape[0 if module.batch_first else 1],)
    sizes = [(layers, *batch, size) for size in (module.proj_size or module.hidden_size, module.hidden_size)]
    pairs = zip(states, sizes, strict=False)
    wrong, size = next(((state, size) for state, size in pairs if tuple(state.shape) != size), (None, ()))
    if wrong is None:
        return None
    state = failure.involved(wrong, "hidden")
    first = "samples" if module.batch_first else "steps"
    head = ("layers", *("samples",) * len(batch), "features")
    clash = [d for d, n in enumerate(size) if state.shape[d:d + 1] != (n,)]
    return Diagnosis(
        f"the hidden state of {name} should have the shape {list(size)}, and {state} is {state.size}",
        f"It has layers (twice as many where both directions are read), samples and features, in this order, also with "
        f"batch_first. Of {x} {x.size} dimension 0 is read as {first}"
        + (f", so there are {batch[0]} samples." if batch else ": it is one sample."),
        (Fix("add the dimension of layers", f"{state}[None]") if state.shape == size[1:] and layers == 1 else None,
         Fix("make it for this input", f"torch.zeros({', '.join(map(str, size))})"),
         Fix(f"or, if dimension 0 of {x} counts the samples, make the layer with batch_first=True",
             f"{failure.module_name(module) or name.lower()}.batch_first = True")
         if batch and not module.batch_first else None,
         Fix("or leave it out: it begins with zeros", f"{failure.module_name(module) or name.lower()}({x})")),
        (Shapes((ShapeRow(state.label, cells(state.shape, clash)), ShapeRow("needed", cells(size, (), clash))), head),))


def attention(failure: Failure, module: Any, x: Any) -> Diagnosis | None:
    if x.shape[-1] == module.embed_dim:
        return None
    return Diagnosis(
        f"the attention is made for embeddings of {module.embed_dim}, and {x} {x.size} has {x.shape[-1]}",
        "The last dimension of query, key and value holds the embedding.",
        (Fix("make the layer for these", f"nn.MultiheadAttention({x.shape[-1]}, …)"),
         Fix("or map them to its size first", f"nn.Linear({x.shape[-1]}, {module.embed_dim})({x})")),
        (Shapes((ShapeRow(x.label, cells(x.shape, [len(x.shape) - 1])),
                 aside("the layer", len(x.shape) - 1, (module.embed_dim,), [0]))),))


def dot(failure: Failure, f: Fields) -> Diagnosis | None:
    if len(f.x.shape) == 1 and len(f.tensor.shape) == 1:
        return None
    return Diagnosis(
        f"dot is for two vectors; {f.x} is {f.x.size}, {f.tensor} is {f.tensor.size}",
        "NumPy's dot multiplies matrices too; here @ does that.",
        (Fix("the product of matrices", f"{f.x} @ {f.tensor}{'' if f.x.shape[-1:] == f.tensor.shape[:1] else '.T'}"),
         Fix("or the sum of the products of all elements", f"({f.x} * {f.tensor}).sum()")),
        (Shapes((whole(f.x.label, f.x.shape), whole(f.tensor.label, f.tensor.shape))),))


OPERATORS = {
    **{f"conv{d}d": convolution for d in (1, 2, 3)}, "batch_norm": batch_norm, "layer_norm": layer_norm,
    "group_norm": group_norm, **{f"{kind}_pool{d}d": pooling for d in (1, 2, 3) for kind in ("max", "avg")}, "dot": dot,
}
MODULES = {"BatchNorm": batch_norm_module, "LSTM": recurrent, "GRU": recurrent, "RNN": recurrent,
           "MultiheadAttention": attention}
