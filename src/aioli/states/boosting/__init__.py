"""Boosted trees, fitted anew as rows come: columns in bins, trees grown by their gradients, and the state of it all."""
