"""Reading files: bytes in, text with pages and headings out, or a named reason why not.

Everything here works in a child process of the worker (child.py) under limits on memory, processor time and output, and
imports nothing of the site.
"""
