
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
