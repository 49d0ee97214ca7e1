export function nested(list: readonly number[]): number {
  let n = 0;
  for (const a of list) {
    if (a > 0) {
      for (const b of list) {
        if (b > 0) {
          for (const c of list) {
            if (c > 0) {
              n += 1;
            }
          }
        }
      }
    }
  }
  return n;
}
