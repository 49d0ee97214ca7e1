import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { selfSigned } from '../testing/self-signed.ts';
import { CallStop } from './call-stop.ts';
import { WebhookConnections } from './webhook-connections.ts';

it('a call that is stopped after its answer does not break the connection, which may be that of another call', async () => {
  const own = await selfSigned('CN=hook');
  let asked = 0;
  const server = createServer(own, (_request, response) => {
    asked++;
    // The first call is stopped while the second one waits for its answer.
    if (asked > 1) first.stop(new Error('over'));
    setTimeout(() => response.end('{}'), asked > 1 ? 50 : 0);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connections = new WebhookConnections({ trust: { caBundle: own.cert, trustsAnyone: true }, maxConnections: 1 });
  const place = { hostname: '127.0.0.1', port: (server.address() as AddressInfo).port, servername: '' };
  const request = {
    method: 'GET',
    path: '/',
    headers: { host: 'hook' },
    body: null,
    maxAnswerBytes: 10,
    tooLarge: () => new Error('too large'),
  } as const;
  const first = new CallStop();
  const answers = [connections.send(place, request, first), connections.send(place, request, new CallStop())];
  expect((await Promise.all(answers)).map(({ body }) => body.toString())).toEqual(['{}', '{}']);
  expect(asked).toBe(2);
  connections.end();
  server.close();
});
