"""Attacks on the promises: certificates, files, faults and kills, for as long as one likes."""
