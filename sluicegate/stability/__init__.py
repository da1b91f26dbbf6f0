"""TCP and AQM as a feedback loop: equilibrium, stability, margins, boundaries, transients."""
