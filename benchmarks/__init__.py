"""Speed as ratios: against the time to read the data once, and against peers.

``python -m benchmarks`` (or ``make bench``) measures both sides of every ratio in one
process, turn by turn, prints them beside their bars and writes ``results.json``.
"""
