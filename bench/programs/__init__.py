"""Programs of pytorch/examples, unmodified: where they come from, their data, their environments, their command lines."""
