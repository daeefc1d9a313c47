"""A Label Studio ML backend that reorders the task queue with Uncertainty Herding."""
