/* A transport protocol as an endpoint for simulations: datagrams that fill a window, which grows by one
 * in each round trip and shrinks at a loss. The receiver answers each datagram with its number.
 *
 *     cc -shared -fPIC -O2 -I crates/abi/include -o libwindow.so examples/plugins/window.c
 *     forebay --plugin libwindow.so run examples/lab.toml --set 'traffic=[{kind = "window"}]'
 *
 * Deviation from AIMD in TCP: datagrams that are lost are not sent again.
 */
#include "forebay.h"

/* Bytes of a datagram and of an answer. Both begin with a number. */
enum { DATAGRAM = 1200, ANSWER = 8 };
/* Datagrams that may be on their way; a power of two. */
enum { MOST = 1 << 14 };
/* Answers to later datagrams after which one counts as lost (RFC 9002, section 6.1.1). */
enum { REORDERED = 3 };
/* Without an answer for so long, in ns, all datagrams count as lost. */
#define PATIENCE UINT64_C(1000000000)

typedef struct {
    bool sends;
    double decrease;
    /* Sender: the window, the number of the next datagram, the oldest without a fate, and how many
     * have none; which of those after the oldest were answered. */
    double window;
    uint64_t next, oldest, on_way;
    bool answered[MOST];
    /* Datagrams before this one were sent before the last decrease. */
    uint64_t decreased_at;
    uint64_t waits_since;
    /* Receiver: numbers to answer, the last ones. */
    uint64_t to_answer[MOST];
    uint64_t arrived, answers;
} End;

static void *create(const ForebayEndpoint *kind, const char *params, bool sends, char *error,
                    size_t size) {
    (void)kind;
    End *end = calloc(1, sizeof *end);
    if (end == NULL) {
        snprintf(error, size, "there is no memory");
        return NULL;
    }
    end->sends = sends;
    end->decrease = forebay_number(params, "decrease");
    end->window = forebay_number(params, "initial");
    return end;
}

static void destroy(void *state) { free(state); }

static void begin(void *state, uint64_t now, uint64_t random) {
    End *end = state;
    (void)random;
    end->waits_since = now;
}

/* Shrinks the window, once for all datagrams that were on their way together. */
static void lose(End *end, uint64_t number) {
    end->on_way -= 1;
    if (number < end->decreased_at) return;
    end->window *= end->decrease;
    if (end->window < 2) end->window = 2;
    end->decreased_at = end->next;
}

static void take_answer(End *end, uint64_t now, uint64_t number) {
    if (number < end->oldest || number >= end->next || end->answered[number % MOST]) return;
    end->answered[number % MOST] = true;
    end->on_way -= 1;
    end->waits_since = now;
    end->window += 1 / end->window;
    while (end->oldest < end->next) {
        bool *answered = &end->answered[end->oldest % MOST];
        if (!*answered) {
            if (number < end->oldest + REORDERED) break;
            lose(end, end->oldest);
        }
        *answered = false;
        end->oldest += 1;
    }
}

static void handle(void *state, uint64_t now, const uint8_t *datagram, size_t length, uint8_t ecn) {
    End *end = state;
    uint64_t number;
    (void)ecn;
    if (length < sizeof number) return;
    memcpy(&number, datagram, sizeof number);
    if (end->sends) {
        take_answer(end, now, number);
    } else {
        end->to_answer[end->arrived++ % MOST] = number;
    }
}

static intptr_t transmit(void *state, uint64_t now, uint8_t *datagram, size_t size, uint8_t *ecn) {
    End *end = state;
    (void)now, (void)size, (void)ecn;
    if (!end->sends) {
        if (end->answers == end->arrived) return 0;
        memcpy(datagram, &end->to_answer[end->answers++ % MOST], ANSWER);
        return ANSWER;
    }
    if ((double)(end->on_way + 1) > end->window || end->next - end->oldest == MOST) return 0;
    memset(datagram, 0, DATAGRAM);
    memcpy(datagram, &end->next, sizeof end->next);
    end->next += 1;
    end->on_way += 1;
    return DATAGRAM;
}

static uint64_t timeout(const void *state, uint64_t now) {
    const End *end = state;
    (void)now;
    return end->sends ? end->waits_since + PATIENCE : FOREBAY_IDLE;
}

static void on_timeout(void *state, uint64_t now) {
    End *end = state;
    for (; end->oldest < end->next; end->oldest++) {
        if (!end->answered[end->oldest % MOST]) lose(end, end->oldest);
        end->answered[end->oldest % MOST] = false;
    }
    end->window = 2;
    end->waits_since = now;
}

static const ForebayEndpoint WINDOW = {
    .version = FOREBAY_VERSION,
    .struct_size = sizeof(ForebayEndpoint),
    .name = "window",
    .summary = "datagrams in a window that grows by one in each round trip and shrinks at a loss",
    .source = "AIMD: D. Chiu and R. Jain, Computer Networks and ISDN Systems 17 (1989)",
    .schema = "{\"properties\": {"
              "\"decrease\": {\"type\": \"number\", \"default\": 0.5, \"minimum\": 0, \"maximum\": 1,"
              " \"description\": \"What is left of the window at a loss.\"},"
              "\"initial\": {\"type\": \"integer\", \"default\": 10, \"minimum\": 2, \"maximum\": 1000,"
              " \"description\": \"Datagrams in the first window.\"}}}",
    .headers = 28,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .handle = handle,
    .transmit = transmit,
    .timeout = timeout,
    .on_timeout = on_timeout,
};

const ForebayEndpoint *forebay_endpoint(uint32_t index) {
    return index == 0 ? &WINDOW : NULL;
}
