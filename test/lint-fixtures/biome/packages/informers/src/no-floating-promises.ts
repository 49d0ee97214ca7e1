async function work(): Promise<number> {
  return 1;
}
export function start(): void {
  work();
}
