"""What readers copy, in each dtype and way of use, compared with float64.

listings          how each listing of the chapters is used
situations        the same listing in a dtype, in batches, padded, compiled, built without memory
one_file_models   the two files of `one_file`, in the same ways
run               all of it on a device, one recorded row per case:

python -m laboratory.precision.run OUT.jsonl --device cuda --compile
"""
