// Checks the files of undici that undici.ts names: they exist, match undici's public exports, and load as little as they should.

import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import * as parts from './undici.ts';

const require = createRequire(import.meta.url);
const hint = 'a new version of undici moved its files: mend undici.ts and undici-parts.d.ts, then raise the range';

describe('the parts of undici', () => {
  it('are found in the installed version, and only patches of it may be installed', () => {
    const { version } = require('undici/package.json') as { readonly version: string };
    const [major, minor] = version.split('.');
    expect(manifest.dependencies.undici, hint).toMatch(new RegExp(`^~${major}\\.${minor}\\.\\d+$`));
  });

  it('are the classes of the front door, so that a program can use both', async () => {
    const { Agent, Client, Pool, ProxyAgent, buildConnector } = await import('undici/index.js');
    expect({ ...parts }, hint).toEqual({ Agent, Client, Pool, ProxyAgent, buildConnector });
  });

  it('are the only way from this package to undici', async () => {
    const src = fileURLToPath(new URL('..', import.meta.url));
    const files = (await readdir(src, { recursive: true })).filter((file) => /(?<!\.test|\.d)\.ts$/.test(file));
    const importing = [];
    for (const file of files)
      if (
        /(?:^(?:import|export) (?!type\b)[^;]*?from |^import |\bimport\()'undici/m.test(
          await readFile(`${src}/${file}`, 'utf8'),
        )
      )
        importing.push(file);
    expect(importing).toEqual(['connection/undici.ts']);
  });
});

describe('a program with undici of its own', () => {
  const server = createServer((_request, response) => response.end('answer'));
  let origin: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  it('sends requests through a dispatcher of either', async () => {
    const { Agent, request } = await import('undici/index.js');
    const own = new Agent();
    const ours = new parts.Agent();
    const pool = new parts.Pool(origin);
    for (const dispatcher of [own, ours, pool]) {
      expect(await (await request(origin, { dispatcher })).body.text()).toBe('answer');
      expect(await (await dispatcher.request({ origin, path: '/', method: 'GET' })).body.text()).toBe('answer');
      await dispatcher.close();
    }
  });
});
