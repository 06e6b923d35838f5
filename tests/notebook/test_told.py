"""All that ``%why`` and ``%check`` say of the mistakes in these tests, word for word: it stands in ``told.txt``.

After a change of the words, ``python -m tests.notebook.test_told`` writes the file anew, to be read before it is
committed.
"""
from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

import mindtorch
from mindtorch.introspect.why import Places

from . import trainings
from .errors import ERRORS, caught, explain
from .mistakes import MISTAKES
from .silent import BUGS
from .test_check import PROGRAMS, checked
from .test_mistakes import IDS, explained

TOLD = Path(__file__).with_name("told.txt")
BEGIN = "=== "

#: Of the training programs, one for each rule that no other program here is for.
TRAININGS = """
attention: language model without a mask
attention: targets not shifted
attention: softmax over the queries
attention: softmax over the batch in attention
attention: key padding mask inverted
attention: causal mask inverted
attention: positional encoding over the batch
attention: heads split by view alone
fresh: loss with a minus
fresh: hinge with targets 0 and 1
fresh: teacher trains, its loss in a function
fresh: weights of an autoencoder of words copied into the decoder
fresh: scheduler of epochs stepped every batch
gradients: generator trained with the discriminator's gradients
gradients: accumulation without scaling
gradients: clipped before backward
gradients: DQN target with graph
gradients: advantage with graph
gradients: VAE that samples without a gradient
gradients: VAE that decodes the mean
gradients: PPO ratio of a policy to itself
gradients: penalty computed from data
gradients: optimizer made anew for each batch
layout: x shuffled without y
layout: BatchNorm with a batch of one
layout: padding counted in the loss
mixed: greedy: unused scheduler in class
mixed: require_grads on a tensor
models: copied blocks
schedules: OneCycle stepped every epoch
schedules: learning rate below zero
targets: kl_div against logarithms
targets: kl_div with the operands exchanged
targets: targets of minus one and one for BCE with logits
targets: several labels under cross_entropy
targets: logits clamped for BCE
targets: contrastive loss with each sample as its own neighbour
targets: target network is the network
"""


def told(facts: Any) -> str:
    """Return what an explanation or a finding says, with what its pictures are drawn of."""
    lines = [f"{facts.kind}: {facts.title}", facts.cause, *(f"- {fix.text}: {fix.code}" for fix in facts.fixes)]
    for picture in facts.pictures:
        fields = [f"{name}={value!r}" for name, value in vars(picture).items()
                  if not (isinstance(picture, Places) and name == "storage")]
        lines.append(f"{type(picture).__name__}({', '.join(fields)})")
    text = "\n".join(line.rstrip() for line in "\n".join(lines).splitlines())
    text = text.replace(os.getcwd(), "/folder").replace(str(Path(__file__).parent), "/tests")
    text = re.sub(r"0x[0-9a-f]{6,}|(?<=\.py:)\d+( in \w+, failed: \w+)?", "…", text)
    return re.sub(r"(?<=recorded at )[^' ]*(?=')", "…", text)  # clipped where a path is long


def of_errors(number: int) -> str:
    return told(explain(caught(ERRORS[number][1])))


def of_mistakes(number: int) -> str:
    return told(explained(mindtorch, MISTAKES[number]))


def of_bugs(number: int) -> str:
    return "\n".join(map(told, checked(BUGS[number][2]).findings))


def of_trainings(number: int) -> str:
    text = "\n".join(map(told, trainings.checked(PROGRAMS[number].text, mindtorch).findings))
    cancels = str(PROGRAMS[number]).startswith("attention")  # then gradients are rounding, other on each processor
    return re.sub(r"\b(\de-(09|[1-9]\d)|0e\+00)\b", "about 0", text) if cancels else text


CASES = {**{f"why, error {i} {row[0]}": (of_errors, i) for i, row in enumerate(ERRORS)},
         **{f"why, mistake {name.partition(chr(10))[0]}": (of_mistakes, i) for i, name in enumerate(IDS)},
         **{f"check {i} {bug[0]}": (of_bugs, i) for i, bug in enumerate(BUGS)},
         **{f"check {program}": (of_trainings, i) for i, program in enumerate(PROGRAMS)
            if str(program) in TRAININGS.splitlines()}}


def written() -> dict[str, str]:
    parts = [part.partition("\n") for part in TOLD.read_text(encoding="utf-8").split(f"\n{BEGIN}")[1:]]
    return {name: text.rstrip("\n") for name, _, text in parts}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("name", "text"), written().items(), ids=written())
@pytest.mark.sampled(3)
def test_what_is_told_of_a_mistake_is_what_is_written(name: str, text: str) -> None:
    of, number = CASES[name]
    assert of(number) == text


def test_every_mistake_is_written_down() -> None:
    assert list(written()) == list(CASES)


def main() -> None:
    os.environ["MINDTORCH_NPU_FAILURE_MODE"] = "continue"  # as in tests
    text = "What is told of each mistake: see test_told.py.\n"
    for name, (of, number) in CASES.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text += f"\n{BEGIN}{name}\n{of(number)}\n"
    TOLD.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
