#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#define FOREBAY_MAJOR 1
#define FOREBAY_MINOR 0
#define FOREBAY_VERSION ((FOREBAY_MAJOR << 16) | FOREBAY_MINOR)
#define FOREBAY_QUEUED 0
#define FOREBAY_DROPPED 1
#define FOREBAY_NONE 0
#define FOREBAY_SENT 1
#define FOREBAY_FAILED -1
#define FOREBAY_IDLE UINT64_MAX
#define FOREBAY_OVERFLOW 0
#define FOREBAY_AQM 1
#define FOREBAY_PREEMPTED 2
#define FOREBAY_POLICED 3
#define FOREBAY_PUSHED_OUT 4
#define FOREBAY_REDUNDANT_ACK 5
#define FOREBAY_OTHER 6
typedef struct ForebaySetting {
  uint32_t struct_size;
  uint32_t version;
  uint32_t overhead;
  uint32_t mtu;
  uint64_t rate;
} ForebaySetting;
typedef struct ForebayPacket {
  uint32_t id;
  uint32_t len;
  uint32_t flow;
  uint8_t qos_class;
  uint8_t precedence;
  uint8_t drop_precedence;
  uint8_t tos;
  uint32_t kind;
  uint16_t source;
  uint16_t destination;
  uint64_t queued;
} ForebayPacket;
typedef struct ForebayTcp {
  uint32_t struct_size;
  uint32_t seq;
  uint32_t ack;
  uint32_t payload_len;
  uint16_t flags;
  uint16_t window;
  bool has_timestamps;
  bool other_options;
  uint8_t window_scale;
  uint8_t sack_count;
  uint32_t timestamp;
  uint32_t timestamp_echo;
  uint32_t sack[4][2];
} ForebayTcp;
typedef struct ForebayContext {
  uint32_t struct_size;
  uint64_t now;
  void *host;
  void (*drop)(struct ForebayContext *cx, const struct ForebayPacket *packet, uint32_t reason);
  bool (*mark)(struct ForebayContext *cx, struct ForebayPacket *packet);
  uint64_t (*random)(struct ForebayContext *cx);
  bool (*tcp)(struct ForebayContext *cx, const struct ForebayPacket *arriving, struct ForebayTcp *to);
  const uint8_t *(*bytes)(struct ForebayContext *cx,
                          const struct ForebayPacket *arriving,
                          uintptr_t *length);
} ForebayContext;
typedef struct ForebayBacklog {
  uint64_t packets;
  uint64_t bytes;
} ForebayBacklog;
typedef struct ForebayDiscipline {
  uint32_t version;
  uint32_t struct_size;
  const char *name;
  const char *summary;
  const char *source;
  const char *schema;
  bool keeps_order;
  bool shapes;
  const void *data;
  void *(*create)(const struct ForebayDiscipline *kind,
                  const char *params,
                  const struct ForebaySetting *setting,
                  char *error,
                  uintptr_t size);
  void (*destroy)(void *state);
  int32_t (*enqueue)(void *state, const struct ForebayPacket *packet, struct ForebayContext *cx);
  int32_t (*dequeue)(void *state, struct ForebayPacket *packet, struct ForebayContext *cx);
  uint64_t (*wake)(const void *state, uint64_t now);
  struct ForebayBacklog (*backlog)(const void *state);
  void (*set_link_rate)(void *state, uint64_t now, uint64_t rate);
  void (*probe)(const void *state, uint64_t now, void *to, void (*report)(void *to,
                                                                          const char *name,
                                                                          double value));
  intptr_t (*effective)(const struct ForebayDiscipline *kind,
                        const char *params,
                        const struct ForebaySetting *setting,
                        char *out,
                        uintptr_t size);
  const char *(*fault)(const void *state);
  bool (*retune)(void *state, uint64_t now, void *fresh);
  bool (*passes)(const void *state, const struct ForebayPacket *packet);
  void (*waiting)(const void *state, void *to, void (*report)(void *to,
                                                              uint32_t queue,
                                                              const struct ForebayPacket *packet));
  intptr_t (*enqueue_batch)(void *state,
                            const struct ForebayPacket *packets,
                            uintptr_t count,
                            struct ForebayContext *cx);
  intptr_t (*dequeue_batch)(void *state,
                            struct ForebayPacket *packets,
                            uintptr_t count,
                            struct ForebayContext *cx);
} ForebayDiscipline;
typedef struct ForebayEndpoint {
  uint32_t version;
  uint32_t struct_size;
  const char *name;
  const char *summary;
  const char *source;
  const char *schema;
  uint32_t headers;
  const void *data;
  void *(*create)(const struct ForebayEndpoint *kind,
                  const char *params,
                  bool sends,
                  char *error,
                  uintptr_t size);
  void (*destroy)(void *state);
  void (*begin)(void *state, uint64_t now, uint64_t random);
  void (*handle)(void *state, uint64_t now, const uint8_t *datagram, uintptr_t length, uint8_t ecn);
  intptr_t (*transmit)(void *state, uint64_t now, uint8_t *datagram, uintptr_t size, uint8_t *ecn);
  uint64_t (*timeout)(const void *state, uint64_t now);
  void (*on_timeout)(void *state, uint64_t now);
  void (*end)(void *state, uint64_t now);
  uint64_t (*delivered)(const void *state);
  const char *(*fault)(const void *state);
} ForebayEndpoint;
#ifdef __cplusplus
extern "C" {
#endif // __cplusplus
uint32_t forebay_version(void);
const struct ForebayDiscipline *forebay_discipline(const char *name);
const struct ForebayDiscipline *forebay_discipline_at(uint32_t index);
const char *forebay_reason(uint32_t reason);
bool forebay_tcp(const uint8_t *segment,
                 uintptr_t length,
                 struct ForebayTcp *to);
#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus
#ifdef __cplusplus
extern "C" {
#endif
const ForebayDiscipline *forebay_plugin(uint32_t index);
const ForebayEndpoint *forebay_endpoint(uint32_t index);
#ifdef __cplusplus
}
#endif
#define forebay_has(type, at, member) \
    ((at)->struct_size >= offsetof(type, member) + sizeof((at)->member))
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
static inline double forebay_number(const char *params, const char *name) {
    const char *at = forebay_member(params, name);
    if (at == NULL || *at == '\0' || strchr("-0123456789", *at) == NULL) return NAN;
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
static inline bool forebay_bool(const char *params, const char *name) {
    const char *at = forebay_member(params, name);
    return at != NULL && strncmp(at, "true", 4) == 0;
}
static inline intptr_t forebay_text(const char *params, const char *name, char *text, size_t size) {
    const char *at = forebay_member(params, name);
    if (at == NULL || *at != '"') return -1;
    intptr_t length = 0;
    for (at++; *at != '"'; at++, length++) {
        char letter = *at;
        if (letter == '\\') {
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
