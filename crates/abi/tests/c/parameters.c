/* Reads parameters with forebay.h, as `create` of a plug-in does, in the locale of the environment.
 * Also C++. */
#include "forebay.h"
#include <locale.h>

static int wrong;

static void number(const char *params, const char *name, double expected) {
    double found = forebay_number(params, name);
    bool both = isnan(found) && isnan(expected);
    if (found != expected && !both) {
        wrong = 1;
        printf("%s of %s: %.17g, not %.17g\n", name, params, found, expected);
    }
}

static void truth(const char *params, const char *name, bool expected) {
    if (forebay_bool(params, name) != expected) {
        wrong = 1;
        printf("%s of %s: not %d\n", name, params, expected);
    }
}

static void text(const char *params, size_t size, const char *expected, intptr_t whole) {
    char found[16] = "unwritten";
    intptr_t length = forebay_text(params, "t", found, size);
    if (length != whole || strcmp(found, expected) != 0) {
        wrong = 1;
        printf("%s: %d \"%s\", not \"%s\"\n", params, (int)length, found, expected);
    }
}

int main(void) {
    printf("%s\n", setlocale(LC_ALL, ""));

    number("{\"a\":1.5}", "a", 1.5);
    number("{\"a\":-0.001,\"b\":2}", "b", 2);
    number("{\"a\":-0.001,\"b\":2}", "a", -0.001);
    number("{\"a\":1e-7}", "a", 1e-7);
    number("{\"a\":1.7976931348623157e308}", "a", 1.7976931348623157e308);
    number("{\"a\":5E+3}", "a", 5000);
    number("{\"a\":18446744073709551615}", "a", 18446744073709551615.0);
    number("{\"a\":0.1000000000000000055511151231257827021181583404541015625}", "a", 0.1);
    number("{\"a\":100000000000000000000000000000000000000000000000000}", "a", 1e50);
    /* Spaces, names inside of other names, texts and tables. */
    number("{ \"bb\" : 1 ,\n \"b\" : 2 }", "b", 2);
    number("{\"note\":\"x \\\"low\\\":7\",\"low\":20}", "low", 20);
    number("{\"note\":\"low\",\"low\":20}", "low", 20);
    number("{\"inner\":{\"low\":7},\"list\":[\"low\",{\"low\":8}],\"low\":20}", "low", 20);
    /* What is no number is not 0. */
    number("{\"a\":true}", "a", NAN);
    number("{\"a\":\"7\"}", "a", NAN);
    number("{\"a\":null}", "a", NAN);
    number("{\"a\":7}", "b", NAN);
    number("{}", "a", NAN);
    number("", "a", NAN);
    number("{\"a", "a", NAN);
    number("{\"a\":", "a", NAN);
    number("{\"a\\", "a", NAN);

    truth("{\"gentle\":true,\"low\":20}", "gentle", true);
    truth("{\"gentle\":false,\"low\":true}", "gentle", false);
    truth("{\"gentle\":\"true\"}", "gentle", false);
    truth("{}", "gentle", false);

    text("{\"t\":\"flow\"}", 16, "flow", 4);
    text("{\"t\":\"\"}", 16, "", 0);
    text("{\"t\":\"flow\"}", 5, "flow", 4);
    text("{\"t\":\"flow\"}", 4, "flo", 4);
    text("{\"t\":\"flow\"}", 1, "", 4);
    text("{\"t\":\"flow\"}", 0, "unwritten", 4);
    text("{\"t\":\"a\\\"b\\\\c\\/d\"}", 16, "a\"b\\c/d", 7);
    text("{\"t\":\"\\b\\f\\n\\r\\t\\u001b\"}", 16, "\b\f\n\r\t\033", 6);
    text("{\"t\":\"f\xc3\xbcr\"}", 16, "f\xc3\xbcr", 4);
    text("{\"t\":7}", 16, "unwritten", -1);
    text("{}", 16, "unwritten", -1);
    text("{\"t\":\"\\u00fc\"}", 16, "unwritten", -1);
    return wrong;
}
