"""From the arguments of a call to checked sizes, layouts and features. It takes ``contract``."""
