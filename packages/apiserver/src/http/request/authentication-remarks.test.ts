import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, expect, it } from 'vitest';
import { AuditBackends } from '../../audit/audit-backends.ts';
import type { AuthenticationRemarks } from '../../authn/authenticator.ts';
import { bearerAuthenticator } from '../../authn/token-authenticator.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';

const definitions = factDefinitions().filter(({ resource }) => resource === 'configmaps');
const configMaps = '/api/v1/namespaces/default/configmaps';
let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** Adds a remark on each token, and accepts valid ones. */
const tokens = {
  apiAudiences: [],
  authenticators: [
    {
      authenticateToken: (token: string, _audiences: readonly string[], remarks?: AuthenticationRemarks) => {
        remarks?.annotate?.('example.com/token', token);
        if (token !== 'good') return { type: 'refused', error: 'no' } as const;
        remarks?.warn('this token is old');
        return { type: 'accepted', user: { name: 'admin', groups: ['system:masters'] }, audiences: [] } as const;
      },
    },
  ],
};

it('what authenticators remark stands in the warnings of the answer and, from its first event on, in the audit log', async () => {
  const events: { stage: string; annotations?: Record<string, string> }[] = [];
  const append = async (line: Uint8Array) => void events.push(JSON.parse(Buffer.from(line).toString()));
  const backends = new AuditBackends({ log: { target: { append } } });
  const audit = { policy: { rules: [{ level: 'Metadata' }] } as const, backends };
  const authentication = { authenticators: [bearerAuthenticator(tokens)] };
  server = await startTestServer(openLmdbEngine, { definitions, audit, authentication });
  const good = await server.send('GET', configMaps, { headers: { authorization: 'Bearer good' } });
  expect([good.status, good.headers.warning]).toEqual([200, '299 - "this token is old"']);
  expect(events.map(({ annotations }) => annotations?.['example.com/token'])).toEqual(['good', 'good']);
  const bad = await server.send('GET', configMaps, { headers: { authorization: 'Bearer bad' } });
  expect([bad.status, bad.headers.warning]).toEqual([401, undefined]);
  expect(events.at(-1)?.annotations?.['example.com/token']).toBe('bad');
});
