/* What the stand-in libraries share: acl_meta.h's opaque handles, and the runtime's memory, contexts and streams. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { TENSOR = 0x7E4501, SCALAR, ARRAY, LIST, EXECUTOR, DESTROYED };
typedef struct {
    int magic;
    int planned;  /* how many executors were made of it that have not run yet */
    int64_t dims[8], strides[8], offset, room;
    uint64_t rank;
    int32_t dtype, format;
    char *data;
} aclTensor;
typedef struct { int magic; double value; } aclScalar;
typedef struct { int magic; int64_t values[8]; uint64_t size; } aclIntArray;
typedef struct {
    int magic, kind;
    void *used[6];  /* the handles that it was made of: alive until the second phase */
    aclTensor a, b, c, out;
    double alpha, beta;
    aclIntArray dims;
    char *workspace;
    uint64_t size;
} aclOpExecutor;

/* libascendcl.so */
void standin_say(const char *format, ...);
int standin_inside(const void *first, uint64_t bytes, uint64_t tail);  /* in one live block, the tail beyond it, too */
int32_t standin_enqueue(void *stream, int32_t (*run)(void *), void *work, const char *name);
int32_t standin_context(void);  /* 0, or the code of a thread without a context */
/* libnnopbase.so */
void standin_unplanned(const aclOpExecutor *executor);
extern int64_t standin_live;
int standin_size(int32_t dtype);
int32_t standin_alive(const void *handle, int magic, const char *what);
int32_t standin_extent(const aclTensor *tensor, const char *what);
double standin_load(const char *place, int32_t dtype);
void standin_store(char *place, int32_t dtype, double value);
