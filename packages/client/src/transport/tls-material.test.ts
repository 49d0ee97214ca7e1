import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../connect.ts';
import type { TlsConfig } from '../connection/tls-config.ts';
import { anonymous } from '../credentials/credentials.ts';
import { testAuthority } from '../testing/certificates.ts';
import { TlsMaterial } from './tls-material.ts';

describe('the first read of certificates', () => {
  let directory: string;
  let texts: { readonly ca: string; readonly cert: string; readonly key: string; readonly otherKey: string };
  beforeAll(async () => {
    const authority = await testAuthority();
    const other = await authority.issue('other');
    texts = { ca: authority.ca, ...(await authority.issue('one')), otherKey: other.key };
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-material-'));
  });
  afterEach(() => rm(directory, { recursive: true }));
  const material = (tls: TlsConfig): TlsMaterial =>
    new TlsMaterial({ tls, credentials: anonymous, clock: new VirtualClock(), logger: silentLogger });

  it.each<[string, (good: typeof texts) => TlsConfig, string]>([
    ['an authority that is none', () => ({ ca: 'none' }), 'unable to load root certificates: '],
    [
      'a certificate that is none',
      ({ key }) => ({ cert: 'none', key }),
      'unable to load the client certificate and its key: ',
    ],
    [
      'a key that is none',
      ({ cert }) => ({ cert, key: 'none' }),
      'unable to load the client certificate and its key: ',
    ],
    [
      'the key of another',
      ({ cert, otherKey }) => ({ cert, key: otherKey }),
      'unable to load the client certificate and its key: ',
    ],
  ])('refuses %s, so that connect() tells', async (_, tlsOf, message) => {
    const tls = tlsOf(texts);
    await expect(material(tls).load()).rejects.toThrow(TypeError);
    const connecting = connect({ config: { server: 'https://127.0.0.1:1', tls } });
    await expect(connecting).rejects.toThrow(message);
  });

  it('reports the first missing file, in the order authority, certificate, key', async () => {
    const files = { caFile: join(directory, 'ca'), certFile: join(directory, 'cert'), keyFile: join(directory, 'key') };
    const read = material(files);
    const written = [texts.ca, texts.cert, texts.key];
    for (const [index, path] of Object.values(files).entries()) {
      // The test makes many attempts, because a race might give the right result now and then.
      for (let attempt = 0; attempt < 20; attempt++)
        await expect(read.load()).rejects.toMatchObject({ code: 'ENOENT', path });
      await writeFile(path, written[index] ?? '');
    }
    expect(await read.load()).toEqual({ ca: texts.ca, cert: texts.cert, key: texts.key });
  });

  it('is made again by the next call after it has failed, without a wait', async () => {
    const caFile = join(directory, 'ca');
    const read = material({ caFile });
    await writeFile(caFile, 'half');
    await expect(read.load()).rejects.toThrow(`unable to load root certificates of ${caFile}: `);
    await writeFile(caFile, texts.ca);
    expect(await read.load()).toMatchObject({ ca: texts.ca });
  });
});
