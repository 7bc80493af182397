"""Runge-Kutta methods as data: their coefficients, and the polynomials between two steps.

Numbers stand as their authors printed them. `tests/ode/test_tableaus.py` measures their orders.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

Table = Any  # a NumPy array of float64


@dataclass(frozen=True)
class Tableau:
    """A method: k_i = f(t + c_i h, y + h sum_j a_ij k_j), and y + h sum_i b_i k_i.

    The last stage that enters an error is f at the new point, which is the first one of the next
    step. Stages after it are only for the polynomial.

    Attributes:
        name: What users write.
        order: The order of the method.
        error_order: The power of the step by which the estimated error falls.
        c: Where in the step each stage is.
        a: The weights of the stages before each, a row for each stage.
        b: The weights of the stages in the new point.
        errors: The weights of the stages in the estimated error; two rows are joined as Hairer
            does.
        polynomial: The weights of the stages in y(t + s h) - y(t), over h, a row for each power
            of s.
        last: The number of the stage that is f at the new point.
        diagonal: The weight of each stage but the first in itself; 0 for explicit methods.
    """

    name: str
    order: int
    error_order: int
    c: Table
    a: tuple[Table, ...]
    b: Table
    errors: tuple[Table, ...]
    polynomial: Table
    last: int
    diagonal: float = 0.0

    def __post_init__(self) -> None:
        """Numbers of Python: Dynamo takes those of NumPy for data."""
        for name in ("c", "b"):
            object.__setattr__(self, name, _numbers(getattr(self, name)))
        for name in ("a", "errors"):
            rows = tuple([_numbers(row) for row in getattr(self, name)])
            object.__setattr__(self, name, rows)
        columns = np.asarray(self.polynomial).T
        object.__setattr__(self, "polynomial", tuple([_numbers(column) for column in columns]))


def _numbers(row: Any) -> tuple[float, ...]:
    return tuple([float(x) for x in row])


def _rows(text: str) -> tuple[Table, ...]:
    """Rows of numbers and fractions, each ended by a semicolon."""
    rows = []
    for line in text.split(";")[:-1]:
        pairs = [number.partition("/") for number in line.split()]
        rows.append(np.array([float(over) / float(under or 1) for over, _, under in pairs]))
    return tuple(rows)


def _hermite(b: Table, last: int) -> Table:
    """The cubic with the values and the slopes of both ends."""
    first, final = np.eye(len(b))[0], np.eye(len(b))[last]
    return np.stack([first, 3 * b - 2 * first - final, first + final - 2 * b], axis=1)


def _padded(row: Table, size: int) -> Table:
    return np.concatenate([row, np.zeros(size - len(row))])


# Bogacki and Shampine (1989), order 3(2) ----------------------------------------------------------


def _bosh3() -> Tableau:
    a = _rows("; 1/2; 0 3/4; 2/9 1/3 4/9;")
    b = _padded(a[3], 4)
    (error,) = _rows("5/72 -1/12 -1/9 1/8;")
    c = np.array([0.0, 0.5, 0.75, 1.0])
    return Tableau("bosh3", 3, 3, c, a, b, (error,), _hermite(b, 3), 3)


# Dormand and Prince (1980), order 5(4); the polynomial is Shampine's (1986) -----------------------


def _dopri5() -> Tableau:
    a = _rows("""
        ; 1/5; 3/40 9/40; 44/45 -56/15 32/9;
        19372/6561 -25360/2187 64448/6561 -212/729;
        9017/3168 -355/33 46732/5247 49/176 -5103/18656;
        35/384 0 500/1113 125/192 -2187/6784 11/84;
    """)
    (error,) = _rows("-71/57600 0 71/16695 -71/1920 17253/339200 -22/525 1/40;")
    polynomial = _rows("""
        1 -8048581381/2820520608 8663915743/2820520608 -12715105075/11282082432;
        0 0 0 0;
        0 131558114200/32700410799 -68118460800/10900136933 87487479700/32700410799;
        0 -1754552775/470086768 14199869525/1410260304 -10690763975/1880347072;
        0 127303824393/49829197408 -318862633887/49829197408 701980252875/199316789632;
        0 -282668133/205662961 2019193451/616988883 -1453857185/822651844;
        0 40617522/29380423 -110615467/29380423 69997945/29380423;
    """)
    c = np.array([0.0, 0.2, 0.3, 0.8, 8 / 9, 1.0, 1.0])
    table = np.stack(polynomial)
    return Tableau("dopri5", 5, 5, c, a, _padded(a[6], 7), (error,), table, 6)


# Tsitouras (2011), order 5(4) ---------------------------------------------------------------------


def _tsit5() -> Tableau:
    a = _rows("""
        ; 0.161; -0.008480655492356989 0.335480655492357;
        2.8971530571054935 -6.359448489975075 4.3622954328695815;
        5.325864828439257 -11.748883564062828 7.4955393428898365 -0.09249506636175525;
        5.86145544294642 -12.92096931784711 8.159367898576159 -0.071584973281401
          -0.028269050394068383;
        0.09646076681806523 0.01 0.4798896504144996 1.379008574103742 -3.290069515436081
          2.324710524099774;
    """)
    (error,) = _rows("""
        -0.00178001105222577714 -0.0008164344596567469 0.007880878010261995 -0.1447110071732629
          0.5823571654525552 -0.45808210592918697 0.015151515151515152;
    """)
    # The paper gives each stage as a factor and the zeros of the polynomial, or its quadratics.
    power, quadratic = np.polynomial.Polynomial, np.polynomial.polynomial.polymul
    s2 = power([0.0, 0.0, 1.0])
    stages = [
        -1.0530884977290216
        * power([0.0, 1.0])
        * power([-1.3299890189751412, 1.0])
        * power([0.7139816917074209, -1.4364028541716351, 1.0]),
        0.1017 * s2 * power([1.2949852507374631, -2.1966568338249754, 1.0]),
        2.490627285651252793 * s2 * power([1.57803468208092486, -2.38535645472061657, 1.0]),
        -16.54810288924490272
        * s2
        * power(quadratic([-1.21712927295533244, 1.0], [-0.61620406037800089, 1.0])),
        47.37952196281928122
        * s2
        * power(quadratic([-1.203071208372362603, 1.0], [-0.658047292653547382, 1.0])),
        -34.87065786149660974 * s2 * power(quadratic([-1.2, 1.0], [-2.0 / 3.0, 1.0])),
        2.5 * s2 * power(quadratic([-1.0, 1.0], [-0.6, 1.0])),
    ]
    table = np.stack([stage.coef[1:] for stage in stages])
    c = np.array([0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0])
    return Tableau("tsit5", 5, 5, c, a, _padded(a[6], 7), (error,), table, 6)


# Dormand and Prince, order 8(5,3), with the polynomial of order 7, by Hairer (dop853) -------------


def _dopri8() -> Tableau:
    (c,) = _rows(_DOP_C)
    a = _rows(_DOP_A)
    b = _padded(a[11], 16)
    errors = tuple([_padded(_rows(text)[0], 16) for text in (_DOP_E5, _DOP_E3)])
    first, final = np.eye(16)[0], np.eye(16)[12]
    parts = [b, first - b, 2 * b - first - final, *_rows(_DOP_D)]
    # y0 + s (p0 + (1 - s) (p1 + s (p2 + (1 - s) (p3 + ...)))), from the inside out.
    total = np.zeros((16, 8))
    for n in range(6, -1, -1):
        total[:, 0] += parts[n]
        up = np.roll(total, 1, axis=1)
        total = up if n % 2 == 0 else total - up
    return Tableau("dopri8", 8, 8, c, (np.array([]), *a), b, errors, total[:, 1:], 12)


# Kvaerno (2004), stiffly accurate with an explicit first stage: orders 3(2) and 5(4) --------------


def _kvaerno3() -> Tableau:
    g = 0.4358665215084590  # the zero of g**3 - 3 g**2 + 3/2 g - 1/6 that makes it L-stable
    middle = [(-4 * g**2 + 6 * g - 1) / (4 * g), (1 - 2 * g) / (4 * g)]
    last = [
        (6 * g - 1) / (12 * g),
        -1 / ((24 * g - 12) * g),
        (-6 * g**2 + 6 * g - 1) / (6 * g - 3),
    ]
    a = (np.array([]), np.array([g]), np.array(middle), np.array(last))
    return _stiff("kvaerno3", 3, a, g)


def _kvaerno5() -> Tableau:
    a = _rows("""
        ; 0.26; 0.13 0.84033320996790809;
        0.22371961478320505 0.47675532319799699 -0.06470895363112615;
        0.16648564323248321 0.10450018841591720 0.03631482272098715 -0.13090704451073998;
        0.13855640231268224 0 -0.04245337201752043 0.02446657898003141 0.61943039072480676;
        0.13659751177640291 0 -0.05496908796538376 -0.04118626728321046 0.62993304899016403
          0.06962479448202728;
    """)
    return _stiff("kvaerno5", 5, a, 0.26)


def _stiff(name: str, order: int, a: tuple[Table, ...], diagonal: float) -> Tableau:
    size = len(a)
    b = np.array([*a[-1], diagonal])
    before = _padded(np.array([*a[-2], diagonal]), size)
    c = np.array([0.0, *[sum(row) + diagonal for row in a[1:]]])
    polynomial = _hermite(b, size - 1)
    return Tableau(name, order, order, c, a, b, (b - before,), polynomial, size - 1, diagonal)


_DOP_C = """
    0 0.05260015195876773 0.0789002279381516 0.1183503419072274 0.2816496580927726
      0.3333333333333333 0.25 0.3076923076923077 0.6512820512820513 0.6 0.8571428571428571 1.0
      1.0 0.1 0.2 0.7777777777777778;
"""

_DOP_A = """
    0.05260015195876773;
    0.0197250569845379 0.0591751709536137;
    0.02958758547680685 0 0.08876275643042054;
    0.2413651341592667 0 -0.8845494793282861 0.924834003261792;
    0.037037037037037035 0 0 0.17082860872947386 0.12546768756682242;
    0.037109375 0 0 0.17025221101954405 0.06021653898045596 -0.017578125;
    0.03709200011850479 0 0 0.17038392571223998 0.10726203044637328 -0.015319437748624402
      0.008273789163814023;
    0.6241109587160757 0 0 -3.3608926294469414 -0.868219346841726 27.59209969944671
      20.154067550477894 -43.48988418106996;
    0.47766253643826434 0 0 -2.4881146199716677 -0.590290826836843 21.230051448181193
      15.279233632882423 -33.28821096898486 -0.020331201708508627;
    -0.9371424300859873 0 0 5.186372428844064 1.0914373489967295 -8.149787010746927
      -18.52006565999696 22.739487099350505 2.4936055526796523 -3.0467644718982196;
    2.273310147516538 0 0 -10.53449546673725 -2.0008720582248625 -17.9589318631188
      27.94888452941996 -2.8589982771350235 -8.87285693353063 12.360567175794303
      0.6433927460157636;
    0.054293734116568765 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585
      0.3111643669578199 -0.1521609496625161 0.20136540080403034 0.04471061572777259;
    0.056167502283047954 0 0 0 0 0 0.25350021021662483 -0.2462390374708025 -0.12419142326381637
      0.15329179827876568 0.00820105229563469 0.007567897660545699 -0.008298;
    0.03183464816350214 0 0 0 0 0.028300909672366776 0.053541988307438566 -0.05492374857139099 0
      0 -0.00010834732869724932 0.0003825710908356584 -0.00034046500868740456
      0.1413124436746325;
    -0.42889630158379194 0 0 0 0 -4.697621415361164 7.683421196062599 4.06898981839711
      0.3567271874552811 0 0 0 -0.0013990241651590145 2.9475147891527724 -9.15095847217987;
"""

_DOP_E5 = """
    0.01312004499419488 0 0 0 0 -1.2251564463762044 -0.4957589496572502 1.6643771824549864
      -0.35032884874997366 0.3341791187130175 0.08192320648511571 -0.022355307863886294 0;
"""

_DOP_E3 = """
    -0.18980075407240762 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585
      -0.4226823213237919 -0.1521609496625161 0.20136540080403034 0.02265179219836082 0;
"""

_DOP_D = """
    -8.428938276109013 0 0 0 0 0.5667149535193777 -3.0689499459498917 2.38466765651207
      2.117034582445028 -0.871391583777973 2.2404374302607883 0.6315787787694688
      -0.08899033645133331 18.148505520854727 -9.194632392478356 -4.436036387594894;
    10.427508642579134 0 0 0 0 242.28349177525817 165.20045171727028 -374.5467547226902
      -22.113666853125306 7.733432668472264 -30.674084731089398 -9.332130526430229
      15.697238121770845 -31.139403219565178 -9.35292435884448 35.81684148639408;
    19.985053242002433 0 0 0 0 -387.0373087493518 -189.17813819516758 527.8081592054236
      -11.57390253995963 6.8812326946963 -1.0006050966910838 0.7777137798053443
      -2.778205752353508 -60.19669523126412 84.32040550667716 11.99229113618279;
    -25.69393346270375 0 0 0 0 -154.18974869023643 -231.5293791760455 357.6391179106141
      93.40532418362432 -37.45832313645163 104.0996495089623 29.8402934266605 -43.53345659001114
      96.32455395918828 -39.17726167561544 -149.72683625798564;
"""

TABLEAUS = {
    tableau.name: tableau
    for tableau in (_bosh3(), _dopri5(), _tsit5(), _dopri8(), _kvaerno3(), _kvaerno5())
}
