"""One thread in every test process: the tests share the machine, and results depend on the count."""

import torch

torch.set_num_threads(1)
