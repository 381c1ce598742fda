"""What watching a training loop costs per step: pitstop's probe, traceml-ai, torch.profiler, and nothing, interleaved."""
