export function four(a: number, b: number, c: number, d: number): number {
  return a + b + c + d;
}
