"""Measurements of L4S by others, with kernels and qdiscs: three sets, repeated case by case."""
