"""The names of PyTorch that mindtorch leaves out, with the reasons that errors give (``tests/differences.md``)."""
from __future__ import annotations

#: Names below ``torch``, and a sentence that holds for all of them.
ROWS = {
    "_inductor": "`torch.compile` makes programs of NumPy's operations; `mindtorch/_compile` has them",
    "export onnx": "programs are not exported; `torch.save` keeps their state, `torch.fx` their code",
    "sparse sparse_coo_tensor sparse_csr_tensor nested": "tensors are strided only",
    "ao quantization quantize_per_tensor quantize_per_channel": "there are no quantised tensors",
    "lobpcg": "`torch.linalg.eigh` gives all eigenvalues, of which the wanted ones can be taken",
    "mtia": "there is no such device",
    "package": "programs are not packed into archives",
    "utils.cpp_extension": "mindtorch is pure Python; `mindtorch.library` takes operators of one's own",
    "utils.bottleneck": "`%%profile` and `torch.profiler` show where the time goes",
    "utils.data.datapipes": "they are no longer developed; an `IterableDataset` does the same",
}
#: Modules that many programs import but do not use: importing them succeeds, using them raises the sentence.
IMPORTED = ("onnx",)
LEFT_OUT = {name: why for names, why in ROWS.items() for name in names.split()}


def reason(name: str) -> str | None:
    """Return the sentence for a name below ``torch`` that is left out, or whose parent is; else None."""
    found = LEFT_OUT.get(name)
    if found is None:
        return reason(name.rpartition(".")[0]) if "." in name else None
    return f"mindtorch leaves out torch.{name}: {found}"
