/* Tests BLUE with numbers computed from its source: an overflow raises the probability by delta 1 and an idle
 * link lowers it by delta 2, each at most once in freeze_time (section III, figure 5).
 *
 * cc -I crates/abi/include -o blue_test examples/plugins/blue_test.c && ./blue_test
 */
#include "blue.c"
#include <stdio.h>

static void drop(ForebayContext *cx, const ForebayPacket *packet, uint32_t reason) {
    (void)cx, (void)packet, (void)reason;
}
static bool mark(ForebayContext *cx, ForebayPacket *packet) { return (void)cx, (void)packet, false; }
/* As near to 1 as it gets: nothing is dropped by chance. */
static uint64_t highest(ForebayContext *cx) { return (void)cx, UINT64_MAX; }

static void note(void *to, const char *name, double value) { (void)name, *(double *)to = value; }

static int wrong;

static void expect(const void *queue, uint64_t ms, double expected) {
    double found;
    probe(queue, 0, &found, note);
    if (found != expected) wrong = printf("at %d ms: %g, not %g\n", (int)ms, found, expected);
}

int main(void) {
    const ForebaySetting link = {.struct_size = sizeof link, .version = FOREBAY_VERSION,
                                 .mtu = 1500, .rate = 10000000};
    void *queue = create(&blue, "{\"limit\":2,\"increment\":0.25,\"decrement\":0.125,\"freeze_time_ms\":10}",
                         &link, NULL, 0);
    ForebayContext cx = {.struct_size = sizeof cx, .drop = drop, .mark = mark, .random = highest};
    ForebayPacket packet = {.len = 1000};
    /* Two fit; three overflow, of which one counts. */
    const struct { uint64_t ms; double expected; } arrivals[] = {
        {20, 0}, {20, 0}, {20, 0.25}, {20, 0.25}, {29, 0.25}, {30, 0.5}};
    for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++, packet.id++) {
        cx.now = arrivals[i].ms * 1000000;
        enqueue(queue, &packet, &cx);
        expect(queue, arrivals[i].ms, arrivals[i].expected);
    }
    cx.now = 41000000;
    dequeue(queue, &packet, &cx);
    expect(queue, 41, 0.5);
    cx.now = 42000000;
    dequeue(queue, &packet, &cx);
    expect(queue, 42, 0.375);
    destroy(queue);
    return wrong != 0;
}
