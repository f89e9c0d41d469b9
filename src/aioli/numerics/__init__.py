"""Scalar mathematics: the logistic family, the root, the curvatures, the ball; accurate on all of float64."""
