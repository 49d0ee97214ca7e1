import type { ResourceClient } from '@kapstan/api';
import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { SecretCertificates } from './certificate-store.ts';

it('refuses a Secret with a certificate of somebody else, because writing would destroy it', async () => {
  const get = async () => ({ metadata: { resourceVersion: '1' }, data: { 'tls.crt': 'eA==', 'tls.key': 'eA==' } });
  const client = { get } as unknown as ResourceClient;
  const ports = { client, fieldManager: 'test', clock: new VirtualClock(), logger: silentLogger };
  const store = new SecretCertificates({ name: 'a', namespace: 'b' }, ports);
  await expect(store.read(new AbortController().signal)).rejects.toThrow(
    'the Secret b/a has a certificate that this program did not make',
  );
});
