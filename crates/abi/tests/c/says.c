/* A plug-in that makes no queue: its error is what it has read of its parameters. */
#include "forebay.h"

static void *create(const ForebayDiscipline *kind, const char *params,
                    const ForebaySetting *setting, char *error, uintptr_t size) {
    (void)kind, (void)setting;
    char mode[8];
    forebay_text(params, "mode", mode, sizeof mode);
    snprintf(error, size, "said: %g, %g, %d, \"%s\"", forebay_number(params, "share"),
             forebay_number(params, "limit"), forebay_bool(params, "gentle"), mode);
    return NULL;
}

static void destroy(void *state) { (void)state; }
static int32_t enqueue(void *state, const ForebayPacket *packet, ForebayContext *cx) {
    return (void)state, (void)packet, (void)cx, FOREBAY_FAILED;
}
static int32_t dequeue(void *state, ForebayPacket *packet, ForebayContext *cx) {
    return (void)state, (void)packet, (void)cx, FOREBAY_FAILED;
}
static uint64_t wake(const void *state, uint64_t now) { return (void)state, (void)now, FOREBAY_IDLE; }
static ForebayBacklog backlog(const void *state) { return (void)state, (ForebayBacklog){0, 0}; }

static const ForebayDiscipline says = {
    .version = FOREBAY_VERSION,
    .struct_size = sizeof(ForebayDiscipline),
    .name = "says",
    .summary = "says what it reads",
    .source = "none",
    .schema = "{\"properties\": {"
        "\"share\": {\"type\": \"number\", \"default\": 0.25},"
        "\"limit\": {\"type\": \"integer\", \"default\": 10},"
        "\"gentle\": {\"type\": \"boolean\", \"default\": true},"
        "\"mode\": {\"type\": \"string\", \"enum\": [\"slow\", \"fast\"], \"default\": \"slow\"}}}",
    .create = create,
    .destroy = destroy,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .wake = wake,
    .backlog = backlog,
};

const ForebayDiscipline *forebay_plugin(uint32_t index) { return index == 0 ? &says : NULL; }
