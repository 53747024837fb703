// Uses any of forebay's disciplines in a C++ program. The command line names the discipline and its
// parameters. A burst of 200 packets is enqueued, and then sent at the link's rate.
//
//   make library
//   c++ -std=c++17 -I crates/abi/include examples/embed/queue.cpp target/release/libforebay.a -o queue
//   ./queue codel '{"target": "2ms", "interval": "20ms"}'
#include "forebay.h"
#include <cstdio>

static uint32_t dropped = 0, marked = 0;
static uint64_t state = 1;

static void drop(ForebayContext *, const ForebayPacket *, uint32_t) { dropped += 1; }
static bool mark(ForebayContext *, ForebayPacket *packet) {
    if ((packet->tos & 3) == 0) return false;
    packet->tos |= 3;
    return marked += 1, true;
}
static uint64_t draw(ForebayContext *) { return state = state * 6364136223846793005u + 1442695040888963407u; }

int main(int count, char **words) {
    const ForebayDiscipline *kind = forebay_discipline(count > 1 ? words[1] : "fifo");
    if (kind == nullptr) return std::fprintf(stderr, "there is no such discipline\n"), 2;
    ForebaySetting link = {};
    link.struct_size = sizeof link;
    link.version = FOREBAY_VERSION;
    link.rate = 10'000'000;
    link.mtu = 1500;
    char error[256];
    void *queue = kind->create(kind, count > 2 ? words[2] : "{}", &link, error, sizeof error);
    if (queue == nullptr) return std::fprintf(stderr, "%s\n", error), 2;
    ForebayContext cx = {};
    cx.struct_size = sizeof cx;
    cx.drop = drop;
    cx.mark = mark;
    cx.random = draw;
    ForebayPacket burst[200] = {};
    for (uint32_t id = 0; id < 200; id++) {
        burst[id].id = id;
        burst[id].len = 1500;
        burst[id].flow = id % 4;
        burst[id].tos = 2; // ECT(0): it may be marked.
    }
    forebay_enqueue_batch(kind, queue, burst, 200, &cx);
    uint32_t sent = 0;
    for (ForebayPacket packet; kind->backlog(queue).packets > 0; cx.now += 1'200'000)
        sent += kind->dequeue(queue, &packet, &cx) == FOREBAY_SENT;
    kind->destroy(queue);
    std::printf("%s: sent %u, dropped %u, marked %u\n", kind->name, sent, dropped, marked);
}
