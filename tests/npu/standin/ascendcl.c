/* libascendcl.so: devices, contexts of threads, memory that is poisoned when it is given back, streams that run only
   when somebody waits for them, and events. It refuses what CANN refuses; pyACL's stand-in, acl.py, calls it. */
#include "standin.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 16, MODE_STOP = 1, NO_CONTEXT = 107002, WRONG_CONTEXT = 107003, INVALID = 107000, AICORE = 507015,
       OUT_OF_MEMORY = 207001, DEVICES = 2 };
typedef struct { char *start; uint64_t size; int device, live, host; } Block;
typedef struct Task { struct Task *next; int64_t number; int32_t (*run)(void *); void *work; const char *name; } Task;
typedef struct Context { int device, live; int32_t failure, stops; } Context;
typedef struct Stream { Context *context; Task *first, *last; int64_t number; int32_t error, mode, live, id; } Stream;
typedef struct Event { Stream *stream; int64_t number; int live; } Event;
typedef struct { Stream *stream; int64_t number; } Point;

static pthread_mutex_t lock;
static __thread Context *current;
static __thread char text[512];
static Block blocks[BLOCKS];
static int block_count, peers[DEVICES][DEVICES], next_id;
static char failed[1024];
static uint64_t used[DEVICES], limit = 64 << 20;
static int64_t live_contexts, live_streams, live_events;

__attribute__((constructor)) static void begin(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
}
void standin_say(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
}
const char *aclGetRecentErrMsg(void) {
    static __thread char told[512];
    strcpy(told, text);
    text[0] = 0;
    return told;
}
static int32_t refuse(int32_t code, const char *why) { standin_say("%s", why); return code; }
int32_t standin_context(void) {
    return current && current->live ? 0 : refuse(NO_CONTEXT, "this thread has no context");
}

/* -- memory -- */
static Block *block_of(const void *address, int host) {
    for (int i = block_count - 1; i >= 0; i--)
        if (blocks[i].live && blocks[i].host == host && (char *)address >= blocks[i].start
            && (char *)address < blocks[i].start + blocks[i].size) return &blocks[i];
    return NULL;
}
int standin_inside(const void *first, uint64_t bytes, uint64_t tail) {
    Block *block = block_of(first, 0);
    uint64_t room = block ? (block->size + 31) / 32 * 32 + 32 : 0;  /* aclrtMalloc itself adds the tail of the whole */
    return block && (char *)first + bytes <= block->start + block->size
        && (char *)first + (bytes + 31) / 32 * 32 + tail <= block->start + room;
}
int32_t sa_malloc(void **pointer, uint64_t size, int host) {
    int32_t code = standin_context();
    *pointer = NULL;
    if (code) return code;
    if (!size) return refuse(INVALID, "aclrtMalloc: no bytes");
    if (block_count == BLOCKS || (!host && used[current->device] + size > limit))
        return refuse(OUT_OF_MEMORY, "out of memory");
    char *start = NULL;
    if (posix_memalign((void **)&start, 64, (size + 31) / 32 * 32 + 32)) return OUT_OF_MEMORY;
    memset(start, 0xA5, size);
    pthread_mutex_lock(&lock);
    blocks[block_count++] = (Block){start, size, current->device, 1, host};
    if (!host) used[current->device] += size;
    pthread_mutex_unlock(&lock);
    *pointer = start;
    return 0;
}
int32_t sa_free(void *pointer, int host) {
    Block *block = block_of(pointer, host);
    if (!block || block->start != pointer) return refuse(INVALID, "aclrtFree: no block starts here");
    block->live = 0;  /* the bytes stay, poisoned: whoever still uses them is found out, and nothing crashes */
    if (!host) used[block->device] -= block->size;
    memset(block->start, 0xDD, block->size);
    return 0;
}
int64_t sa_left(void) {
    int64_t count = 0;
    for (int i = 0; i < block_count; i++) count += blocks[i].live;
    return count;
}

/* -- contexts, streams, events -- */
int32_t sa_create_context(Context **made, int device) {
    if (device < 0 || device >= DEVICES) return refuse(107001, "no such device");
    *made = current = calloc(1, sizeof(Context));
    current->device = device, current->live = 1;
    live_contexts++;
    return 0;
}
int32_t sa_destroy_context(Context *context) { context->live = 0; live_contexts--; return 0; }
int32_t sa_set_context(Context *context) {
    if (!context || !context->live) return refuse(107017, "no such context");
    current = context;
    return 0;
}
int32_t sa_enable_peer(int peer) {
    int32_t code = standin_context();
    if (!code) peers[current->device][peer] = 1;
    return code;
}
int32_t sa_create_stream(Stream **made) {
    int32_t code = standin_context();
    if (code) return code;
    *made = calloc(1, sizeof(Stream));
    (*made)->context = current, (*made)->live = 1, (*made)->mode = -1, (*made)->id = next_id++;
    live_streams++;
    return 0;
}
static int32_t usable(Stream *stream) {
    int32_t code = standin_context();
    if (code) return code;
    if (!stream || !stream->live) return refuse(107017, "no such stream");
    if (stream->context != current) return refuse(WRONG_CONTEXT, "the stream is one of another context");
    return 0;
}
int32_t sa_stream_mode(Stream *stream, int mode) {
    int32_t code = usable(stream);
    if (code) return code;
    if (stream->mode >= 0) return refuse(INVALID, "the mode was set before");
    stream->mode = mode;
    stream->context->stops |= mode == MODE_STOP;
    return 0;
}
int32_t sa_stream_id(Stream *stream) { return stream->id; }
static void step(Stream *stream) {
    Task *task = stream->first;
    stream->first = task->next;
    if (!stream->first) stream->last = NULL;
    int32_t code = stream->context->failure ? 0 : task->run(task->work);
    if (code && !stream->error) {
        snprintf(failed, sizeof failed, "%s failed on stream %d: %s", task->name, stream->id, text);
        stream->error = code;
        if (stream->context->stops) stream->context->failure = code;
    }
    free(task);
}
static void run_until(Stream *stream, int64_t number) {
    while (stream->first && stream->first->number <= number) step(stream);
}
int32_t standin_enqueue(void *handle, int32_t (*run)(void *), void *work, const char *name) {
    Stream *stream = handle;
    int32_t code = usable(stream);
    if (!code && stream->context->failure) code = refuse(stream->context->failure, failed);
    if (code) return code;
    pthread_mutex_lock(&lock);
    Task *task = malloc(sizeof *task);
    *task = (Task){NULL, ++stream->number, run, work, name};
    if (stream->last) stream->last->next = task; else stream->first = task;
    stream->last = task;
    pthread_mutex_unlock(&lock);
    return 0;
}
int32_t sa_synchronize(Stream *stream) {
    int32_t code = usable(stream);
    if (code) return code;
    pthread_mutex_lock(&lock);
    run_until(stream, stream->number);
    code = stream->context->failure ? stream->context->failure : stream->error;
    stream->error = 0;
    pthread_mutex_unlock(&lock);
    if (code) standin_say("%s", failed);
    return code;
}
int32_t sa_destroy_stream(Stream *stream) {
    int32_t code = usable(stream);
    if (code) return code;
    run_until(stream, stream->number);
    stream->live = 0;
    live_streams--;
    return 0;
}
int32_t sa_query(Stream *stream, int32_t *status) {
    int32_t code = usable(stream);
    *status = stream && stream->first ? 1 : 0;
    return code;
}
int32_t sa_create_event(Event **made) {
    int32_t code = standin_context();
    if (code) return code;
    *made = calloc(1, sizeof(Event));
    (*made)->live = 1;
    live_events++;
    return 0;
}
int32_t sa_destroy_event(Event *event) {
    if (!event || !event->live) return refuse(107017, "no such event");
    event->live = 0;
    live_events--;
    return 0;
}
int32_t sa_record_event(Event *event, Stream *stream) {
    int32_t code = usable(stream);
    if (code) return code;
    if (!event->live) return refuse(107017, "no such event");
    event->stream = stream, event->number = stream->number;
    return 0;
}
static int32_t wait(void *work) {
    Point *point = work;
    run_until(point->stream, point->number);
    free(point);
    return 0;
}
int32_t sa_wait_event(Stream *stream, Event *event) {
    if (!event->live) return refuse(107017, "no such event");
    if (!event->stream) return 0;
    Point *point = malloc(sizeof *point);
    *point = (Point){event->stream, event->number};
    return standin_enqueue(stream, wait, point, "wait");
}
int32_t sa_query_event(Event *event, int32_t *status) {
    if (!event->live) return refuse(107017, "no such event");
    *status = !event->stream || !event->stream->first || event->stream->first->number > event->number;
    return 0;
}
int32_t sa_synchronize_event(Event *event) {
    if (!event->live) return refuse(107017, "no such event");
    if (event->stream) {
        pthread_mutex_lock(&lock);
        run_until(event->stream, event->number);
        pthread_mutex_unlock(&lock);
        return event->stream->context->failure;
    }
    return 0;
}
void sa_counts(int64_t *counts) {
    counts[0] = live_contexts, counts[1] = live_streams, counts[2] = live_events, counts[3] = sa_left();
}
int64_t sa_queued(Stream *stream) {
    int64_t count = 0;
    for (Task *task = stream->first; task; task = task->next) count++;
    return count;
}

/* -- copies -- */
typedef struct { char *to; const char *from; uint64_t count; int kind, value; } Copy;
static int32_t copied(void *work) {
    Copy *copy = work;
    int32_t code = 0;
    int writes = copy->kind == 1 || copy->kind == 3 || copy->kind == 5, reads = copy->kind == 2 || copy->kind == 3;
    if ((writes && !standin_inside(copy->to, copy->count, 0)) || (reads && !standin_inside(copy->from, copy->count, 0))
        || (!writes && block_of(copy->to, 0)) || (copy->kind == 1 && block_of(copy->from, 0)))
        code = refuse(AICORE, "a copy's memory is not where the kind of copy says, or was given back");
    else if (copy->kind == 3) {
        int to = block_of(copy->to, 0)->device, from = block_of(copy->from, 0)->device;
        if (to != from && !(peers[to][from] && peers[from][to])) code = refuse(INVALID, "the devices are no peers");
    }
    if (!code && copy->kind == 5) memset(copy->to, copy->value, copy->count);
    else if (!code) memmove(copy->to, copy->from, copy->count);
    free(copy);
    return code;
}
int32_t sa_copy(void *to, uint64_t most, const void *from, uint64_t count, int kind, int value) {
    int32_t code = standin_context();
    if (!code && count > most) code = refuse(INVALID, "more bytes than there is room");
    if (code) return code;
    Copy *copy = malloc(sizeof *copy);
    *copy = (Copy){to, from, count, kind, value};
    return copied(copy);
}
int32_t sa_copy_async(void *to, uint64_t most, const void *from, uint64_t count, int kind, int value, void *stream) {
    if (count > most) return refuse(INVALID, "more bytes than there is room");
    Copy *copy = malloc(sizeof *copy);
    *copy = (Copy){to, from, count, kind, value};
    return standin_enqueue(stream, copied, copy, "copy");
}
