"""What users import and call: operators by name, and the backends that compute a call.

The package knows how to find a backend, not how one works.
"""
