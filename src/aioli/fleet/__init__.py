"""One model a key: models in contiguous records, keys and their places, records on disk, pooling."""
