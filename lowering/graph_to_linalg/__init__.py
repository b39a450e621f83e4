"""Graph dialect -> linalg on tensors, one file per operation family.

The canonical form that later passes rely on:

- element-wise: one `linalg.generic`, all loops parallel, identity result map; broadcasting drops
  loops from an operand's map, and reads dimensions of extent 1 at constant 0;
- reduction: `linalg.fill` with the neutral value, then a `linalg.generic` with one combining
  operation in its body, of the form ``op(element, accumulator)``;
- contraction: `linalg.fill` with 0, then a `linalg.generic` of `mul` and `add`; convolution and
  pooling read ``output * stride + kernel * dilation`` of a `tensor.pad`;
- data movement: `tensor.expand_shape`, `collapse_shape`, `extract_slice`, `pad`, `concat`, and
  copying generics whose body only yields (transposition, broadcast, reversal).
"""
