"""How a result is judged: one bound a tolerance class, plugged into one comparison.

``judge`` compares an output with the reference under the operator's tolerance. The reference is not rounded to the output's type T, so
an error is a fraction of ``ulp_T(r) = 2^(max(floor(log2|r|), emin) - p)``.

| class | accepted | fields of the answer |
|---|---|---|
| ``exact`` | equal numbers, or equal bit patterns for ``compare: bits`` | ``value`` |
| ``ulp`` | ``abs(e) <= n * ulp_T(abs(r) + d) + d`` | ``value`` r, ``slack`` d (0) |
| ``mixed`` | ``abs(e) <= max(n * ulp_T(s), a, s * 2^-p * (b + 1 + abs(x))) + d``, ``s = abs(r) + d`` | ``value`` r, ``slack`` d (0), ``argument`` x where b is given |
| ``accumulate`` | ``abs(e) <= c * ulp_T(abs(r) + g) + g + L * smallest``, ``g = L*u/(1 - L*u) * B`` | ``value`` r, ``magnitude`` B, ``terms`` L |
| ``product`` | ``abs(e) <= g + c * ulp_T(abs(r) + g)``, ``g = abs(r) * ((1+u)^L - 1)`` | ``value`` r, ``terms`` L |
| ``discrete`` | any integer that rounding a value in ``[v-d, v+d]`` gives, saturated | ``value`` v, ``slack`` d (0) |
| ``check`` | elements that satisfy a property; without one, exact where ``defined`` | ``value``, a callable: output -> mask |

| parameter (default) | class | meaning |
|---|---|---|
| ``ulps`` (1) | ulp, mixed | n |
| ``absolute`` (0) | mixed | a |
| ``argument`` (no such bound) | mixed | b, for exp and pow: 3 for FLOAT32, 1 for FLOAT16 |
| ``accumulator`` (23; FLOAT64 52) | accumulate, product | p_acc, if the backend does not declare it (``BackendInfo.accumulator``) |
| ``terms``, ``ulps``, ``absolute`` (0) | accumulate | added to L; added to the bound, for what follows the sum (a root, an activation) |
| ``together`` (1) | accumulate | 0 where each sum goes on from the one before, so that their errors do: long ones are not judged together |
| ``rounding`` (0) | discrete | 0 to nearest even, 1 toward zero, 2 down, 3 up |

``u`` is 2^-p_acc, half of it for a backend that declares round-to-nearest. ``c`` is 1, or 0 where the accumulator has the output's
type. ``smallest`` is the smallest normal number *of the accumulator*: FLOAT16's would add 0.03 to every bound at L = 512 and hide a
dropped term. ``B == 0`` requires an exact 0. Sums of more than 512 terms are also judged together, where their terms vary and are exact (long_sums.py).

``slack`` is the error of the exact value because its argument is itself computed (ScaleBias rounds ``x * scale + bias``), or the error of a
value before it is rounded to an integer. It does not apply to infinities and NaN, which stay exact; where the argument's error may turn a
number into one of them (a pole, the end of a domain), the reference excludes the element by ``defined``, or where the formula leaves but
two answers, gives the other one as ``also``. An infinite or NaN slack allows
nothing; a finite one that overflows the output's type accepts every number, with a warning. A zero may have either sign if the slack
reaches across it.

For every class: any NaN matches NaN; infinities must have the right sign; an overflowing reference, or an infinite result, counts as
2^(emax+1); both zeros are equal unless the case checks ``zero-sign`` of something other than a sum; a result that is denormal, or may be by its
error, may be a zero of its sign unless the backend preserves denormals. None of this applies to ``compare: bits``. Elements that
``Answer.defined`` excludes are not judged. Integer outputs are exact in every class except ``discrete`` and ``check``.
"""

from dmlcts.conformance.execution.judge.bounds import CLASSES
from dmlcts.conformance.execution.judge.compare import CARRIERS, ZERO_SIGN, judge
from dmlcts.conformance.execution.judge.formats import FORMATS, Format, steps, ulp
from dmlcts.conformance.execution.judge.verdict import CORRECTLY_ROUNDED, Verdict
from dmlcts.reference.answer import host

__all__ = ["CARRIERS", "CLASSES", "CORRECTLY_ROUNDED", "FORMATS", "ZERO_SIGN", "Format", "Verdict", "host", "judge", "steps", "ulp"]
