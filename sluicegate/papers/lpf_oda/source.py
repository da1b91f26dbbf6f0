"""What the paper prints, section 3."""

PAPER = "LPF/ODA: Zheng & Atiquzzaman, International Journal of Communication Systems 15(10), 2002"
# packets, packets, probability, weight
MIN_TH, MAX_TH, MAX_P, W = 5, 20, 0.1, 0.07
LPF, ODA = "LPF (EWMA)", "LPF/ODA"
# name: parameter `average` of red
FILTERS = {LPF: "ewma", ODA: "lpf_oda"}

RATE_BPS = 10e6
ACCESS_RATE_BPS = 100e6
# delays from the gateway to the client, and from the three servers to the gateway
CLIENT_DELAY_S, SERVER_DELAYS_S = 0.005, (0.001, 0.005, 0.003)
# the first congestion ends, the second begins and ends, the simulation ends
END_S, AGAIN_S, OVER_S, DURATION_S = 133.0, 166.0, 250.0, 300.0

RESPONSE_S = {LPF: 13.0, ODA: 3.0}
TIMES_SOONER = 4.3
# how much longer LPF takes, s: until its throughput equals LPF/ODA's, until its drops do
LATER_S, LATER_DROPS_S = 10.0, 13.0
# by time in seconds: throughput as a share of the link's rate, and how much higher LPF/ODA's is
THROUGHPUTS = {150.0: {LPF: 0.0625, ODA: 0.1125}, 166.0: {LPF: 0.12, ODA: 0.15}}
GAINS = {150.0: 0.8, 166.0: 0.25}
