/* The C interface of forebay's queue disciplines, made by cbindgen from crates/abi.
 * Guide: docs/extending.md. */

#ifndef FOREBAY_H
#define FOREBAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/**
 * Version of this interface; both sides must have the same. 2 added `shapes`, 3 a reason of drops.
 */
#define FOREBAY_VERSION 3

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
 * What a discipline is told of its port when it is created.
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
   * When it joined the queue, in ns.
   */
  uint64_t queued;
} ForebayPacket;

/**
 * What a discipline gets with every call.
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
 * What a queue holds.
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
   * What a scenario writes as `kind = "..."`.
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
   * JSON Schema of the parameters. Without `effective`, the host fills in its defaults, refuses
   * unknown fields and checks `type`, `minimum`, `exclusiveMinimum` and `maximum`; for an integer it
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
   * What the queue holds now.
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
   * Why a call returned `FOREBAY_FAILED`; NULL if none did. May be NULL.
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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FOREBAY_H */


#ifdef __cplusplus
extern "C" {
#endif
/* The symbol that a plug-in exports: its disciplines by index, NULL after the last. */
const ForebayDiscipline *forebay_plugin(uint32_t index);
#ifdef __cplusplus
}
#endif

/* A number in the parameters that the host hands to `create`, 0 if there is none of that name. The
 * host has filled in the schema's defaults and checked its bounds; the JSON is compact. */
static inline double forebay_number(const char *params, const char *name) {
    size_t length = strlen(name);
    for (const char *at = params; (at = strchr(at, '"')) != NULL; at++) {
        if (strncmp(at + 1, name, length) == 0 && strncmp(at + 1 + length, "\":", 2) == 0) {
            return strtod(at + length + 3, NULL);
        }
    }
    return 0;
}
