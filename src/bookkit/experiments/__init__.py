"""What takes longer than a page may: trainings, benchmarks, and their recorded rows."""
