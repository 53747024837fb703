/* The C interface of forebay's queue disciplines, made by cbindgen from crates/abi.
 * Guide: docs/extending.md. */

#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/**
 * Version of this interface; both sides must have the same. 2 added `shapes`, 3 a reason of drops,
 * 4 `forebay_reason`, `forebay_bool` and `forebay_text`; in 4, too, `forebay_number` is NaN where
 * it was 0.
 */
#define FOREBAY_VERSION 4

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
 * The port of a discipline, when it is created.
 */
typedef struct ForebaySetting {
  /**
   * The link's rate in bit/s (the mean rate, where it varies).
   */
  uint64_t rate;
  /**
   * Bytes that the link adds to every IP packet.
   */
  uint32_t overhead;
  /**
   * Largest IP packet in bytes.
   */
  uint32_t mtu;
} ForebaySetting;

/**
 * A packet as a queue sees it: 32 bytes without padding, no payload.
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
 * Context of a call of a discipline.
 */
typedef struct ForebayContext {
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
} ForebayContext;

/**
 * Packets and bytes in a queue.
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
 * long as the process.
 *
 * Calls on one queue come one at a time, not always from the same thread. `state` is what `create`
 * returned. Nothing may be unwound or jumped across a call.
 */
typedef struct ForebayDiscipline {
  /**
   * `FOREBAY_VERSION`.
   */
  uint32_t version;
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
   * and checks `type`, `enum`, `minimum`, `exclusiveMinimum` and `maximum`; for an integer it
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
   * such as "target: must be greater than 0" in the `size` bytes at `error`.
   */
  void *(*create)(const struct ForebayDiscipline *kind,
                  const char *params,
                  const struct ForebaySetting *setting,
                  char *error,
                  uintptr_t size);
  /**
   * Ends a queue. Packets that it still holds are lost.
   */
  void (*destroy)(void *state);
  /**
   * Takes an arriving packet: `FOREBAY_QUEUED`, `FOREBAY_DROPPED` (through the context) or
   * `FOREBAY_FAILED`.
   */
  int32_t (*enqueue)(void *state, const struct ForebayPacket *packet, struct ForebayContext *cx);
  /**
   * The next packet to send: `FOREBAY_SENT` with the packet at `packet`, `FOREBAY_NONE` or
   * `FOREBAY_FAILED`. None does not mean empty: an AQM may have dropped all that it looked at.
   */
  int32_t (*dequeue)(void *state, struct ForebayPacket *packet, struct ForebayContext *cx);
  /**
   * When to call `dequeue` next, in ns: `now` or before, at once; `FOREBAY_IDLE`, not before
   * another packet arrives. Changes nothing.
   */
  uint64_t (*wake)(const void *state, uint64_t now);
  /**
   * The contents of the queue now.
   */
  struct ForebayBacklog (*backlog)(const void *state);
  /**
   * Tells the queue that the link's rate is now `rate` bit/s. May be NULL.
   */
  void (*set_link_rate)(void *state, uint64_t now, uint64_t rate);
  /**
   * Reports internal variables by name, for plots. May be NULL.
   */
  void (*probe)(const void *state, uint64_t now, void *to, void (*report)(void *to,
                                                                          const char *name,
                                                                          double value));
  /**
   * Writes the parameters with every default filled in, as JSON, into the `size` bytes at `out`.
   * Returns the length without the zero byte, or the length that would be needed. If something
   * is wrong, writes a message and returns -1. May be NULL.
   */
  intptr_t (*effective)(const struct ForebayDiscipline *kind,
                        const char *params,
                        const struct ForebaySetting *setting,
                        char *out,
                        uintptr_t size);
  /**
   * The reason for which a call returned `FOREBAY_FAILED`; NULL if none did. May be NULL.
   */
  const char *(*fault)(const void *state);
} ForebayDiscipline;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The discipline called `name`; NULL if there is none. "combination" is any classifier, admission
 * rule and scheduler, named in its parameters.
 *
 * # Safety
 * `name` is NULL or a text that ends with a zero byte.
 */
const struct ForebayDiscipline *forebay_discipline(const char *name);

/**
 * The disciplines by index, in the order of their names; NULL after the last.
 */
const struct ForebayDiscipline *forebay_discipline_at(uint32_t index);

/**
 * Name of a reason of drops, for statistics: "overflow", "aqm", "preempted", "policed", "pushed_out"
 * or "redundant_ack"; NULL if there is no reason of that number.
 */
const char *forebay_reason(uint32_t reason);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus


#ifdef __cplusplus
extern "C" {
#endif
/**
 * The symbol that a plug-in exports: its disciplines by index, NULL after the last.
 */
const ForebayDiscipline *forebay_plugin(uint32_t index);
#ifdef __cplusplus
}
#endif

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
 * no number of that name. The locale does not matter.
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
