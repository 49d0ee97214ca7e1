import type { RequestListener } from 'node:http';
import { Socket } from 'node:net';
import { systemClock } from '@kapstan/api';
import { afterEach, describe, expect, it } from 'vitest';
import type { Destination } from '../../registry/definition/destination.ts';
import { type KubeletStandIn, startKubelet } from '../../testing/kubelet-stand-in.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import { refusal } from '../../testing/store-fixture.ts';
import { bytesFrom } from './tunnel-bytes.ts';
import { TunnelTransport, type TunnelTransportOptions } from './tunnel-transport.ts';

let kubelet: KubeletStandIn | undefined;
afterEach(async () => {
  await kubelet?.close();
  kubelet = undefined;
});

interface Asked {
  readonly answer?: RequestListener;
  readonly options?: Partial<TunnelTransportOptions>;
  readonly changes?: Partial<Destination>;
}

const certificate = await selfSigned('CN=kubelet');

async function ask({ answer, options = {}, changes = {} }: Asked): Promise<string> {
  kubelet ??= await startKubelet({ tls: certificate, answer });
  const place = { scheme: 'https', host: '127.0.0.1', port: kubelet.port, path: '/logs', query: 'a=1' } as const;
  const response = await bytesFrom(
    { ...place, peer: 'kubelet', ...changes },
    {
      transport: new TunnelTransport({ ...options, clock: systemClock }),
      signal: new AbortController().signal,
      resource: 'pods/log',
      name: 'p',
    },
  );
  const pieces: Uint8Array[] = [];
  for await (const piece of response as AsyncIterable<Uint8Array>) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

describe('bytes of a kubelet', () => {
  it('are asked for with the certificate of this server, whoever the kubelet is', async () => {
    const { cert: clientCert, key: clientKey } = await selfSigned('CN=server');
    expect(await ask({ options: { clientCert, clientKey } })).toBe('logs');
    expect(kubelet?.seen).toMatchObject([{ method: 'GET', url: '/logs?a=1', clientName: 'server' }]);
    await kubelet?.idle();
    await ask({ options: { clientCert, clientKey }, changes: { peer: 'anyone' } });
    expect(kubelet?.seen.at(-1)).toMatchObject({ clientName: undefined });
  });

  it('come from a kubelet that the authority knows, or from any where that is asked for', async () => {
    expect(await ask({ options: { ca: certificate.cert } })).toBe('logs');
    const { cert: ca } = await selfSigned('CN=other');
    await expect(ask({ options: { ca } })).rejects.toThrow(
      'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    );
    expect(await ask({ options: { ca }, changes: { peer: 'unverified-kubelet' } })).toBe('logs');
    await expect(ask({ options: { ca: certificate.cert }, changes: { host: 'localhost' } })).rejects.toThrow(
      'x509: certificate is not valid for any names, but wanted to match localhost',
    );
    await kubelet?.idle();
  });

  it.each<[string, Partial<Destination>, RegExp]>([
    [
      'nobody',
      { port: 1 },
      /^Get "https:\/\/127\.0\.0\.1:1\/logs\?a=1": dial tcp 127\.0\.0\.1:1: connect: connection refused$/,
    ],
    ['a name that nobody has', { host: 'nowhere.invalid' }, /dial tcp: lookup nowhere\.invalid: no such host$/],
  ])('cannot come from %s', async (_name, changes, message) => {
    await expect(ask({ changes })).rejects.toThrow(message);
  });

  it('do not come from who speaks no TLS, or hangs up, or never answers', async () => {
    const plain = await startKubelet({ answer: (request) => void request.socket.destroy() });
    await expect(ask({ changes: { port: plain.port } })).rejects.toThrow(
      'tls: first record does not look like a TLS handshake',
    );
    await expect(ask({ changes: { port: plain.port, scheme: 'http' } })).rejects.toThrow(/: EOF$/);
    const options = { timeoutMs: 20, dial: () => new Socket() };
    await expect(ask({ options, changes: { host: '::1', port: 7 } })).rejects.toThrow(
      'Get "https://[::1]:7/logs?a=1": dial tcp [::1]:7: i/o timeout',
    );
    await plain.close();
  });

  // Recorded from a kube-apiserver.
  it.each([
    [400, 'bad', { code: 400, reason: 'BadRequest', message: 'bad' }],
    [
      404,
      'no',
      {
        code: 404,
        reason: 'NotFound',
        message: 'the server could not find the requested resource ( pods/log p)',
        details: { name: 'p', kind: 'pods/log' },
      },
    ],
    [403, 'not you', { code: 403, reason: 'Forbidden', message: 'not you ( pods/log p)' }],
    [
      418,
      'tea',
      {
        code: 418,
        message: 'the server responded with the status code 418 but did not return more information ( pods/log p)',
      },
    ],
    [
      500,
      'broken',
      {
        code: 500,
        reason: 'InternalError',
        message: 'Internal error occurred: broken',
        details: { causes: [{ message: 'broken' }] },
      },
    ],
    [
      503,
      'later',
      {
        code: 503,
        reason: 'ServiceUnavailable',
        message: 'the server is currently unable to handle the request ( pods/log p)',
      },
    ],
    [
      502,
      'oh',
      {
        code: 502,
        reason: 'InternalError',
        message: 'an error on the server ("oh") has prevented the request from succeeding ( pods/log p)',
      },
    ],
  ])('that are refused with %i are refused as kube-apiserver does', async (code, text, status) => {
    const answer: RequestListener = (_request, response) => void response.writeHead(code).end(text);
    expect((await refusal(ask({ answer }))).status).toMatchObject(status);
    await kubelet?.idle();
  });

  it('that are refused at length are refused with the first 50,000', async () => {
    const answer: RequestListener = (_request, response) => void response.writeHead(400).end('a'.repeat(60_000));
    expect((await refusal(ask({ answer }))).message).toBe('a'.repeat(50_000));
    await kubelet?.idle();
  });

  it('are not looked for elsewhere', async () => {
    const answer: RequestListener = (_request, response) =>
      void response.writeHead(302, { Location: '/elsewhere?x=1' }).end();
    await expect(ask({ answer })).rejects.toThrow('Get "/elsewhere?x=1": redirects forbidden');
    await kubelet?.idle();
  });
});
