"""A sample of mutated files: each loads as in PyTorch, or raises an error in words, or the difference is explained."""
from __future__ import annotations

import io
import pickle
import zipfile

import pytest

import mindtorch
from tests.fuzz import files

SAMPLE = 400


def test_files_of_both_libraries_load_alike() -> None:
    files.warm()
    assert [case.found for file in files.samples() for case in [files.tried(file)] if case.found] == []


def test_mutated_files_load_as_in_pytorch_or_raise_a_clear_error() -> None:
    files.warm()
    found = [(number, case) for number in range(SAMPLE) for case in [files.tried(files.case(number))] if case.found]
    assert found == []


@pytest.mark.parametrize("hostile", [b"cos\nsystem\n", b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R."])
def test_code_and_memory_are_found(hostile: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unpickler that allows everything is planted here."""
    monkeypatch.setattr("mindtorch.serialization.weights_only.Unpickler", pickle._Unpickler)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("archive/data.pkl", b"\x80\x02" + hostile + b"(X\x04\x00\x00\x00truetR.")
        target.writestr("archive/version", "3")
    assert files.tried(files.File("zip", file.getvalue()), compared=False).found


def test_a_process_that_dies_is_a_finding_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*args: object, **kwargs: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            files.os._exit(7)
        raise RuntimeError("no file")

    calls: list[int] = []
    monkeypatch.setattr(mindtorch, "load", load)
    monkeypatch.setattr(files, "warm", lambda: None)
    outcomes = [*files.cases(4, 0, 0)]
    assert [case.kind for case in outcomes][2] == "ours died" and len(outcomes) == 4
