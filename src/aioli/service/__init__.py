"""Predict by id now, learn by id when the label comes: a durable service over `aioli.store`."""
