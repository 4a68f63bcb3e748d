"""What takes longer than a page may: trainings, benchmarks, and their recorded rows.

record          how rows are written and read
speed           the benchmarks of chapters 14 and 18
placements      placements of the norm and initial weights, for chapter 4
three_back      positional schemes on one small task, for chapter 9
"""
