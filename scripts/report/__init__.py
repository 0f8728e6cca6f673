"""The page of measurements, docs/benchmarks.md, and its pictures, made from what the benchmarks kept as JSON."""
