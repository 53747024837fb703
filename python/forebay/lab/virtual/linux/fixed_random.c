/*
 * Random numbers of the referee's kernel, which takes them from getrandom(): a sequence that follows
 * from FOREBAY_SEED, a number. To be preloaded.
 *
 * SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static uint64_t state;
static int seeded;

static uint64_t next(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    (void)flags;
    if (!seeded) {
        const char *seed = getenv("FOREBAY_SEED");

        state = seed ? strtoull(seed, NULL, 10) : 0;
        seeded = 1;
    }
    for (size_t done = 0; done < size; done += 8) {
        uint64_t word = next();

        memcpy((char *)to + done, &word, size - done < 8 ? size - done : 8);
    }
    return size;
}
