// What the release command refuses, and the workflow that runs it. installed-packages.test.ts checks what is packed.
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Job {
  readonly needs?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly run?: string }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Runs the command as on a machine without the identity of a workflow: in the workflow itself, these tests must not publish. */
function release(...flags: string[]) {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: _identity, ...env } = process.env;
  const args = [join(root, 'scripts/release.mjs'), ...flags];
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
}

describe('npm run release', () => {
  it('refuses to publish from a machine that cannot prove where the packages come from', () => {
    const { status, stderr } = release();
    expect(status).toBe(1);
    expect(stderr).toContain('provenance needs a workflow with the permission id-token: write');
  });

  it('refuses flags that it does not know', () => {
    const { status, stderr } = release('--dryrun');
    expect(status).toBe(1);
    expect(stderr).toContain('use one of --dry-run, --version, or none; not --dryrun');
  });

  it('is run by a workflow whose last job alone may make a statement of provenance', async () => {
    const workflow = parse(await readFile(join(root, '.github/workflows/release.yml'), 'utf8')) as {
      readonly permissions: Readonly<Record<string, string>>;
      readonly jobs: Readonly<Record<'test' | 'publish', Job>>;
    };
    const { test, publish } = workflow.jobs;
    expect(workflow.permissions).toEqual({});
    expect(test.permissions).toEqual({ contents: 'read' });
    expect(publish).toMatchObject({ needs: 'test', permissions: { contents: 'read', 'id-token': 'write' } });
    expect(publish.steps.map(({ run }) => run)).toContain('npm run release');
    expect(publish.steps.map(({ run }) => run)).not.toContain('npm test');
  });
});
