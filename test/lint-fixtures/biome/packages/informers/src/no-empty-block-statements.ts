export function quiet(run: () => void): void {
  try {
    run();
  } catch {}
}
