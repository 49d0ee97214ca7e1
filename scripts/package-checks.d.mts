// Types of package-checks.mjs for tests.
export function entryPointFaults(packed: {
  readonly name: string;
  readonly manifest: object;
  readonly archive: string;
}): Promise<readonly string[]>;
