"""How the Lookahead-minmax paper's public notebooks differ from what one would take its stochastic table to mean.

Each was read from the notebooks (github.com/Chavdarova/LAGAN-Lookahead_Minimax, folder bilinear_game), and each can be
had by itself; with all of them the table's figures come out within the spread of seeds.

    batch-is-a-pass   the abscissa counts batches: its 20,000 "passes" are 20,000 iterations, whatever the batch
    three-pass-eg     an extragradient step evaluates the trial gradient, then each player's own: charged as three
    fresh-batches     each of those three draws a batch of its own
    uncorrected-adam  Adam's second moment starts at zero and its bias is not corrected
    notebook          all of them that the method has
"""

from gossipgan.errors import UserError

BATCH_IS_A_PASS = "batch-is-a-pass"
THREE_PASS_EG = "three-pass-eg"
FRESH_BATCHES = "fresh-batches"
UNCORRECTED_ADAM = "uncorrected-adam"
NOTEBOOK = "notebook"

NAMES = (BATCH_IS_A_PASS, THREE_PASS_EG, FRESH_BATCHES, UNCORRECTED_ADAM, NOTEBOOK)


def resolve(given: tuple[str, ...], *, extrapolates: bool, adam: bool) -> frozenset[str]:
    """The quirks that are in force. UserError for a name that is unknown, or that the method has no use for."""
    has = {BATCH_IS_A_PASS: True, THREE_PASS_EG: extrapolates, FRESH_BATCHES: extrapolates, UNCORRECTED_ADAM: adam}
    for name in given:
        if name not in NAMES:
            raise UserError(f"--quirk {name}: unknown; allowed are {', '.join(NAMES)}")
        if not has.get(name, True):
            only = "adam methods" if name == UNCORRECTED_ADAM else "eg and extra-adam"
            raise UserError(f"--quirk {name}: nothing to change in this method; only in {only}")
    return frozenset(name for name, it_has in has.items() if it_has and (name in given or NOTEBOOK in given))
