"""Linear algebra: products, factorizations, and what is computed by them."""

PRODUCTS = """
fmo  mm(Tensor self, Tensor mat2) -> Tensor
fmo  bmm(Tensor self, Tensor mat2) -> Tensor
fmo  mv(Tensor self, Tensor vec) -> Tensor
fmo  dot(Tensor self, Tensor tensor) -> Tensor
fmo  vdot(Tensor self, Tensor other) -> Tensor
fmio addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
fmio addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
fmio addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
fmio addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
fmio baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
-ox  linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor
-    _trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor
"""

#: Written in the products above.
COMPOSITE_PRODUCTS = """
-o   linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
f    bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor
fmo  matmul(Tensor self, Tensor other) -> Tensor
-o   linalg_matmul(Tensor self, Tensor other) -> Tensor
fmo  inner(Tensor self, Tensor other) -> Tensor
fmo  outer(Tensor self, Tensor vec2) -> Tensor
fmo  ger(Tensor self, Tensor vec2) -> Tensor
fmo  kron(Tensor self, Tensor other) -> Tensor
fmo  cross(Tensor self, Tensor other, int? dim=None) -> Tensor
-o   linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor
-o   tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor
-    einsum(str equation, Tensor[] tensors) -> Tensor
-o   linalg_multi_dot(Tensor[] tensors) -> Tensor
-o   chain_matmul(Tensor[] matrices) -> Tensor
fmo  matrix_power(Tensor self, int n) -> Tensor
-o   linalg_matrix_power(Tensor self, int n) -> Tensor
f    vander(Tensor x, int? N=None, bool increasing=False) -> Tensor
-    linalg_vander(Tensor x, *, int? N=None) -> Tensor
"""

FACTORIZATIONS = """
-ox  linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)
-ox  linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)
fox  lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)
-ox  linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor
-    _linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)
-    _linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)
-    _linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)
-ox  linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)
-ox  linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor
fmoz triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)
-ox  linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)
fmol cholesky(Tensor self, bool upper=False) -> Tensor
fmol cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor
fmoz cholesky_inverse(Tensor self, bool upper=False) -> Tensor
-o   linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)
-o   linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor
-ox  linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
fmoz geqrf(Tensor self) -> (Tensor a, Tensor tau)
-o   linalg_householder_product(Tensor input, Tensor tau) -> Tensor
fmoz ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor
-    _linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)
-    _linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)
-oz  linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)
-o   linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)
-o   linalg_matrix_exp(Tensor self) -> Tensor
"""

#: Written in the factorizations above.
COMPOSITE_FACTORIZATIONS = """
-ol  linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)
f    _lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)
fmol lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor
-o   linalg_det(Tensor A) -> Tensor
fm   det(Tensor self) -> Tensor
-o   linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)
fmo  slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)
fm   logdet(Tensor self) -> Tensor
-ol  linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)
-ol  linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor
-ol  linalg_inv(Tensor A) -> Tensor
fmol inverse(Tensor self) -> Tensor
-o   linalg_tensorinv(Tensor self, int ind=2) -> Tensor
-o   linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor
-ol  linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor
-ol  linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)
fmol qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)
fmo  orgqr(Tensor self, Tensor input2) -> Tensor
-ol  linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)
-o   linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor
fmol svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)
-ol  linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)
-o   linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor
-olz linalg_eigvals(Tensor self) -> Tensor
-o   linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor
-o   linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor
-o   linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor
-o   linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor
fm   pinverse(Tensor self, float rcond=1e-15) -> Tensor
-o   linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor
-o   linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor
-o   linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor
-o   linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor
-o   linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
-o   linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
-o   linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
-o   linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
-o   linalg_cond(Tensor self, Scalar? p=None) -> Tensor
-o   linalg_cond.p_str(Tensor self, str p) -> Tensor
fm   matrix_exp(Tensor self) -> Tensor
"""

SCHEMAS = "\n".join((PRODUCTS, COMPOSITE_PRODUCTS, FACTORIZATIONS, COMPOSITE_FACTORIZATIONS))
