"""Random numbers: what a tensor is filled with in place, what is drawn for the elements of another, and dropout."""

SCHEMAS = """
m   uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)
m   normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)
m   random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)
m   random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)
m   random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
m   bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)
m   bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)
m   exponential_(Tensor(a!) self, float lambd=1, *, Generator? generator=None) -> Tensor(a!)
m   geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)
m   cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor(a!)
m   log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor(a!)
fmo bernoulli(Tensor self, *, Generator? generator=None) -> Tensor
fm  bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
fmox multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor
fo  normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor
fo  normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor
fo  normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor
f   poisson(Tensor self, Generator? generator=None) -> Tensor
f   binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor
-   randperm(int n, *, Generator? generator=None, ScalarType? dtype=None) -> Tensor
f   native_dropout(Tensor input, float p, bool? train) -> (Tensor result0, Tensor result1)
f   dropout(Tensor input, float p, bool train) -> Tensor
f   dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
f   feature_dropout(Tensor input, float p, bool train) -> Tensor
f   feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
f   alpha_dropout(Tensor input, float p, bool train) -> Tensor
f   alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
f   feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor
f   feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
"""
