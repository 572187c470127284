"""The samples: dense, sparse, on a device or stored in parts. Only this part knows which."""
