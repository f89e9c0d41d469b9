"""Speed beside the peers, in one run: ratios, exponents, memory and start-up."""
