/* The C interface of forebay's queue disciplines, made by cbindgen from crates/abi.
 * Guide: docs/extending.md. */

#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/**
 * Major version of this interface: both sides must have the same.
 */
#define FOREBAY_MAJOR 1

/**
 * Minor version. A later one adds constants, and members at the ends of the structs that have a
 * `struct_size`; it changes nothing. So a plug-in runs in hosts of every minor version, and a
 * program with every library, earlier or later than its own.
 */
#define FOREBAY_MINOR 0

/**
 * Version of this interface, in one number.
 */
#define FOREBAY_VERSION ((FOREBAY_MAJOR << 16) | FOREBAY_MINOR)

/**
 * `enqueue`: the packet joined a queue.
 */
#define FOREBAY_QUEUED 0

/**
 * `enqueue`: the packet was dropped.
 */
#define FOREBAY_DROPPED 1

/**
 * `dequeue`: there is no packet.
 */
#define FOREBAY_NONE 0

/**
 * `dequeue`: there is a packet.
 */
#define FOREBAY_SENT 1

/**
 * Any call: the discipline has failed and cannot go on; `fault` says why.
 */
#define FOREBAY_FAILED -1

/**
 * `wake`: nothing is held.
 */
#define FOREBAY_IDLE UINT64_MAX

/**
 * Reason of a drop: the buffer had no room.
 */
#define FOREBAY_OVERFLOW 0

/**
 * Reason of a drop: a rule of active queue management.
 */
#define FOREBAY_AQM 1

/**
 * Reason of a drop: a threshold that protects higher precedence.
 */
#define FOREBAY_PREEMPTED 2

/**
 * Reason of a drop: a congestion policer.
 */
#define FOREBAY_POLICED 3

/**
 * Reason of a drop: pushed out of the queue in favour of another packet.
 */
#define FOREBAY_PUSHED_OUT 4

/**
 * Reason of a drop: a pure acknowledgment that later ones in the queue make redundant.
 */
#define FOREBAY_REDUNDANT_ACK 5

/**
 * Reason of a drop: none of the others. Each side treats a reason that it does not know, of a later
 * minor version, as this one.
 */
#define FOREBAY_OTHER 6

/**
 * The port of a discipline, when it is created.
 */
typedef struct ForebaySetting {
  /**
   * `sizeof(ForebaySetting)`, set by the host; `forebay_has` asks for it.
   */
  uint32_t struct_size;
  /**
   * The host's `FOREBAY_VERSION`.
   */
  uint32_t version;
  /**
   * Bytes that the link adds to every IP packet.
   */
  uint32_t overhead;
  /**
   * Largest IP packet in bytes.
   */
  uint32_t mtu;
  /**
   * The link's rate in bit/s (the mean rate, where it varies).
   */
  uint64_t rate;
} ForebaySetting;

/**
 * A packet as a queue sees it: 32 bytes without padding, no payload. No minor version changes it.
 *
 * The host fills it in, with 0 for what it does not know. A discipline gives it back as it came,
 * apart from `tos`, which `mark` changes. `queued` is set by forebay: as a host, before a plug-in
 * gets the packet; as a library, when its own disciplines get one, whatever it was before.
 */
typedef struct ForebayPacket {
  /**
   * The owner's handle; no two packets in a queue have the same.
   */
  uint32_t id;
  /**
   * Length of the IP packet in bytes, link overhead excluded.
   */
  uint32_t len;
  /**
   * Flow.
   */
  uint32_t flow;
  /**
   * QoS class: higher is served first.
   */
  uint8_t qos_class;
  /**
   * Precedence: higher is more important.
   */
  uint8_t precedence;
  /**
   * Drop precedence, 0 to 7: higher is dropped first.
   */
  uint8_t drop_precedence;
  /**
   * DS field and ECN as in the IP header: DSCP in the upper six bits, ECN in the lower two.
   */
  uint8_t tos;
  /**
   * 0: data; 1: a TCP acknowledgment without payload; 2: connection or routing control.
   */
  uint32_t kind;
  /**
   * Number of the host that it comes from; 0 if that is not known.
   */
  uint16_t source;
  /**
   * Number of the host that it goes to; 0 if that is not known.
   */
  uint16_t destination;
  /**
   * When it joined the queue, in ns: the context's `now` in that call of `enqueue`.
   */
  uint64_t queued;
} ForebayPacket;

/**
 * Fields of a TCP header (RFC 9293, section 3.1), in the byte order of the machine.
 */
typedef struct ForebayTcp {
  /**
   * `sizeof(ForebayTcp)`, set by whoever has the memory; nothing is written beyond.
   */
  uint32_t struct_size;
  /**
   * Sequence number.
   */
  uint32_t seq;
  /**
   * Acknowledgment number; significant if 0x10 is in `flags`.
   */
  uint32_t ack;
  /**
   * Payload in bytes.
   */
  uint32_t payload_len;
  /**
   * The 12 control bits, as in the header: FIN 0x01, SYN 0x02, RST 0x04, ACK 0x10, and so on.
   */
  uint16_t flags;
  /**
   * Window field, unscaled.
   */
  uint16_t window;
  /**
   * Whether the option with timestamps is present (RFC 7323).
   */
  bool has_timestamps;
  /**
   * Whether there are options of other kinds, or malformed ones.
   */
  bool other_options;
  /**
   * Shift count of the window scale option; 255 if it is absent.
   */
  uint8_t window_scale;
  /**
   * Number of selective acknowledgments (RFC 2018), 0 to 4.
   */
  uint8_t sack_count;
  /**
   * Timestamp value, TSval.
   */
  uint32_t timestamp;
  /**
   * Timestamp echo reply, TSecr.
   */
  uint32_t timestamp_echo;
  /**
   * Left and right edge of each selective acknowledgment.
   */
  uint32_t sack[4][2];
} ForebayTcp;

/**
 * Context of a call of a discipline. Its functions may be called until that call returns, by the
 * thread that runs it.
 */
typedef struct ForebayContext {
  /**
   * `sizeof(ForebayContext)`, set by the host; `forebay_has` asks for it.
   */
  uint32_t struct_size;
  /**
   * The present instant in ns; never decreases from call to call.
   */
  uint64_t now;
  /**
   * For the host's own use.
   */
  void *host;
  /**
   * Drops a packet for a reason (`FOREBAY_OVERFLOW` and so on); then it belongs to the host.
   */
  void (*drop)(struct ForebayContext *cx, const struct ForebayPacket *packet, uint32_t reason);
  /**
   * Marks a packet congestion-experienced and returns true if its transport understands that;
   * false means that it must be dropped instead (RFC 3168, section 5).
   */
  bool (*mark)(struct ForebayContext *cx, struct ForebayPacket *packet);
  /**
   * 64 random bits of the port's own stream.
   */
  uint64_t (*random)(struct ForebayContext *cx);
  /**
   * Writes the TCP header of the packet that is being enqueued to `to`; false if it has none, or
   * if the host does not know it. May be NULL.
   */
  bool (*tcp)(struct ForebayContext *cx, const struct ForebayPacket *arriving, struct ForebayTcp *to);
  /**
   * The bytes of the packet that is being enqueued, from the IP header on, and their number at
   * `length`; NULL if the host does not have them, as in a simulation. They stay until `enqueue`
   * returns. May be NULL.
   */
  const uint8_t *(*bytes)(struct ForebayContext *cx,
                          const struct ForebayPacket *arriving,
                          uintptr_t *length);
} ForebayContext;

/**
 * Packets and bytes in a queue. No minor version changes it.
 */
typedef struct ForebayBacklog {
  /**
   * Packets.
   */
  uint64_t packets;
  /**
   * Bytes of IP packets.
   */
  uint64_t bytes;
} ForebayBacklog;

/**
 * A kind of queue discipline. Text is UTF-8 and ends with a zero byte; it and this struct live as
 * long as the process, and nobody changes them. `state` is what `create` returned. Nothing may be
 * unwound or jumped across a call.
 *
 * Threads: `create` and `effective` may be called by several threads at once. All other functions
 * are calls on one queue: these come one at a time, also those that change nothing, and from any
 * thread. Calls on different queues may come at once, also on queues of the same kind.
 */
typedef struct ForebayDiscipline {
  /**
   * `FOREBAY_VERSION`.
   */
  uint32_t version;
  /**
   * `sizeof(ForebayDiscipline)`; `forebay_has` asks for it.
   */
  uint32_t struct_size;
  /**
   * The name that a scenario writes as `kind = "..."`.
   */
  const char *name;
  /**
   * One line for lists.
   */
  const char *summary;
  /**
   * Paper, section or RFC that it follows.
   */
  const char *source;
  /**
   * JSON Schema of the parameters. Without `effective`, each property needs a `type`, which is
   * number, integer, boolean or string. The host fills in the defaults, refuses unknown fields,
   * and checks `type`, `enum`, `minimum`, `maximum` and their exclusive forms; for an integer it
   * takes packets ("50p") too.
   */
  const char *schema;
  /**
   * Whether packets of one flow and class leave in the order in which they arrived.
   */
  bool keeps_order;
  /**
   * Whether it holds packets back, so that `wake` returns times in the future. If not, the host
   * assumes that it is ready whenever it holds packets, and checks this from time to time.
   */
  bool shapes;
  /**
   * For the library's own use.
   */
  const void *data;
  /**
   * Makes a queue. `params` is an object as compact JSON. NULL if something is wrong, with a text
   * such as "target: must be greater than 0" in the `size` bytes at `error`. Any thread, several
   * at once.
   */
  void *(*create)(const struct ForebayDiscipline *kind,
                  const char *params,
                  const struct ForebaySetting *setting,
                  char *error,
                  uintptr_t size);
  /**
   * Ends a queue. Packets that it still holds are lost. The last call on it, by any thread.
   */
  void (*destroy)(void *state);
  /**
   * Takes an arriving packet: `FOREBAY_QUEUED`, `FOREBAY_DROPPED` (through the context) or
   * `FOREBAY_FAILED`. Any thread, one call at a time on a queue.
   */
  int32_t (*enqueue)(void *state, const struct ForebayPacket *packet, struct ForebayContext *cx);
  /**
   * The next packet to send: `FOREBAY_SENT` with the packet at `packet`, `FOREBAY_NONE` or
   * `FOREBAY_FAILED`. None does not mean empty: an AQM may have dropped all that it looked at.
   * Any thread, one call at a time on a queue.
   */
  int32_t (*dequeue)(void *state, struct ForebayPacket *packet, struct ForebayContext *cx);
  /**
   * When to call `dequeue` next, in ns: `now` or before, at once; `FOREBAY_IDLE`, not before
   * another packet arrives. Changes nothing. Any thread, one call at a time on a queue.
   */
  uint64_t (*wake)(const void *state, uint64_t now);
  /**
   * The contents of the queue now. Changes nothing. Any thread, one call at a time on a queue.
   */
  struct ForebayBacklog (*backlog)(const void *state);
  /**
   * Tells the queue that the link's rate is now `rate` bit/s. Any thread, one call at a time on a
   * queue. May be NULL.
   */
  void (*set_link_rate)(void *state, uint64_t now, uint64_t rate);
  /**
   * Reports internal variables by name, for plots. Changes nothing. Any thread, one call at a
   * time on a queue. May be NULL.
   */
  void (*probe)(const void *state, uint64_t now, void *to, void (*report)(void *to,
                                                                          const char *name,
                                                                          double value));
  /**
   * Writes the parameters with every default filled in, as JSON, into the `size` bytes at `out`.
   * Returns the length without the zero byte, or the length that would be needed. If something
   * is wrong, writes a message and returns -1. Any thread, several at once. May be NULL.
   */
  intptr_t (*effective)(const struct ForebayDiscipline *kind,
                        const char *params,
                        const struct ForebaySetting *setting,
                        char *out,
                        uintptr_t size);
  /**
   * The reason for which a call returned `FOREBAY_FAILED`; NULL if none did. The text stays until
   * `destroy`. Any thread, one call at a time on a queue. May be NULL.
   */
  const char *(*fault)(const void *state);
  /**
   * Takes over the parameters of `fresh`, a queue of the same kind that `create` has just made,
   * from `now` on, and keeps packets and state. The host ends `fresh` afterwards. False if it
   * cannot, and then nothing has changed. Any thread, one call at a time on both queues. May be
   * NULL, if it never can.
   */
  bool (*retune)(void *state, uint64_t now, void *fresh);
  /**
   * Whether `packet` may skip the queue. It may if the queue is empty, the link could send the
   * packet at once, and enqueuing and dequeuing it now would leave it and the queue as they were.
   * A host asks only while the queue is empty; `id` and `queued` do not count. Changes nothing.
   * Any thread, one call at a time on a queue. May be NULL, if none may.
   */
  bool (*passes)(const void *state, const struct ForebayPacket *packet);
  /**
   * Reports every waiting packet with the number of its inner queue, for pictures. Packets of a
   * queue come in order of service; queues that are served first come first, as far as this is
   * known. Reports nothing if it cannot tell. Changes nothing. Any thread, one call at a time on
   * a queue. May be NULL.
   */
  void (*waiting)(const void *state, void *to, void (*report)(void *to,
                                                              uint32_t queue,
                                                              const struct ForebayPacket *packet));
  /**
   * `enqueue` for each of `count` packets, in order, at one instant. Returns how many joined a
   * queue; the others were dropped through the context. -1: it has failed. Any thread, one call
   * at a time on a queue. May be NULL; `forebay_enqueue_batch` then calls `enqueue`.
   */
  intptr_t (*enqueue_batch)(void *state,
                            const struct ForebayPacket *packets,
                            uintptr_t count,
                            struct ForebayContext *cx);
  /**
   * `dequeue` at one instant until `count` packets are at `packets` or there is none. Returns how
   * many there are; -1: it has failed. Any thread, one call at a time on a queue. May be NULL;
   * `forebay_dequeue_batch` then calls `dequeue`.
   */
  intptr_t (*dequeue_batch)(void *state,
                            struct ForebayPacket *packets,
                            uintptr_t count,
                            struct ForebayContext *cx);
} ForebayDiscipline;

/**
 * A kind of endpoint: a protocol without I/O at both ends of a flow, in simulated time. Text and struct
 * are as those of a discipline. `state` is what `create` returned: one end of one flow. Nothing may be
 * unwound or jumped across a call.
 *
 * After each call of `begin`, `handle`, `on_timeout` and `end`, an end is asked for all datagrams that
 * it can send now, then for its timeout. It must take time and random numbers from nowhere else, or
 * equal seeds do not give equal runs.
 *
 * Threads: `create` may be called by several threads at once. All other functions are calls on one
 * end: these come one at a time, and from any thread. Calls on different ends may come at once.
 */
typedef struct ForebayEndpoint {
  /**
   * `FOREBAY_VERSION`.
   */
  uint32_t version;
  /**
   * `sizeof(ForebayEndpoint)`; `forebay_has` asks for it.
   */
  uint32_t struct_size;
  /**
   * The name that a scenario writes as `kind = "..."` of traffic.
   */
  const char *name;
  /**
   * One line for lists.
   */
  const char *summary;
  /**
   * Paper, section or RFC that it follows.
   */
  const char *source;
  /**
   * JSON Schema of the parameters, as that of a discipline without `effective`.
   */
  const char *schema;
  /**
   * Bytes of headers that every datagram gets on its way: 28 for UDP over IPv4, 0 if `transmit`
   * writes whole IP packets.
   */
  uint32_t headers;
  /**
   * For the library's own use.
   */
  const void *data;
  /**
   * Makes an end: the sending one, at `from`, or the receiving one, at `to`. `params` is an object
   * as compact JSON. NULL if something is wrong, with a text such as "window: must be greater than
   * 0" in the `size` bytes at `error`. Any thread, several at once.
   */
  void *(*create)(const struct ForebayEndpoint *kind,
                  const char *params,
                  bool sends,
                  char *error,
                  uintptr_t size);
  /**
   * Frees an end. The last call on it, by any thread.
   */
  void (*destroy)(void *state);
  /**
   * The flow begins; `random` are 64 random bits of its own. Called once. Any thread, one call at a
   * time on an end. May be NULL.
   */
  void (*begin)(void *state, uint64_t now, uint64_t random);
  /**
   * The `length` bytes at `datagram`, which the other end wrote, arrive with ECN codepoint `ecn`
   * (the two bits of the IP header). They stay until it returns. Any thread, one call at a time on
   * an end.
   */
  void (*handle)(void *state, uint64_t now, const uint8_t *datagram, uintptr_t length, uint8_t ecn);
  /**
   * Writes the next datagram to the `size` bytes at `datagram` and returns its length. 0: it can
   * send nothing now. -1: it has failed. `ecn` has codepoint 0, and may be set. Any thread, one call
   * at a time on an end.
   */
  intptr_t (*transmit)(void *state, uint64_t now, uint8_t *datagram, uintptr_t size, uint8_t *ecn);
  /**
   * When to call `on_timeout` unless the end is called for something else before, in ns: `now` or
   * before, at once; `FOREBAY_IDLE`, never. Any thread, one call at a time on an end. May be NULL.
   */
  uint64_t (*timeout)(const void *state, uint64_t now);
  /**
   * The timeout has passed. Any thread, one call at a time on an end. May be NULL if `timeout` is.
   */
  void (*on_timeout)(void *state, uint64_t now);
  /**
   * The flow's `stop` is reached: the sending end may close what it has open. Any thread, one call
   * at a time on an end. May be NULL.
   */
  void (*end)(void *state, uint64_t now);
  /**
   * Bytes that the application at this end has received so far. Any thread, one call at a time on
   * an end. May be NULL; then the datagrams that arrive count.
   */
  uint64_t (*delivered)(const void *state);
  /**
   * The reason why this end cannot go on, which ends the run; NULL if it can. The text stays until
   * `destroy`. Any thread, one call at a time on an end. May be NULL.
   */
  const char *(*fault)(const void *state);
} ForebayEndpoint;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The library's `FOREBAY_VERSION`. That in the header is the one for which a program is compiled.
 * Any thread, several at once.
 */
uint32_t forebay_version(void);

/**
 * The discipline called `name`; NULL if there is none. "combination" is any classifier, admission
 * rule and scheduler, named in its parameters. Any thread, several at once.
 *
 * # Safety
 * `name` is NULL or a text that ends with a zero byte.
 */
const struct ForebayDiscipline *forebay_discipline(const char *name);

/**
 * The disciplines by index, in the order of their names; NULL after the last. Any thread, several at
 * once.
 */
const struct ForebayDiscipline *forebay_discipline_at(uint32_t index);

/**
 * Name of a reason of drops, for statistics: "overflow", "aqm", "preempted", "policed", "pushed_out",
 * "redundant_ack" or "other"; NULL if there is no reason of that number. Any thread, several at once.
 */
const char *forebay_reason(uint32_t reason);

/**
 * Reads the TCP header at the beginning of `segment`, whose rest up to `length` bytes is the payload,
 * for a host's `tcp`. False if the header is incomplete. `to` must say its `struct_size`. Any thread,
 * several at once.
 *
 * # Safety
 * `length` bytes are at `segment`, and as many may be written to `to` as its `struct_size` says.
 */
bool forebay_tcp(const uint8_t *segment,
                 uintptr_t length,
                 struct ForebayTcp *to);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus


#ifdef __cplusplus
extern "C" {
#endif
/**
 * The symbol that a plug-in with disciplines exports: these by index, NULL after the last. Hosts call
 * it in one thread at a time.
 */
const ForebayDiscipline *forebay_plugin(uint32_t index);

/**
 * The symbol that a plug-in with endpoints exports: these by index, NULL after the last. Hosts call it
 * in one thread at a time.
 */
const ForebayEndpoint *forebay_endpoint(uint32_t index);
#ifdef __cplusplus
}
#endif

/**
 * Whether the struct of `type` at `at`, made by the other side, has the member `member`. Ask for
 * members that came after version 1.0; structs of an earlier minor version end before them.
 */
#define forebay_has(type, at, member) \
    ((at)->struct_size >= offsetof(type, member) + sizeof((at)->member))

/**
 * Hands `count` packets to the queue `state` of `kind` at one instant. Returns how many joined it, or
 * -1 if it has failed. Any thread, one call at a time on a queue.
 */
static inline intptr_t forebay_enqueue_batch(const ForebayDiscipline *kind, void *state,
                                             const ForebayPacket *packets, size_t count,
                                             ForebayContext *cx) {
    if (kind->enqueue_batch != NULL) return kind->enqueue_batch(state, packets, count, cx);
    intptr_t joined = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t answer = kind->enqueue(state, &packets[i], cx);
        if (answer == FOREBAY_FAILED) return -1;
        joined += answer == FOREBAY_QUEUED;
    }
    return joined;
}

/**
 * Takes up to `count` packets from the queue `state` of `kind` at one instant. Returns how many are at
 * `packets`, or -1 if it has failed. Any thread, one call at a time on a queue.
 */
static inline intptr_t forebay_dequeue_batch(const ForebayDiscipline *kind, void *state,
                                             ForebayPacket *packets, size_t count,
                                             ForebayContext *cx) {
    if (kind->dequeue_batch != NULL) return kind->dequeue_batch(state, packets, count, cx);
    intptr_t given = 0;
    while ((size_t)given < count) {
        int32_t answer = kind->dequeue(state, &packets[given], cx);
        if (answer == FOREBAY_FAILED) return -1;
        if (answer == FOREBAY_NONE) break;
        given += 1;
    }
    return given;
}

/* Where the value of a parameter begins; NULL if there is none of that name. */
static inline const char *forebay_member(const char *params, const char *name) {
    size_t length = strlen(name), depth = 0;
    for (const char *at = params; *at != '\0'; at++) {
        if (*at == '{' || *at == '[') depth += 1;
        if (*at == '}' || *at == ']') depth -= 1;
        if (*at != '"') continue;
        const char *begin = ++at;
        for (; *at != '"'; at++) {
            if (*at == '\\') at++;
            if (*at == '\0') return NULL;
        }
        const char *next = at + 1 + strspn(at + 1, " \t\r\n");
        if (depth == 1 && *next == ':' && (size_t)(at - begin) == length &&
            memcmp(begin, name, length) == 0)
            return next + 1 + strspn(next + 1, " \t\r\n");
    }
    return NULL;
}

/**
 * The parameter `name`, a number or an integer, in `params` as `create` gets them; NaN if there is
 * no number of that name. The locale does not matter. Any thread.
 */
static inline double forebay_number(const char *params, const char *name) {
    const char *at = forebay_member(params, name);
    if (at == NULL || *at == '\0' || strchr("-0123456789", *at) == NULL) return NAN;
    /* Without its point, whose sign is the locale's, and with another exponent instead. */
    char digits[64];
    size_t length = 0;
    long exponent = 0;
    bool fraction = false;
    for (; *at != '\0' && strchr("-.0123456789", *at) != NULL; at++) {
        if (*at == '.') {
            fraction = true;
        } else if (length < 40) {
            digits[length++] = *at;
            exponent -= fraction;
        } else {
            exponent += !fraction;
        }
    }
    if (*at == 'e' || *at == 'E') exponent += strtol(at + 1, NULL, 10);
    snprintf(digits + length, sizeof digits - length, "e%ld", exponent);
    return strtod(digits, NULL);
}

/**
 * The parameter `name`, a boolean; false if there is none of that name.
 */
static inline bool forebay_bool(const char *params, const char *name) {
    const char *at = forebay_member(params, name);
    return at != NULL && strncmp(at, "true", 4) == 0;
}

/**
 * Writes the parameter `name`, a string, as UTF-8 with a zero byte, into the `size` bytes at `text`.
 * What is too long is cut off. Returns the whole length without the zero byte, or -1 if there is no
 * string of that name.
 */
static inline intptr_t forebay_text(const char *params, const char *name, char *text, size_t size) {
    const char *at = forebay_member(params, name);
    if (at == NULL || *at != '"') return -1;
    intptr_t length = 0;
    for (at++; *at != '"'; at++, length++) {
        char letter = *at;
        if (letter == '\\') {
            /* A host escapes quotes, backslashes and control characters, these as \n or \u001b. */
            letter = *++at;
            const char *known = strchr("b\bf\fn\nr\rt\t", letter);
            if (letter == 'u') {
                char digits[5] = "";
                strncat(digits, at + 1, 4);
                unsigned long code = strtoul(digits, NULL, 16);
                if (strlen(digits) < 4 || code > 0x7f) return -1;
                letter = (char)code;
                at += 4;
            } else if (known != NULL && letter != '\0') {
                letter = known[1];
            }
        }
        if (letter == '\0' && *at == '\0') return -1;
        if ((size_t)length + 1 < size) text[length] = letter;
    }
    if (size > 0) text[(size_t)length < size ? (size_t)length : size - 1] = '\0';
    return length;
}
