/* A host, as a shared library that a test gives a discipline: a burst of 200 packets, in batches, and its
 * service. Compiled with -DNEXT against the header of the next minor version, it offers what that adds,
 * and asks for it. Writes what happened to `said`. */
#include "forebay.h"

struct counts { uint32_t dropped, unknown, marked; };

static void drop(ForebayContext *cx, const ForebayPacket *packet, uint32_t reason) {
    struct counts *counts = (struct counts *)cx->host;
    (void)packet;
    counts->dropped += 1;
    counts->unknown += reason > FOREBAY_OTHER;
}
static bool mark(ForebayContext *cx, ForebayPacket *packet) {
    if ((packet->tos & 3) == 0) return false;
    packet->tos |= 3;
    ((struct counts *)cx->host)->marked += 1;
    return true;
}
static uint64_t draw(ForebayContext *cx) { return (void)cx, 7; }

/* Each segment acknowledges a byte. */
static bool tcp(ForebayContext *cx, const ForebayPacket *arriving, ForebayTcp *to) {
    (void)cx, (void)arriving;
    to->ack = 1;
    to->flags = 0x10;
    return true;
}
static const uint8_t *bytes(ForebayContext *cx, const ForebayPacket *arriving, uintptr_t *length) {
    static const uint8_t packet[2] = {0x45, 0};
    (void)cx, (void)arriving;
    *length = sizeof packet;
    return packet;
}
#ifdef NEXT
static uint32_t shine(ForebayContext *cx) { return (void)cx, 5; }
#endif

static void note(void *to, const char *name, double value) {
    char *said = (char *)to;
    size_t length = strlen(said);
    snprintf(said + length, 512 - length, ", %s %g", name, value);
}

int run(const ForebayDiscipline *kind, const char *params, char *said) {
    ForebaySetting setting;
    memset(&setting, 0, sizeof setting);
    setting.struct_size = sizeof setting;
    setting.version = FOREBAY_VERSION;
    setting.rate = 10000000;
    setting.mtu = 1500;
#ifdef NEXT
    setting.colour = 9;
#endif
    void *queue = kind->create(kind, params, &setting, said, 512);
    if (queue == NULL) return 1;
    struct counts counts = {0, 0, 0};
    ForebayContext cx;
    memset(&cx, 0, sizeof cx);
    cx.struct_size = sizeof cx;
    cx.host = &counts;
    cx.drop = drop;
    cx.mark = mark;
    cx.random = draw;
    cx.tcp = tcp;
    cx.bytes = bytes;
#ifdef NEXT
    cx.shine = shine;
#endif
    ForebayPacket packets[200];
    memset(packets, 0, sizeof packets);
    for (uint32_t i = 0; i < 200; i++) {
        packets[i].id = i;
        packets[i].len = 1500;
        packets[i].flow = i % 4;
        packets[i].tos = 2;
    }
    intptr_t joined = forebay_enqueue_batch(kind, queue, packets, 200, &cx);
    int sent = 0;
    while (kind->backlog(queue).packets > 0) {
        intptr_t given = forebay_dequeue_batch(kind, queue, packets, 3, &cx);
        if (given < 0) break;
        sent += (int)given;
        cx.now += 3600000;
    }
    snprintf(said, 512, "joined %d, sent %d, dropped %u, unknown %u, marked %u", (int)joined, sent,
             counts.dropped, counts.unknown, counts.marked);
    if (kind->probe != NULL) kind->probe(queue, cx.now, said, note);
#ifdef NEXT
    bool polishes = forebay_has(ForebayDiscipline, kind, polish) && kind->polish != NULL;
    note(said, "polish", polishes ? kind->polish(queue) : 0);
#endif
    kind->destroy(queue);
    return 0;
}
