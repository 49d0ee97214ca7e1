// Types of package-checks.mjs for test/e2e/installed-packages.test.ts.
export function entryPointFaults(packed: {
  readonly name: string;
  readonly manifest: object;
  readonly archive: string;
}): Promise<readonly string[]>;
