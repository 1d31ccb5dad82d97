"""All files of an operator's project, written beside their place and then renamed into it."""
