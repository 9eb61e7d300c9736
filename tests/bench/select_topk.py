#!/usr/bin/env python3
"""torch.topk on the keys of select_bench, for a column beside it: select_topk.py [--elements 30] [--n 17,20] [--k 32,512]"""
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--elements", type=int, default=30)
parser.add_argument("--n", default="14,17,20,22,24")
parser.add_argument("--k", default="1,32,128,512,2048,16384")
arguments = parser.parse_args()

print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
print("\n| N | Q | k | topk ms |\n| ---: | ---: | ---: | ---: |")
generator = torch.Generator(device="cuda").manual_seed(1)
for exponent in map(int, arguments.n.split(",")):
    rows = 1 << (arguments.elements - exponent)
    keys = torch.rand((rows, 1 << exponent), device="cuda", generator=generator)
    for k in map(int, arguments.k.split(",")):
        if k > 1 << exponent:
            continue
        times = []
        for _ in range(6):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            torch.topk(keys, k, dim=1, largest=False, sorted=False)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        print(f"| {1 << exponent} | {rows} | {k} | {sorted(times[1:])[2]:.4f} |", flush=True)
    del keys
