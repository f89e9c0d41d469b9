"""How a learner did: the progressive loop, running scores, and the best fixed model in hindsight."""
