import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { resource } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import type { ClientOptions } from '../config/client-config.ts';
import { json, ScriptedServer } from '../testing/scripted-server.ts';

const Node = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const target = { name: 'a' };

describe('a client without a logger', () => {
  let server: ScriptedServer;
  let warnings: string[];
  const listen = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  beforeEach(async () => {
    const headers = { warning: '299 - "v1beta1 is deprecated", 299 - "unknown field \\"spec.x\\""' };
    server = (await ScriptedServer.start()).always(json({ kind: 'Node' }, { headers }));
    warnings = [];
    process.on('warning', listen);
  });
  afterEach(async () => {
    process.off('warning', listen);
    await server[Symbol.asyncDispose]();
  });
  const ask = async (options: ClientOptions): Promise<void> => {
    await using client = new Client({ server: server.url }, options);
    await client.get(Node, target);
    await client.get(Node, target);
    await settle();
  };

  it("makes the server's warnings warnings of the process, each text once", async () => {
    await ask({});
    expect(warnings).toEqual([
      'KapstanWarning: Warning: v1beta1 is deprecated',
      'KapstanWarning: Warning: unknown field "spec.x"',
    ]);
  });

  it('leaves them to onWarning where that is given', async () => {
    await ask({ onWarning: () => undefined });
    expect(warnings).toEqual([]);
  });

  it('says what goes wrong behind the calls, without a stack', async () => {
    server.always(json({ kind: 'Node' }));
    const directory = await mkdtemp(join(tmpdir(), 'kapstan-process-'));
    const tokenFile = join(directory, 'token');
    await writeFile(tokenFile, 'first');
    const clock = new VirtualClock();
    await using client = new Client({ server: server.url, tokenFile }, { clock });
    await client.get(Node, target);
    await rm(directory, { recursive: true });
    await clock.advance(60_000);
    await client.get(Node, target);
    await settle();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^KapstanWarning: cannot re-read the token file; .*error: "tokenFile: ENOENT[^\n]*$/);
  });
});
