"""Zheng & Atiquzzaman 2002: LPF/ODA, a RED that responds sooner to the end of a congestion."""
