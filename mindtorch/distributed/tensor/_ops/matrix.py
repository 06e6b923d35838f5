"""Products of matrices, as sums over letters: a letter of the output divides it, a letter that is summed makes it
partial.
"""
from __future__ import annotations

from collections.abc import Iterator

from ..placement_types import Partial, Placement, Shard
from .rows import Call, R, Row, rule

#: Inputs and output; ``+`` before what is added, which is broadcast.
LETTERS = {
    "mm": "mk kn mn", "bmm": "bmk bkn bmn", "mv": "mk k m", "dot": "k k ", "vdot": "k k ", "outer": "m n mn",
    "ger": "m n mn", "addmm": "+mn mk kn mn", "baddbmm": "+bmn bmk bkn bmn", "addmv": "+m mk k m", "addr": "+mn m n mn",
}


@rule(" ".join(LETTERS))
def product(call: Call) -> Iterator[Row]:
    *inputs, output = LETTERS[call.name].split(" ")
    for letter in sorted(set("".join(inputs)) - {"+"}):
        placements: list[Placement] = []
        for index, letters in enumerate(inputs):
            if letters.startswith("+"):
                place = letters[1:].find(letter)
                own = place - (len(letters) - 1 - call.ndim(index))
                full = place >= 0 and own >= 0 and call.shape(index)[own] == call.outputs[0].shape[place]
                placements.append(Partial() if place < 0 else Shard(own) if full and call.shape(index)[own] > 1 else R)
            else:
                placements.append(Shard(letters.index(letter)) if letter in letters else R)
        yield Row((Shard(output.index(letter)) if letter in output else Partial(),), tuple(placements))
    if not inputs[0].startswith("+"):  # linear in each factor
        yield Row((Partial(),), (Partial(), R))
        yield Row((Partial(),), (R, Partial()))


@rule("_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward")
def attention(call: Call) -> Iterator[Row]:
    mask = call.places.get("attn_mask", [])
    for dim in (0, 1):  # batch and heads
        inputs: list[Placement] = [Shard(dim)] * len(call.specs)
        for index in mask:
            own = dim - (4 - call.ndim(index))
            inputs[index] = Shard(own) if own >= 0 and call.shape(index)[own] > 1 else R
        yield Row((Shard(dim),), tuple(inputs))
