"""Domanska, Domanski & Czachorski 2008: RED and DSRED that drop from the front."""
