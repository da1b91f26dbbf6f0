"""How good a call sounds: the E-model of ITU-T G.107 with its default values."""

from __future__ import annotations

import math

# G.711 without concealment of losses (ITU-T G.113, appendix I)
BPL = 4.3
# with it (likewise: G.711, appendix I)
BPL_CONCEALED = 25.1

# default values (ITU-T G.107, table 2), dB unless said otherwise
_SLR, _RLR, _STMR, _TELR, _WEPL = 8.0, 2.0, 15.0, 65.0, 110.0
_DS, _DR, _PS, _PR, _NC, _NFOR = 3.0, 3.0, 35.0, 35.0, -70.0, -64.0
# quantising distortion units
_QDU = 1.0
_OLR = _SLR + _RLR


def rating(delay_s: float, loss_ratio: float, bpl: float = BPL) -> float:
    """The transmission rating R of a call (ITU-T G.107, equation 7-1): 93.2 at best.

    Args:
        delay_s: From mouth to ear, one way: network, packetisation and play-out buffer, s.
        loss_ratio: Share of the packets that are lost, at random, or come too late to be played.
        bpl: How well the codec stands losses.
    """
    delay_ms, noise = 1000 * delay_s, _noise()
    basic = 15 - 1.5 * (_SLR + noise)
    effective = 95 * loss_ratio / (loss_ratio + bpl / 100)
    return (
        basic - _simultaneous(basic, noise, delay_ms) - _delay(basic, noise, delay_ms) - effective
    )


def mean_opinion(r: float) -> float:
    """The mean opinion score of a rating (ITU-T G.107, annex B).

    It is from 1 to 4.5, but for ratings below 6.5, where the formula gives 0.99 to 1.
    """
    if r < 0:
        return 1.0
    return 4.5 if r > 100 else 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6


def mean_opinion_score(
    delay_s: float | None, loss_ratio: float | None, bpl: float = BPL
) -> float | None:
    """The mean opinion score (MOS) of a call; None if delay or loss is not known (None or NaN).

    Args:
        delay_s: As for `rating`.
        loss_ratio: Likewise.
        bpl: Likewise.
    """
    if delay_s is None or loss_ratio is None or math.isnan(delay_s + loss_ratio):
        return None
    return mean_opinion(rating(delay_s, loss_ratio, bpl))


def _noise() -> float:
    """No: all noise at the 0 dBr point, dBm0p (equations 7-3 to 7-7)."""
    send = _PS - _SLR - _DS - 100 + 0.004 * (_PS - _OLR - _DS - 14) ** 2
    room = _PR + 10 * math.log10(1 + 10 ** ((10 - (_STMR + _DR)) / 10))
    receive = _RLR - 121 + room + 0.008 * (room - 35) ** 2
    parts = (_NC, send, receive, _NFOR + _RLR)
    return 10 * math.log10(sum(10 ** (part / 10) for part in parts))


def _simultaneous(basic: float, noise: float, delay_ms: float) -> float:
    """Is: what comes with the voice signal (equations 7-8 to 7-17)."""
    x = _OLR + 0.2 * (64 + noise - _RLR)
    loud = 20 * (_norm(x / 8, 8) - x / 8)
    side = -10 * math.log10(10 ** (-_STMR / 10) + math.exp(-delay_ms / 4) * 10 ** (-_TELR / 10))
    side_tone = (
        12 * _norm((side - 13) / 6, 8)
        - 28 * _norm((side + 1) / 19.4, 35)
        - 13 * _norm((side - 3) / 33, 13)
        + 29
    )
    q = 37 - 15 * math.log10(_QDU)
    g = 1.07 + 0.258 * q + 0.0602 * q * q
    y = (basic - 100) / 15 + 46 / 8.4 - g / 9
    quantising = 15 * math.log10(1 + 10**y + 10 ** (46 / 30 - g / 40))
    return loud + side_tone + quantising


def _delay(basic: float, noise: float, delay_ms: float) -> float:
    """Id: echoes and delay (equations 7-18 to 7-28)."""
    falling = 40 * math.log10((1 + delay_ms / 10) / (1 + delay_ms / 150))
    heard = _TELR - falling + 6 * math.exp(-0.3 * delay_ms**2)
    talker = -1.5 * (noise - _RLR) - (80 + 2.5 * (heard - 14))
    talker_echo = (talker / 2 + math.sqrt(talker**2 / 4 + 100) - 1) * (1 - math.exp(-delay_ms))
    listener = basic - 10.5 * (_WEPL + 7) * math.pow(2 * delay_ms + 1, -0.25)
    listener_echo = listener / 2 + math.sqrt(listener**2 / 4 + 169)
    too_long = 0.0
    if delay_ms > 100:
        x = math.log2(delay_ms / 100)
        too_long = 25 * (_norm(x, 6) - 3 * _norm(x / 3, 6) + 2)
    return talker_echo + listener_echo + too_long


def _norm(x: float, power: float) -> float:
    """(1 + x^p)^(1/p), by which the model joins two straight lines."""
    return math.pow(1 + math.pow(x, power), 1 / power)
