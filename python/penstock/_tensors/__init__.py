"""Checkpoints: named tensors in safetensors files, from any sharding to any sharding."""
