"""The mistakes of the workshop: what each returns, and what it costs the trained model.

mistakes     all mistakes that the checks know, as small changes of the solution
changing     applies one; of_attention, of_blocks, of_models, of_readers have the lists
losses       what some of them cost: the record of the page "What breaks when …"
signatures   writes what each returns, which the checks compare (bookkit.workshop.signatures)
"""
