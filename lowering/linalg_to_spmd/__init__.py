"""linalg on tensors -> one program for all PEs: `assign-layouts` decides where everything is, `distribute` rewrites."""
