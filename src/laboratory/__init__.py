"""The programs that made the book's records: they train, measure, and write rows of data.

train       the book's own model                   stretch  the same on longer texts
probes      what its heads and layers do           waves    what its pairs of dimensions do
schemes     small models with other encodings      curves   the same along their training
three_back, placements   toys of two chapters
slopes      ALiBi on the first of them: slopes, rates and steps
starts      the same task with random first positions, and with changed buckets
warm_up     stacks of several depths with and without a warm-up of the learning rate
temperature  YaRN's factor at the trained length
controls    the same factor with other rules and in longer texts
angles      new angles, more keys and flatter weights in longer texts, one at a time
side_by_side  Adam for models that train at once
speed       benchmarks, as ratios in one run       record   how a row says where it comes from
precision   what readers copy, against float64, in each dtype and way of use
context_parallel   the library's ring beside PyTorch's
empty_rows  what PyTorch's attention returns for a query that sees no key
processes   several processes train one model      checkpoint   an interrupted training continues

Pages read the rows with `bookkit.records` and need none of this; it is not in the wheel.
"""
