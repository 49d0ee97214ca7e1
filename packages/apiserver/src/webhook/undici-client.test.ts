// Checks the file of undici that webhook-connection.ts imports: it exists, and it holds the class of undici's main entry point.
import { createRequire } from 'node:module';
import { Client as MainClient } from 'undici/index.js';
import Client from 'undici/lib/dispatcher/client.js';
import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const hint =
  'a new version of undici moved its files: mend webhook-connection.ts and undici-client.d.ts, then raise the range';

it('finds the client of undici, of which only patches may be installed', () => {
  const { version } = createRequire(import.meta.url)('undici/package.json') as { readonly version: string };
  const [major, minor] = version.split('.');
  expect(manifest.dependencies.undici, hint).toMatch(new RegExp(`^~${major}\\.${minor}\\.\\d+$`));
  expect(Client, hint).toBe(MainClient);
});
