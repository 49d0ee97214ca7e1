import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensurePki } from './certificates.ts';

const dayMs = 86_400_000;

describe('ensurePki', () => {
  let directory: string;
  beforeEach(async () => {
    directory = join(await mkdtemp(join(tmpdir(), 'kapstan-pki-')), 'pki');
  });
  afterEach(() => rm(join(directory, '..'), { recursive: true }));

  const at = (offsetMs: number) => ({ ...systemClock, now: () => systemClock.now() + offsetMs });

  it('makes an authority, a serving certificate for the hosts and an admin in system:masters', async () => {
    const pki = await ensurePki({ directory, hosts: ['10.1.2.3', 'api.example'], clock: systemClock });
    const ca = new X509Certificate(pki.caCert);
    const serving = new X509Certificate(pki.serving.cert);
    const admin = new X509Certificate(pki.admin.cert);
    expect(ca.ca).toBe(true);
    expect(serving.verify(ca.publicKey)).toBe(true);
    expect(serving.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(serving.checkIP('10.1.2.3')).toBe('10.1.2.3');
    expect(serving.checkHost('api.example')).toBe('api.example');
    expect(admin.verify(ca.publicKey)).toBe(true);
    expect(admin.subject.split('\n').sort()).toEqual(['CN=kubernetes-admin', 'O=system:masters']);
  });

  it('keeps what it made, in files that only the owner may read', async () => {
    const first = await ensurePki({ directory, hosts: [], clock: systemClock });
    expect(await ensurePki({ directory, hosts: [], clock: systemClock })).toEqual(first);
    const files = await readdir(directory);
    const names = ['admin', 'apiserver', 'ca', 'front-proxy-ca', 'front-proxy-client'];
    expect(files.sort()).toEqual(names.flatMap((name) => [`${name}.crt`, `${name}.key`]));
    for (const file of files) expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
  });

  it('reissues only the serving certificate when a host is new', async () => {
    const first = await ensurePki({ directory, hosts: [], clock: systemClock });
    const second = await ensurePki({ directory, hosts: ['10.9.9.9'], clock: systemClock });
    expect(second.caCert).toBe(first.caCert);
    expect(second.admin).toEqual(first.admin);
    expect(new X509Certificate(second.serving.cert).checkIP('10.9.9.9')).toBe('10.9.9.9');
  });

  it('issues a leaf anew whose key and certificate do not belong together, as after a kill between two writes', async () => {
    const first = await ensurePki({ directory, hosts: [], clock: systemClock });
    await writeFile(join(directory, 'apiserver.key'), first.admin.key);
    await writeFile(join(directory, 'admin.crt'), 'half a cert');
    const second = await ensurePki({ directory, hosts: [], clock: systemClock });
    expect(second.caCert).toBe(first.caCert);
    for (const { cert, key } of [second.serving, second.admin]) {
      expect(new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))).toBe(true);
    }
  });

  it('refuses a broken authority and names its file rather than making another one', async () => {
    const { admin } = await ensurePki({ directory, hosts: [], clock: systemClock });
    const refused = (): Promise<unknown> => ensurePki({ directory, hosts: [], clock: systemClock });
    await writeFile(join(directory, 'ca.key'), admin.key);
    await expect(refused()).rejects.toThrow(`${directory}/ca.key: the private key does not match the certificate`);
    await writeFile(join(directory, 'ca.crt'), 'x');
    await expect(refused()).rejects.toThrow(`${directory}/ca.crt: `);
    expect(await readFile(join(directory, 'ca.crt'), 'utf8')).toBe('x');
  });

  it('renews the leaves 30 days before they run out and keeps the authority', async () => {
    const first = await ensurePki({ directory, hosts: [], clock: systemClock });
    const second = await ensurePki({ directory, hosts: [], clock: at(336 * dayMs) });
    expect(second.caCert).toBe(first.caCert);
    expect(second.serving.cert).not.toBe(first.serving.cert);
    expect(second.admin.cert).not.toBe(first.admin.cert);
  });
});
