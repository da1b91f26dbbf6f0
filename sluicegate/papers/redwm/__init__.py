"""Domanska et al. 2014: REDwM, whose average is a difference equation with more memory."""
