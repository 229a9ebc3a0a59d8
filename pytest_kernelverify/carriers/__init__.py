"""Where memory lives and kernels are launched."""
