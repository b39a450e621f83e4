func.func @f() {
  nosuch.operation
  return
}
