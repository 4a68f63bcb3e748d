"""What takes longer than a page may: trainings, benchmarks, and their recorded rows.

record            how rows are written and read
speed             the benchmarks of chapters 14 and 18
longer_sentences  position codes beyond the training length, for the deeper page of chapter 6
three_divisors    divisors of the scores and two optimizers, for the deeper page of chapter 2
three_back        positional schemes on one small task, for chapter 9
"""
