"""Finding: unique elements, places in sorted sequences, where something is.

Overloads named ``python`` are what PyTorch's Python functions make of the operator beside them.
"""

SCHEMAS = """
function, method:
    unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor  # The different elements of `self`, or its different slices along `dim`, with the position of each element's value if `return_inverse` and how often each occurs if `return_counts`.
    unique_consecutive.python(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor  # `self` without those elements, or slices along `dim`, that equal the one before them.
    argwhere(Tensor self) -> Tensor  # The indices of the elements of `self` other than zero, a row for each.
function, method, explicit:
    allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool  # Whether all elements of `self` and `other` differ by no more than `atol` plus `rtol` times the absolute value of `other`.
    equal(Tensor self, Tensor other) -> bool  # Whether `self` and `other` have the same shape and the same elements.
function:
    _unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)  # The different elements of `self`, the position of each element's value among them, and how often each occurs.
operator only:
    unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)  # The different slices of `self` along `dim`, the position of each slice among them, and how often each occurs.
    unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)
function, out, exact dtype:
    searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor  # The positions in `sorted_sequence` at which the elements of `self` would be inserted to keep its last dimension in order: before equal elements, or after them if `right`.
    searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
    bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor  # The positions in the sorted vector `boundaries` at which the elements of `self` would be inserted: before equal elements, or after them if `right`.
    bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
    isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor  # Whether each of `elements` is among `test_elements`, or is not if `invert`.
    isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor
    isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
function, method, out, exact dtype:
    nonzero(Tensor self) -> Tensor  # The indices of the elements of `self` other than zero, a row for each, or with `as_tuple` a vector for each dimension.
    nonzero.python(Tensor self, *, bool as_tuple) -> Tensor
    nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor  # The indices of the first `size` elements of `self` other than zero, a row for each, filled up with `fill_value`.
"""
