/* A host's loop: relays UDP from a port of this machine to another, at the rate of a link and through one
 * of forebay's disciplines. The clock is the machine's.
 *
 *   make library
 *   cc -I crates/abi/include -o relay examples/embed/relay.c target/release/libforebay.a -lm -lpthread -ldl
 *   ./relay FROM TO RATE SECONDS codel '{"target": "5ms"}'
 */
#define _GNU_SOURCE
#include "forebay.h"
#include <arpa/inet.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>

enum { SLOTS = 1024, LONGEST = 2048, BATCH = 64, HEADERS = 28 };

/* Datagrams that wait, each in a slot. A packet's `id` is its slot. */
static char slots[SLOTS][LONGEST];
static uint32_t unused[SLOTS], unused_count;
static unsigned sent, dropped, refused;

static void drop(ForebayContext *cx, const ForebayPacket *packet, uint32_t reason) {
    (void)cx, (void)reason;
    unused[unused_count++] = packet->id;
    dropped += 1;
}
/* The datagrams are not marked: their IP headers are the system's. */
static bool mark(ForebayContext *cx, ForebayPacket *packet) { return (void)cx, (void)packet, false; }
static uint64_t draw(ForebayContext *cx) {
    (void)cx;
    static uint64_t state = 1;
    state += 0x9e3779b97f4a7c15; /* SplitMix64 */
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}

static uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Reads what has arrived, as many as are handed in at once. */
static size_t arrivals(int from, ForebayPacket *packets) {
    size_t count = 0;
    while (count < BATCH && unused_count > 0) {
        uint32_t slot = unused[unused_count - 1];
        ssize_t length = recv(from, slots[slot], LONGEST, MSG_DONTWAIT);
        if (length < 0) break;
        unused_count -= 1;
        packets[count++] = (ForebayPacket){.id = slot, .len = (uint32_t)length + HEADERS};
    }
    char none;
    while (unused_count == 0 && recv(from, &none, 1, MSG_DONTWAIT) >= 0) refused += 1;
    return count;
}

static int udp(struct sockaddr_in *address, int port) {
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return socket(AF_INET, SOCK_DGRAM, 0);
}

static int failed(const ForebayDiscipline *kind, const void *queue) {
    return fprintf(stderr, "%s: %s\n", kind->name, kind->fault(queue)), 1;
}

int main(int count, char **words) {
    if (count != 7) return fprintf(stderr, "usage: relay FROM TO RATE SECONDS DISCIPLINE PARAMETERS\n"), 2;
    const ForebayDiscipline *kind = forebay_discipline(words[5]);
    if (kind == NULL) return fprintf(stderr, "there is no discipline %s\n", words[5]), 2;
    ForebaySetting link = {.struct_size = sizeof link, .version = FOREBAY_VERSION, .mtu = 1500,
                           .rate = strtoull(words[3], NULL, 10)};
    if (link.rate == 0) return fprintf(stderr, "RATE is in bit/s, above 0\n"), 2;
    char error[256];
    void *queue = kind->create(kind, words[6], &link, error, sizeof error);
    if (queue == NULL) return fprintf(stderr, "%s\n", error), 2;
    struct sockaddr_in here, there;
    int from = udp(&here, atoi(words[1])), to = udp(&there, atoi(words[2]));
    if (bind(from, (struct sockaddr *)&here, sizeof here) != 0) return perror("bind"), 2;
    printf("ready\n");
    fflush(stdout);
    for (uint32_t slot = 0; slot < SLOTS; slot++) unused[unused_count++] = slot;

    ForebayContext cx = {.struct_size = sizeof cx, .drop = drop, .mark = mark, .random = draw};
    ForebayPacket batch[BATCH];
    /* Until `busy_until` the link sends the packet that it had last. */
    uint64_t end = clock_ns() + strtoull(words[4], NULL, 10) * 1000000000, busy_until = 0;
    while ((cx.now = clock_ns()) < end) {
        size_t came = arrivals(from, batch);
        if (forebay_enqueue_batch(kind, queue, batch, came, &cx) < 0) return failed(kind, queue);
        /* When to look again: when the link is free, when the discipline says, or at an arrival. */
        uint64_t next = busy_until;
        if (busy_until <= cx.now) {
            next = kind->wake(queue, cx.now);
            ForebayPacket packet;
            int32_t answer = next <= cx.now ? kind->dequeue(queue, &packet, &cx) : FOREBAY_NONE;
            if (answer == FOREBAY_FAILED) return failed(kind, queue);
            if (answer == FOREBAY_SENT) {
                sendto(to, slots[packet.id], packet.len - HEADERS, 0, (struct sockaddr *)&there,
                       sizeof there);
                unused[unused_count++] = packet.id;
                sent += 1;
                next = busy_until = cx.now + packet.len * 8 * 1000000000ull / link.rate;
            }
        }
        next = next < end ? next : end;
        if (came == BATCH || next <= cx.now) continue;
        struct timespec wait = {(time_t)((next - cx.now) / 1000000000), (long)((next - cx.now) % 1000000000)};
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(from, &readable);
        pselect(from + 1, &readable, NULL, NULL, &wait, NULL);
    }
    kind->destroy(queue);
    printf("sent %u, dropped %u, refused %u\n", sent, dropped, refused);
}
