/* blue: drops arriving packets with a probability that rises with every overflow and falls
 * whenever the link is idle.
 *
 * Source: W. Feng, K. Shin, D. Kandlur and D. Saha, "The BLUE active queue management algorithms",
 * IEEE/ACM Transactions on Networking 10(4), 2002, section III, figure 5. An overflow
 * of the queue is the paper's "packet loss (or Qlen > L)". The link is idle when it finds the queue
 * empty.
 *
 * cc -shared -fPIC -O2 -I crates/abi/include -o libblue.so examples/plugins/blue.c
 */
#include "forebay.h"
#include <stdlib.h>
#include <string.h>

struct blue {
    ForebayPacket *ring;
    uint64_t room, first, count, bytes;
    double probability, increment, decrement;
    uint64_t freeze_time, last_update;
};

static void *create(const ForebayDiscipline *kind, const char *params,
                    const ForebaySetting *setting, char *error, uintptr_t size) {
    (void)kind, (void)setting, (void)error, (void)size;
    struct blue *blue = calloc(1, sizeof *blue);
    if (blue == NULL) return NULL;
    blue->room = (uint64_t)forebay_number(params, "limit");
    blue->ring = calloc(blue->room, sizeof *blue->ring);
    if (blue->ring == NULL) { free(blue); return NULL; }
    blue->increment = forebay_number(params, "increment");
    blue->decrement = forebay_number(params, "decrement");
    blue->freeze_time = (uint64_t)(forebay_number(params, "freeze_time_ms") * 1e6);
    return blue;
}

static void destroy(void *state) {
    struct blue *blue = state;
    free(blue->ring);
    free(blue);
}

/* Changes the probability, at most once in freeze_time. */
static void update(struct blue *blue, uint64_t now, double change) {
    if (now - blue->last_update < blue->freeze_time) return;
    double changed = blue->probability + change;
    blue->probability = changed < 0 ? 0 : changed > 1 ? 1 : changed;
    blue->last_update = now;
}

static int32_t enqueue(void *state, const ForebayPacket *arriving, ForebayContext *cx) {
    struct blue *blue = state;
    ForebayPacket packet = *arriving;
    if (blue->count == blue->room) {
        update(blue, cx->now, blue->increment);
        cx->drop(cx, &packet, FOREBAY_OVERFLOW);
        return FOREBAY_DROPPED;
    }
    double uniform = (double)(cx->random(cx) >> 11) / 9007199254740992.0;
    if (uniform < blue->probability && !cx->mark(cx, &packet)) {
        cx->drop(cx, &packet, FOREBAY_AQM);
        return FOREBAY_DROPPED;
    }
    blue->ring[(blue->first + blue->count) % blue->room] = packet;
    blue->count += 1;
    blue->bytes += packet.len;
    return FOREBAY_QUEUED;
}

static int32_t dequeue(void *state, ForebayPacket *packet, ForebayContext *cx) {
    struct blue *blue = state;
    if (blue->count == 0) return FOREBAY_NONE;
    *packet = blue->ring[blue->first];
    blue->first = (blue->first + 1) % blue->room;
    blue->count -= 1;
    blue->bytes -= packet->len;
    /* The link will be idle when this packet has left. */
    if (blue->count == 0) update(blue, cx->now, -blue->decrement);
    return FOREBAY_SENT;
}

static uint64_t wake(const void *state, uint64_t now) {
    return ((const struct blue *)state)->count == 0 ? FOREBAY_IDLE : now;
}

static ForebayBacklog backlog(const void *state) {
    const struct blue *blue = state;
    return (ForebayBacklog){ .packets = blue->count, .bytes = blue->bytes };
}

static void probe(const void *state, uint64_t now, void *to,
                  void (*report)(void *to, const char *name, double value)) {
    (void)now;
    report(to, "drop_probability", ((const struct blue *)state)->probability);
}

static const ForebayDiscipline blue = {
    .version = FOREBAY_VERSION,
    .struct_size = sizeof(ForebayDiscipline),
    .name = "blue",
    .summary = "drops more after each overflow, less after each idle time",
    .source = "Feng, Shin, Kandlur and Saha, IEEE/ACM ToN 10(4), 2002, section III",
    .schema = "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
        "\"limit\": {\"type\": \"integer\", \"default\": 1000, \"minimum\": 1, \"maximum\": 1000000,"
        " \"description\": \"Room in packets, 1 to 1000000.\"},"
        "\"increment\": {\"type\": \"number\", \"default\": 0.02, \"minimum\": 0, \"maximum\": 1,"
        " \"description\": \"Added to the probability after an overflow (delta 1), 0 to 1.\"},"
        "\"decrement\": {\"type\": \"number\", \"default\": 0.002, \"minimum\": 0, \"maximum\": 1,"
        " \"description\": \"Taken from it when the link is idle (delta 2), 0 to 1.\"},"
        "\"freeze_time_ms\": {\"type\": \"number\", \"default\": 100, \"minimum\": 0,"
        " \"description\": \"Least time between two changes, in ms.\"}}}",
    .keeps_order = true,
    .create = create,
    .destroy = destroy,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .wake = wake,
    .backlog = backlog,
    .probe = probe,
};

const ForebayDiscipline *forebay_plugin(uint32_t index) { return index == 0 ? &blue : NULL; }
