// Tests access to /statusz and /flagz: the bootstrap policy decides.
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane } from './options/control-plane-options.ts';

let directory: string;
let plane: ControlPlane;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kapstan-pages-'));
  const text = 'monitor,monitor,1,"system:monitoring"\nanybody,anybody,2\n';
  plane = await startControlPlane({
    dataDir: directory,
    tokens: { text, fileName: 'tokens.csv' },
    flags: new Map([['v', '0']]),
  });
});
afterAll(async () => {
  await plane.close();
  rmSync(directory, { recursive: true });
});

function codeOf(path: string, token: string): Promise<number> {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    get(`${plane.url}${path}`, { ca: plane.caCert, headers, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    }).on('error', reject);
  });
}

describe.each(['/statusz', '/flagz'])('%s', (path) => {
  it.each([
    ['monitor', 200],
    ['anybody', 403],
    ['', 403],
  ])('answers the token %j with %i', async (token, code) => {
    expect(await codeOf(path, token)).toBe(code);
  });

  it('is for administrators too', async () => {
    expect(await codeOf(path, plane.token)).toBe(200);
  });
});
