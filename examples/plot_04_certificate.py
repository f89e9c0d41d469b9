"""
The certificate beside the regret
=================================

Regret is what was lost more than by the best fixed model, which is known only in hindsight. The certificate is
computed as the run goes, and is never below the regret: on any rows whatever. Here on handwritten digits, odd or
even.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from aioli import AIOLI
from aioli.plot import RegretDisplay, record_run

X, digit = load_digits(return_X_y=True)
run = record_run(AIOLI(), X / 16.0, digit % 2, points=32)
RegretDisplay.from_run(run)
plt.show()

# %%
# The theorem promises a bound before the first row; the certificate is what these very rows prove; the tight one
# solves a further problem of d variables for a smaller number.

certificate = run.learner.certificate()
print(f"theorem           {certificate.theorem:8.1f} nats")
print(f"certificate       {certificate:8.1f} nats")
print(f"tight certificate {run.learner.certificate(tight=True):8.1f} nats")
