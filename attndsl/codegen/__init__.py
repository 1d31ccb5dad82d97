"""Tile programs and contracts as files: names, text of statements, templates, projects."""
