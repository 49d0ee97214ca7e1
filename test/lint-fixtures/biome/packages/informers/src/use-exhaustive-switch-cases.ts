export type Shape = 'round' | 'flat';
export function sides(shape: Shape): number {
  switch (shape) {
    case 'round':
      return 0;
  }
  return 2;
}
