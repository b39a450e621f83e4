"""What a user gets wrong: a type checker must find every marked line, and no other."""

import mnc

program = mnc.compile("model.onnx", "single")  # error
mnc.compile(3)  # error
mnc.Options(precision="double")  # error
outputs = program.rum({})  # error
text: str = program.report.cycles  # error
mnc.compile("model.onnx", pipelines=None)  # error
print(mnc.Executabel)  # error
