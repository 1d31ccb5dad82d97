"""Seeded defects in the emitted kernels and host plans: proof that the checks can fail.

A mutant is one change of one place of a project's text: an event that is dropped, a stride that is off by
one, a launch without batch mode. It is killed if the emulator's checks find something, a value is wrong, or a
static check refuses it, in calls that execute the changed line.
"""
