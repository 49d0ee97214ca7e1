import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, silentLogger, systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createIssuer, type KeyPair } from '../certificates/index.ts';
import type { ServedCertificates } from './certificate-source.ts';
import { FileCertificates } from './file-certificates.ts';

let folder: string;
let changes: ServedCertificates[];
let warnings: string[];
const stop = new AbortController();
const clock = new VirtualClock({ startMs: systemClock.now() });
const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-webhook-files-'));
  changes = [];
  warnings = [];
});
afterEach(() => rm(folder, { recursive: true }));

async function make(): Promise<KeyPair & { readonly ca: string }> {
  const nowMs = systemClock.now();
  const issuer = await createIssuer(undefined, { nowMs, lifetimeMs: 3_600_000 });
  const pair = await issuer.issue({ commonName: 'x', hosts: ['x'], usage: 'server', nowMs, lifetimeMs: 3_600_000 });
  return { ...pair, ca: issuer.authority.cert };
}

const file = (name: string): string => join(folder, name);
async function write({ cert, key, ca }: Awaited<ReturnType<typeof make>>): Promise<void> {
  await Promise.all([writeFile(file('tls.crt'), cert), writeFile(file('tls.key'), key), writeFile(file('ca.crt'), ca)]);
}
const source = (): FileCertificates =>
  new FileCertificates(
    { certFile: file('tls.crt'), keyFile: file('tls.key'), caFile: file('ca.crt') },
    { clock, logger },
  );
const events = { onChange: (change: ServedCertificates) => void changes.push(change), isTrusted: () => true };

it('reads changed files, and keeps the last certificate that can be used', async () => {
  const [first, second] = [await make(), await make()];
  await write(first);
  const files = source();
  await files.start(events, stop.signal);
  expect(changes).toEqual([{ serving: { cert: first.cert, key: first.key }, bundle: first.ca }]);
  await writeFile(file('tls.crt'), second.cert);
  await expect(files.refresh()).rejects.toThrow('the private key does not match the certificate');
  expect(changes).toHaveLength(1);
  await write(second);
  await files.refresh();
  expect(changes.at(-1)).toEqual({ serving: { cert: second.cert, key: second.key }, bundle: second.ca });
  await files.refresh();
  expect(changes).toHaveLength(2);
  stop.abort();
  await files.ended();
});

it('does not start without files that can be used', async () => {
  await expect(source().start(events, new AbortController().signal)).rejects.toThrow('ENOENT');
});
