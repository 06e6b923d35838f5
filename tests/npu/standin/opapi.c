/* libopapi.so: a few operators on float32, walking sizes and strides. It needs libnnopbase.so to be loaded before. */
#include "nnopbase.h"
#include <stdlib.h>
#include <string.h>
static int32_t fail_plan, fail_run;
void standin_fail(int32_t plan, int32_t run) { fail_plan = plan, fail_run = run; }

enum { ADD, MUL, RELU, SUM, MM, COPY, FILL };

static char *at(const aclTensor *t, const int64_t *index, uint64_t rank, int size) {  /* broadcast from the right */
    int64_t place = t->offset;
    for (uint64_t i = 0; i < t->rank; i++) {
        int64_t step = index[i + rank - t->rank];
        place += (t->dims[i] == 1 ? 0 : step) * t->strides[i];
    }
    return t->data + place * size;
}
#define F(t) (*(float *)at(&e->t, index, rank, 4))

static void one(aclOpExecutor *e, const int64_t *index, uint64_t rank) {
    if (e->kind == ADD) F(out) = F(a) + (float)e->alpha * (e->b.data ? F(b) : (float)e->beta);
    if (e->kind == MUL) F(out) = F(a) * (e->b.data ? F(b) : (float)e->beta);
    if (e->kind == RELU) F(out) = F(a) > 0 ? F(a) : 0;
    if (e->kind == FILL) F(out) = (float)e->beta;
    if (e->kind == COPY) {
        int size = e->out.dtype == 9 || e->out.dtype == 11 ? 8 : 4;
        memmove(at(&e->out, index, rank, size), at(&e->a, index, rank, size), size);
    }
}
static void each(aclOpExecutor *e, const aclTensor *over, int64_t *index, uint64_t dim) {
    if (dim == over->rank) {
        if (e->kind != SUM) { one(e, index, over->rank); return; }
        int64_t kept[8] = {0}, n = 0;
        for (uint64_t i = 0; i < over->rank; i++) {
            int reduced = 0;
            for (uint64_t j = 0; j < e->dims.size; j++) reduced |= e->dims.values[j] == (int64_t)i;
            if (!reduced) kept[n++] = index[i]; else if (e->alpha) kept[n++] = 0;
        }
        *(float *)at(&e->out, kept, n, 4) += *(float *)at(&e->a, index, over->rank, 4);
        return;
    }
    for (index[dim] = 0; index[dim] < over->dims[dim]; index[dim]++) each(e, over, index, dim + 1);
}
static void run(aclOpExecutor *e) {
    int64_t index[8] = {0};
    if (e->kind == MM) {
        for (int64_t i = 0; i < e->out.dims[0]; i++) for (int64_t j = 0; j < e->out.dims[1]; j++) {
            float sum = 0;
            for (int64_t k = 0; k < e->a.dims[1]; k++) {
                int64_t left[2] = {i, k}, right[2] = {k, j};
                sum += *(float *)at(&e->a, left, 2, 4) * *(float *)at(&e->b, right, 2, 4);
            }
            int64_t place[2] = {i, j};
            *(float *)at(&e->out, place, 2, 4) = sum;
        }
        return;
    }
    if (e->kind == SUM) { aclOpExecutor zero = *e; zero.kind = FILL; zero.beta = 0; each(&zero, &zero.out, index, 0); }
    each(e, e->kind == SUM ? &e->a : &e->out, index, 0);
}
static int32_t planned(int kind, aclTensor *a, aclTensor *b, aclTensor *out, double alpha, double beta, uint64_t *size,
                       aclOpExecutor **executor) {
    if (fail_plan) { standin_say("planning failed as asked"); return fail_plan; }
    aclOpExecutor *e = calloc(1, sizeof *e);
    e->kind = kind, e->alpha = alpha, e->beta = beta, e->out = *out;
    if (a) e->a = *a;
    if (b) e->b = *b;
    *size = kind == MM ? 256 : 0;
    *executor = e;
    standin_live++;
    return 0;
}
static int32_t ran(aclOpExecutor *e) {
    if (!fail_run) run(e);
    free(e);
    standin_live--;
    if (fail_run) standin_say("running failed as asked");
    return fail_run;
}
#define OP(name, ...) \
    int32_t name##GetWorkspaceSize(__VA_ARGS__, uint64_t *size, aclOpExecutor **executor); \
    int32_t name(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return ran(e); } \
    int32_t name##GetWorkspaceSize(__VA_ARGS__, uint64_t *size, aclOpExecutor **executor)
OP(aclnnAdd, aclTensor *self, aclTensor *other, aclScalar *alpha, aclTensor *out) { return planned(ADD, self, other, out, alpha->value, 0, size, executor); }
OP(aclnnAdds, aclTensor *self, aclScalar *other, aclScalar *alpha, aclTensor *out) { return planned(ADD, self, 0, out, alpha->value, other->value, size, executor); }
OP(aclnnMul, aclTensor *self, aclTensor *other, aclTensor *out) { return planned(MUL, self, other, out, 1, 0, size, executor); }
OP(aclnnMuls, aclTensor *self, aclScalar *other, aclTensor *out) { return planned(MUL, self, 0, out, 1, other->value, size, executor); }
OP(aclnnRelu, aclTensor *self, aclTensor *out) { return planned(RELU, self, 0, out, 1, 0, size, executor); }
OP(aclnnInplaceFillScalar, aclTensor *out, aclScalar *value) { return planned(FILL, 0, 0, out, 1, value->value, size, executor); }
OP(aclnnInplaceCopy, aclTensor *out, aclTensor *src) { return planned(COPY, src, 0, out, 1, 0, size, executor); }
OP(aclnnMm, aclTensor *self, aclTensor *mat2, aclTensor *out, int8_t cube) { return planned(MM, self, mat2, out, 1, 0, size, executor); }
OP(aclnnReduceSum, aclTensor *self, aclIntArray *dims, _Bool keep, int32_t dtype, aclTensor *out) {
    int32_t code = planned(SUM, self, 0, out, keep, 0, size, executor);
    if (!code) (*executor)->dims = *dims;
    return code;
}
