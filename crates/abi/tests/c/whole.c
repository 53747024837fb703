/* A FIFO with every function of the interface, for tests. `reason` is the reason of drops beyond `limit`.
 * Compiled with -DNEXT against the header of the next minor version, it uses what that adds. */
#include "forebay.h"

struct fifo {
    ForebayPacket held[256];
    uint64_t first, count, bytes, limit;
    uint32_t reason, acks, versions;
    uint64_t looked;
};

static void *create(const ForebayDiscipline *kind, const char *params,
                    const ForebaySetting *setting, char *error, uintptr_t size) {
    (void)kind, (void)error, (void)size;
    struct fifo *fifo = (struct fifo *)calloc(1, sizeof *fifo);
    if (fifo == NULL) return NULL;
    fifo->limit = (uint64_t)forebay_number(params, "limit");
    fifo->reason = (uint32_t)forebay_number(params, "reason");
    fifo->versions = setting->version;
#ifdef NEXT
    /* 7 if an earlier host does not say. */
    fifo->looked = forebay_has(ForebaySetting, setting, colour) ? setting->colour : 7;
#endif
    return fifo;
}

static void destroy(void *state) { free(state); }

static int32_t enqueue(void *state, const ForebayPacket *packet, ForebayContext *cx) {
    struct fifo *fifo = (struct fifo *)state;
    ForebayTcp tcp;
    tcp.struct_size = sizeof tcp;
    if (cx->tcp(cx, packet, &tcp) && (tcp.flags & 0x10) != 0) fifo->acks += tcp.ack;
    uintptr_t length = 0;
    const uint8_t *bytes = cx->bytes(cx, packet, &length);
    if (bytes != NULL) fifo->looked += length + bytes[0];
#ifdef NEXT
    if (forebay_has(ForebayContext, cx, shine) && cx->shine != NULL) fifo->looked += cx->shine(cx);
#endif
    if (fifo->count == fifo->limit) {
        cx->drop(cx, packet, fifo->reason);
        return FOREBAY_DROPPED;
    }
    fifo->held[(fifo->first + fifo->count++) % 256] = *packet;
    fifo->bytes += packet->len;
    return FOREBAY_QUEUED;
}

static int32_t dequeue(void *state, ForebayPacket *packet, ForebayContext *cx) {
    (void)cx;
    struct fifo *fifo = (struct fifo *)state;
    if (fifo->count == 0) return FOREBAY_NONE;
    *packet = fifo->held[fifo->first];
    fifo->first = (fifo->first + 1) % 256;
    fifo->count -= 1;
    fifo->bytes -= packet->len;
    return FOREBAY_SENT;
}

static uint64_t wake(const void *state, uint64_t now) {
    return ((const struct fifo *)state)->count == 0 ? FOREBAY_IDLE : now;
}

static ForebayBacklog backlog(const void *state) {
    const struct fifo *fifo = (const struct fifo *)state;
    ForebayBacklog held = {fifo->count, fifo->bytes};
    return held;
}

static void probe(const void *state, uint64_t now, void *to,
                  void (*report)(void *to, const char *name, double value)) {
    (void)now;
    const struct fifo *fifo = (const struct fifo *)state;
    report(to, "acks", fifo->acks);
    report(to, "looked", (double)fifo->looked);
    report(to, "version", fifo->versions);
}

static bool retune(void *state, uint64_t now, void *fresh) {
    (void)now;
    struct fifo *fifo = (struct fifo *)state;
    const struct fifo *other = (const struct fifo *)fresh;
    if (other->limit < fifo->count) return false;
    fifo->limit = other->limit;
    fifo->reason = other->reason;
    return true;
}

static bool passes(const void *state, const ForebayPacket *packet) {
    (void)packet;
    return ((const struct fifo *)state)->limit > 0;
}

static void waiting(const void *state, void *to,
                    void (*report)(void *to, uint32_t queue, const ForebayPacket *packet)) {
    const struct fifo *fifo = (const struct fifo *)state;
    for (uint64_t i = 0; i < fifo->count; i++)
        report(to, (uint32_t)(i % 2), &fifo->held[(fifo->first + i) % 256]);
}

#ifdef NEXT
static uint32_t polish(const void *state) { return (void)state, 3; }
#endif

static ForebayDiscipline whole;

#ifdef __cplusplus
extern "C"
#endif
const ForebayDiscipline *forebay_plugin(uint32_t index) {
    whole.version = FOREBAY_VERSION;
    whole.struct_size = sizeof whole;
    whole.name = "whole";
    whole.summary = "a FIFO with every function";
    whole.source = "none";
    whole.schema = "{\"properties\": {"
        "\"limit\": {\"type\": \"integer\", \"default\": 100, \"minimum\": 0, \"maximum\": 256,"
        " \"description\": \"Room in packets.\"},"
        "\"reason\": {\"type\": \"integer\", \"default\": 0,"
        " \"description\": \"Reason of drops.\"}}}";
    whole.keeps_order = true;
    whole.create = create;
    whole.destroy = destroy;
    whole.enqueue = enqueue;
    whole.dequeue = dequeue;
    whole.wake = wake;
    whole.backlog = backlog;
    whole.probe = probe;
    whole.retune = retune;
    whole.passes = passes;
    whole.waiting = waiting;
#ifdef NEXT
    whole.polish = polish;
#endif
    return index == 0 ? &whole : NULL;
}
