"""Formats in which own questions come in and go out. Each reads bytes into raw questions and writes contents."""
