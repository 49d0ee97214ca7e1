export const now = (): number => Date.now();
export const later = (run: () => void): unknown => setTimeout(run, 1);
