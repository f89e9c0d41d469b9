"""What every learner, face and command says on fixed streams, noted under names.

This code runs against the sources of any commit, so it uses only what is public and stable: the names that `aioli`,
`aioli.sklearn` and `aioli.river` export, and the command. It imports nothing else of aioli or of `benchmarks`.
"""
