"""For verl-agent: environment managers with its interface, and its credit functions computed by the core."""
