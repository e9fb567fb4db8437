"""How kernels become machine code: compiled leanly, kept by content, counted while it happens."""
