"""What `benchmarks.soak` and `benchmarks.crowd` share: a project at work, and what is checked."""
