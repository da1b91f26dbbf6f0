"""Traffic: captures, their statistics, and the self-similar source fitted to them."""
