"""Finished tile programs and contracts as files, through ``templates/``.

The package spells C++; it decides no schedule and runs nothing.
"""
