"""Threefry-2x32 (Salmon et al., 2011): its constants, and the hash itself on Python integers.

Every backend evaluates the same function on its own arrays; here it serves the few hashes that need
no array at all: the next key of the global stream, the seeds of a Container's leaves.
"""

from math import ceil, log

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
MASK = 0xFFFFFFFF

Words = tuple[int, int]


def threefry(key: Words, count: Words) -> Words:
    """The two 32-bit words that belong to a counter under a key.

    >>> [hex(word) for word in threefry((0, 0), (0, 0))]
    ['0x6b200159', '0x99ba4efe']
    """
    schedule = (key[0], key[1], key[0] ^ key[1] ^ PARITY)
    x0, x1 = (count[0] + key[0]) & MASK, (count[1] + key[1]) & MASK
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 = (x0 + x1) & MASK
            x1 = ((x1 << r | x1 >> (32 - r)) & MASK) ^ x0
        x0 = (x0 + schedule[(i + 1) % 3]) & MASK
        x1 = (x1 + schedule[(i + 2) % 3] + i + 1) & MASK
    return x0, x1


def seed_words(seed: int) -> Words:
    """The key of a non-negative integer seed: its upper and its lower 32 bits.

    >>> seed_words(2**32 + 5)
    (1, 5)
    """
    return seed >> 32, seed & MASK


def fold_in_words(key: Words, data: int) -> Words:
    """A new key out of a key and a number; the same as `jax.random.fold_in`.

    >>> fold_in_words((0, 0), 1)
    (928981903, 3453687069)
    """
    return threefry(key, (0, data & MASK))


def sorting_rounds(length: int) -> int:
    """How many sorts by 32-bit keys make a permutation; one is too few where keys may be equal.
    JAX's rule.

    >>> sorting_rounds(1000), sorting_rounds(3000)
    (1, 2)
    """
    return ceil(3 * log(max(1, length)) / log(MASK))


# The inverse error function as in Giles, "Approximating the erfinv function" (2012): coefficients
# of the central region and of the tails, highest power first. JAX's normals are made with the same
# ones.
ERFINV_CENTRE_32 = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
ERFINV_TAIL_32 = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
ERFINV_CENTRE_64 = (
    -3.64441206401782e-21, -1.6850591381820166e-19, 1.28584807152564e-18, 1.1157877678025181e-17,
    -1.3331716628546209e-16, 2.0972767875968562e-17, 6.6376381343583238e-15,
    -4.0545662729752069e-14, -8.1519341976054722e-14, 2.6335093153082323e-12,
    -1.2975133253453532e-11, -5.4154120542946279e-11, 1.0512122733215323e-09,
    -4.1126339803469837e-09, -2.9070369957882005e-08, 4.2347877827932404e-07,
    -1.3654692000834679e-06, -1.3882523362786469e-05, 0.00018673420803405714, -0.000740702534166267,
    -0.0060336708714301491, 0.24015818242558962, 1.6536545626831027,
)  # fmt: skip
ERFINV_TAIL_64 = (
    2.2137376921775787e-09, 9.0756561938885391e-08, -2.7517406297064545e-07, 1.8239629214389228e-08,
    1.5027403968909828e-06, -4.013867526981546e-06, 2.9234449089955446e-06, 1.2475304481671779e-05,
    -4.7318229009055734e-05, 6.8284851459573175e-05, 2.4031110387097894e-05,
    -0.00035503752036284748, 0.0009532893797373805, -0.0016882755560235047, 0.0024914420961078508,
    -0.0037512085075692412, 0.0053709145535900636, 1.0052589676941592, 3.0838856104922208,
)  # fmt: skip
ERFINV_FAR_TAIL_64 = (
    -2.7109920616438573e-11, -2.5556418169965252e-10, 1.5076572693500548e-09,
    -3.789465440126737e-09, 7.61570120807834e-09, -1.496002662714924e-08, 2.9147953450901081e-08,
    -6.7711997758452339e-08, 2.2900482228026655e-07, -9.9298272942317e-07, 4.5260625972231537e-06,
    -1.9681778105531671e-05, 7.5995277030017761e-05, -0.00021503011930044477,
    -0.00013871931833623122, 1.0103004648645344, 4.8499064014085844,
)  # fmt: skip
