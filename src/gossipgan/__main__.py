"""``python -m gossipgan``, as torchrun starts it."""

from gossipgan.cli import main

main()
