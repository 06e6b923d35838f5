"""Finding: unique elements, places in sorted sequences, where something is.

Overloads named ``python`` are what PyTorch's Python functions make of the operator beside them.
"""

SCHEMAS = """
fm   unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor
f    _unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)
-    unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)
fm   unique_consecutive.python(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor
-    unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)
foe  searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
foe  searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
foe  bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
foe  bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
fmoe nonzero(Tensor self) -> Tensor
fmoe nonzero.python(Tensor self, *, bool as_tuple) -> Tensor
fmoe nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor
fm   argwhere(Tensor self) -> Tensor
foe  isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
foe  isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor
foe  isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
fm   allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool
fm   equal(Tensor self, Tensor other) -> bool
"""
