"""Wang et al. 2007: LRED against PI, PI*, REM, AVQ and RED."""
