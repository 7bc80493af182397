"""Temme's uniform expansion of the incomplete gamma functions, derived from its definition.

With lambda = x / a and eta**2 / 2 = lambda - 1 - log(lambda), of the sign of lambda - 1:
Q(a, x) = erfc(eta sqrt(a / 2)) / 2 + R, R = exp(-a eta**2 / 2) / sqrt(2 pi a) sum C_k(eta) / a**k.
The C_k are power series in eta: C_0 = 1 / (lambda - 1) - 1 / eta, and
eta C_k = C_{k-1}' + eta / (lambda - 1) g_k, with the coefficients g_k of 1 / Gamma*(a).
"""

import mpmath as mp

ROWS, LENGTH = 14, 26


def temme_rows() -> list[list[float]]:
    """The power series of C_0, C_1, ..., lowest power first."""
    terms = LENGTH + 2 * ROWS + 6
    mu = _lambda_less_one(terms)
    # eta / (lambda - 1), as a power series.
    ratio = _reciprocal(mu[1:])
    gammas = _reciprocal_gamma_star(ROWS)
    rows = [ratio[1:]]
    for k in range(1, ROWS):
        slope = [(n + 1) * rows[-1][n + 1] for n in range(len(rows[-1]) - 1)]
        summed = [s + gammas[k] * r for s, r in zip(slope, ratio)]
        assert abs(summed[0]) < mp.mpf(10) ** -30, "the series begins with eta"
        rows.append(summed[1:])
    return [[float(c) for c in row[:LENGTH]] for row in rows]


def _lambda_less_one(terms: int) -> list[mp.mpf]:
    """lambda - 1 = eta + eta**2 / 3 + ..., from mu' = eta (1 + mu) / mu."""
    mu = [mp.mpf(0), mp.mpf(1)]
    for n in range(2, terms):
        # The coefficient of eta**n in mu mu' = eta (1 + mu) is (n + 1) mu_n + others.
        others = mp.fsum([mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n)])
        mu.append((mu[n - 1] - others) / (n + 1))
    return mu


def _reciprocal(series: list[mp.mpf]) -> list[mp.mpf]:
    found = [1 / series[0]]
    for n in range(1, len(series)):
        found.append(-mp.fsum([series[i] * found[n - i] for i in range(1, n + 1)]) / series[0])
    return found


def _reciprocal_gamma_star(count: int) -> list[mp.mpf]:
    """1 / Gamma*(a) in powers of 1 / a, from the exponential of Stirling's series."""
    log = [mp.mpf(0)] * (count + 1)
    for k in range(1, count // 2 + 2):
        if 2 * k - 1 <= count:
            log[2 * k - 1] = -mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    found = [mp.mpf(1)]
    for n in range(1, count + 1):
        found.append(mp.fsum([i * log[i] * found[n - i] for i in range(1, n + 1)]) / n)
    return found
