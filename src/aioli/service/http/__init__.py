"""The service over HTTP (extra `serve`): who may ask, what is answered, and how it is watched."""
