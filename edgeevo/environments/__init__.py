"""The vocabulary that practice is written in, and how a program of it becomes a concrete task. Pure: no clock, no I/O, no hidden dice."""
