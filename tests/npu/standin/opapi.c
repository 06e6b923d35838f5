/* libopapi.so: a few operators in float16, bfloat16 and float32, walking sizes and strides. The first phase checks every
   descriptor, the second one that they are still alive and that the executor is new; the work is done by the stream. */
#include "standin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int32_t fail_plan, fail_run, fail_late;
void standin_fail(int32_t plan, int32_t run) { fail_plan = plan, fail_run = run; }
/* From now on each operator is refused once, at a call that chance chooses; 0: none is. */
static uint32_t refusing;
static struct { const char *name; int calls_left; } refusals[64];
void standin_refuse_each(uint32_t seed) { refusing = seed; memset(refusals, 0, sizeof refusals); }
static int refuses(const char *name) {
    int i = 0;
    if (!refusing) return 0;
    while (refusals[i].name && strcmp(refusals[i].name, name)) i++;
    if (!refusals[i].name) {
        refusing = refusing * 1664525 + 1013904223;
        refusals[i].name = name, refusals[i].calls_left = 1 + (int)((refusing >> 24) % 3);
    }
    return !--refusals[i].calls_left;
}
void standin_fail_late(int32_t code) { fail_late = code; }

enum { ADD, MUL, RELU, SUM, MM, COPY, FILL, INDEX_ADD, SCATTER_ADD };
static const char *NAMES[] = {"aclnnAdd", "aclnnMul", "aclnnRelu", "aclnnReduceSum", "aclnnMm", "aclnnInplaceCopy",
                              "aclnnInplaceFillScalar", "aclnnIndexAdd", "aclnnScatterAdd"};

static char *at(const aclTensor *t, const int64_t *index, uint64_t rank) {  /* broadcast from the right */
    int64_t place = t->offset;
    for (uint64_t i = 0; i < t->rank; i++) {
        int64_t step = index[i + rank - t->rank];
        place += (t->dims[i] == 1 ? 0 : step) * t->strides[i];
    }
    return t->data + place * standin_size(t->dtype);
}
#define GET(t) standin_load(at(&e->t, index, rank), e->t.dtype)
#define SET(t, value) standin_store(at(&e->t, index, rank), e->t.dtype, value)

static void one(aclOpExecutor *e, const int64_t *index, uint64_t rank) {
    if (e->kind == ADD) SET(out, GET(a) + e->alpha * (e->b.data ? GET(b) : e->beta));
    if (e->kind == MUL) SET(out, GET(a) * (e->b.data ? GET(b) : e->beta));
    if (e->kind == RELU) SET(out, GET(a) > 0 ? GET(a) : 0);
    if (e->kind == FILL) SET(out, e->beta);
    if (e->kind == COPY) SET(out, GET(a));
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
        char *place = at(&e->out, kept, n);
        standin_store(place, e->out.dtype, standin_load(place, e->out.dtype) + standin_load(at(&e->a, index, over->rank), e->a.dtype));
        return;
    }
    for (index[dim] = 0; index[dim] < over->dims[dim]; index[dim]++) each(e, over, index, dim + 1);
}
static void index_add(aclOpExecutor *e) {  /* into self, as on the device, and from there to out */
    int64_t index[8] = {0}, dim = (int64_t)e->beta;
    aclTensor source = e->c;
    int64_t total = 1;
    for (uint64_t i = 0; i < source.rank; i++) total *= source.dims[i];
    for (int64_t n = 0; n < total; n++) {
        int64_t rest = n;
        for (int64_t i = (int64_t)source.rank - 1; i >= 0; i--) index[i] = rest % source.dims[i], rest /= source.dims[i];
        double value = standin_load(at(&source, index, source.rank), source.dtype);
        int64_t which[1] = {index[dim]};
        index[dim] = (int64_t)standin_load(at(&e->b, which, 1), e->b.dtype);
        char *place = at(&e->a, index, source.rank);
        standin_store(place, e->a.dtype, standin_load(place, e->a.dtype) + e->alpha * value);
    }
    aclOpExecutor copy = *e;
    copy.kind = COPY;
    memset(index, 0, sizeof index);
    each(&copy, &copy.out, index, 0);
}
static void scatter_add(aclOpExecutor *e) {  /* along dimension 0, at an index of two dimensions or one for all columns */
    int64_t index[8] = {0};
    aclOpExecutor copy = *e;
    copy.kind = COPY;
    each(&copy, &copy.out, index, 0);
    for (int64_t row = 0; row < e->c.dims[0]; row++) for (int64_t column = 0; column < e->c.dims[1]; column++) {
        int64_t from[2] = {row, column};
        int64_t to[2] = {(int64_t)standin_load(at(&e->b, from, e->b.rank), e->b.dtype), column};
        char *place = at(&e->out, to, 2);
        standin_store(place, e->out.dtype, standin_load(place, e->out.dtype) + standin_load(at(&e->c, from, 2), e->c.dtype));
    }
}
static int32_t run(void *work) {
    aclOpExecutor *e = work;
    int64_t index[8] = {0};
    const aclTensor *tensors[] = {&e->a, &e->b, &e->c, &e->out};
    for (int i = 0; i < 4; i++)
        if (tensors[i]->data && standin_extent(tensors[i], "what it works on")) return 507015;
    if (e->size && !standin_inside(e->workspace, e->size, 0)) { standin_say("its workspace was given back"); return 507015; }
    if (e->size) memset(e->workspace, 0x5A, e->size);
    if (fail_late) { standin_say("running failed late, as asked"); int32_t code = fail_late; fail_late = 0; return code; }
    if (e->kind == INDEX_ADD) { index_add(e); free(e); return 0; }
    if (e->kind == SCATTER_ADD) { scatter_add(e); free(e); return 0; }
    if (e->kind == MM) {
        for (int64_t i = 0; i < e->out.dims[0]; i++) for (int64_t j = 0; j < e->out.dims[1]; j++) {
            double sum = 0;
            for (int64_t k = 0; k < e->a.dims[1]; k++) {
                int64_t left[2] = {i, k}, right[2] = {k, j};
                sum += standin_load(at(&e->a, left, 2), e->a.dtype) * standin_load(at(&e->b, right, 2), e->b.dtype);
            }
            int64_t place[2] = {i, j};
            standin_store(at(&e->out, place, 2), e->out.dtype, sum);
        }
    } else {
        if (e->kind == SUM) { aclOpExecutor zero = *e; zero.kind = FILL; zero.beta = 0; each(&zero, &zero.out, index, 0); }
        each(e, e->kind == SUM ? &e->a : &e->out, index, 0);
    }
    free(e);
    return 0;
}
/* Whether one piece of memory lies in the tail of another: pieces of a segment have to be 32 bytes apart. */
static int in_tail(const aclTensor *one, const aclTensor *other) {
    if (!one->data || !other->data || other->data <= one->data) return 0;
    uint64_t bytes = (uint64_t)(one->room * standin_size(one->dtype));
    return other->data < one->data + (bytes + 31) / 32 * 32 + 32;
}
/* The format that op-plugin gives tensors of so many dimensions: NCL, NCHW, NCDHW, and ND all others. */
static int32_t format_of(uint64_t rank) { return rank == 3 ? 47 : rank == 4 ? 0 : rank == 5 ? 30 : 2; }
/* What the first phase of some operators of CANN writes into the descriptors of the caller (ops-nn, aclnn_scatter.cpp:
   DoSliceIndex, matmul_util.cpp: SetTensorToNDFormat and what follows it). */
static void scribble(int kind, aclTensor *a, aclTensor *b) {
    if (kind == SCATTER_ADD && b->rank == 2 && b->strides[1] == 0) b->rank = 1, b->strides[0] = 1;
    if (kind == MM) a->format = b->format = 29;  /* FRACTAL_NZ */
}
static int32_t planned(const char *name, int kind, aclTensor *a, aclTensor *b, aclTensor *c, aclTensor *out, void *extra, double alpha,
                       double beta, uint64_t *size, aclOpExecutor **executor) {
    const char *opp = getenv("ASCEND_OPP_PATH");
    if (!opp || access(opp, F_OK)) { standin_say("ASCEND_OPP_PATH is not set, or there is no such folder"); return 561107; }
    char kernels[4096];
    snprintf(kernels, sizeof kernels, "%s/built-in/op_impl/ai_core/tbe/kernel/ascend910b", opp);
    if (access(kernels, F_OK)) { standin_say("the kernel package is not installed"); return 561112; }
    int32_t code = standin_context();
    if (code) return code;
    if (refuses(name)) { standin_say("refused by chance"); return 561003; }
    if (fail_plan) { standin_say("planning failed as asked"); return fail_plan; }
    aclTensor *tensors[] = {a, b, c, out};
    const char *what[] = {"self", "other", "source", "out"};
    for (int i = 0; i < 4; i++) {
        if (!tensors[i] && i < 3) continue;
        if ((code = standin_alive(tensors[i], TENSOR, what[i])) || (code = standin_extent(tensors[i], what[i]))) return code;
        if (tensors[i]->format != format_of(tensors[i]->rank)) {
            standin_say("%s has %d dimensions and the format %d", what[i], (int)tensors[i]->rank, tensors[i]->format);
            return 161002;
        }
        for (int j = 0; j < 4; j++)
            if (tensors[j] && in_tail(tensors[i], tensors[j])) {
                standin_say("%s lies in the tail of %s", what[j], what[i]);
                return 161002;
            }
    }
    if (a && (kind == ADD || kind == MUL || kind == RELU || kind == MM) && out->dtype != 0 && out->dtype != 1 && out->dtype != 27) {
        standin_say("%s: no kernel for dtype %d", NAMES[kind], out->dtype);
        return 161002;
    }
    if (kind == SCATTER_ADD && (b->rank != 2 || b->dims[1] != c->dims[1])) {
        standin_say("index has other sizes than source");
        return 161002;
    }
    aclOpExecutor *e = calloc(1, sizeof *e);
    e->magic = EXECUTOR, e->kind = kind, e->alpha = alpha, e->beta = beta, e->out = *out;
    void *used[] = {a, b, c, out, extra, NULL};
    memcpy(e->used, used, sizeof used);
    for (int i = 0; i < 4; i++) if (tensors[i]) __sync_fetch_and_add(&tensors[i]->planned, 1);
    if (a) e->a = *a;
    if (b) e->b = *b;
    if (c) e->c = *c;
    scribble(kind, a, b);
    *size = kind == MM ? 1024 : 0;
    e->size = *size;
    *executor = e;
    __sync_fetch_and_add(&standin_live, 1);
    return 0;
}
static int32_t ran(char *workspace, uint64_t size, aclOpExecutor *e, void *stream) {
    int32_t code = standin_alive(e, EXECUTOR, "the executor");
    for (int i = 0; !code && i < 6; i++)
        if (e->used[i] && *(int *)e->used[i] == DESTROYED) code = (standin_say("a handle was destroyed before the second phase"), 161002);
    if (!code && e->size && (size < e->size || !standin_inside(workspace, e->size, 32)))
        code = (standin_say("the workspace is not %d bytes in a block", (int)e->size), 161001);
    if (!code && e->size) {
        aclTensor piece = {.data = workspace, .dtype = 4, .room = (int64_t)e->size};
        aclTensor *tensors[] = {&e->a, &e->b, &e->c, &e->out};
        for (int i = 0; i < 4; i++)
            if (in_tail(&piece, tensors[i]) || in_tail(tensors[i], &piece))
                code = (standin_say("the workspace is no piece of its own"), 161002);
    }
    if (e && e->magic == EXECUTOR) {
        aclOpExecutor *work = malloc(sizeof *work);
        *work = *e;
        standin_unplanned(e);
        work->workspace = workspace;
        e->magic = DESTROYED;
        __sync_fetch_and_sub(&standin_live, 1);
        if (!code && fail_run) code = (standin_say("running failed as asked"), fail_run);
        if (!code) code = standin_enqueue(stream, run, work, NAMES[work->kind]);
    }
    return code;
}
#define OP(name, ...) \
    int32_t name##GetWorkspaceSize(__VA_ARGS__, uint64_t *size, aclOpExecutor **executor); \
    int32_t name(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return ran(workspace, size, e, stream); } \
    int32_t name##GetWorkspaceSize(__VA_ARGS__, uint64_t *size, aclOpExecutor **executor)
#define PLAN(...) return planned(__func__, __VA_ARGS__, size, executor)
OP(aclnnAdd, aclTensor *self, aclTensor *other, aclScalar *alpha, aclTensor *out) { PLAN(ADD, self, other, 0, out, alpha, alpha->value, 0); }
OP(aclnnAdds, aclTensor *self, aclScalar *other, aclScalar *alpha, aclTensor *out) { PLAN(ADD, self, 0, 0, out, other, alpha->value, other->value); }
OP(aclnnMul, aclTensor *self, aclTensor *other, aclTensor *out) { PLAN(MUL, self, other, 0, out, 0, 1, 0); }
OP(aclnnMuls, aclTensor *self, aclScalar *other, aclTensor *out) { PLAN(MUL, self, 0, 0, out, other, 1, other->value); }
OP(aclnnRelu, aclTensor *self, aclTensor *out) { PLAN(RELU, self, 0, 0, out, 0, 1, 0); }
OP(aclnnInplaceFillScalar, aclTensor *out, aclScalar *value) { PLAN(FILL, 0, 0, 0, out, value, 1, value->value); }
OP(aclnnInplaceOne, aclTensor *out) { PLAN(FILL, 0, 0, 0, out, 0, 1, 1); }
OP(aclnnInplaceZero, aclTensor *out) { PLAN(FILL, 0, 0, 0, out, 0, 1, 0); }
OP(aclnnInplaceCopy, aclTensor *out, aclTensor *src) { PLAN(COPY, src, 0, 0, out, 0, 1, 0); }
OP(aclnnMm, aclTensor *self, aclTensor *mat2, aclTensor *out, int8_t cube) { PLAN(MM, self, mat2, 0, out, 0, 1, 0); }
OP(aclnnIndexAdd, aclTensor *self, int64_t dim, aclTensor *index, aclTensor *source, aclScalar *alpha, aclTensor *out) {
    PLAN(INDEX_ADD, self, index, source, out, alpha, alpha->value, (double)dim);
}
OP(aclnnScatterAdd, aclTensor *self, int64_t dim, aclTensor *index, aclTensor *src, aclTensor *out) {
    PLAN(SCATTER_ADD, self, index, src, out, 0, 1, (double)dim);
}
OP(aclnnReduceSum, aclTensor *self, aclIntArray *dims, _Bool keep, int32_t dtype, aclTensor *out) {
    int32_t code = planned(__func__, SUM, self, 0, 0, out, dims, keep, 0, size, executor);
    if (!code) (*executor)->dims = *dims;
    return code;
}
