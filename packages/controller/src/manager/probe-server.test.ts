import process from 'node:process';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { startProbeServer } from './probe-server.ts';

const name = 'KUBERNETES_SERVICE_HOST';
const before = process.env[name];
const set = (value: string | undefined): void => {
  if (value === undefined) Reflect.deleteProperty(process.env, name);
  else process.env[name] = value;
};
afterEach(() => set(before));

const pages = { healthz: {}, readyz: {}, metrics: new Registry(), isStopping: () => false };

describe('the server of probes and metrics listens at', () => {
  it.each([
    ['127.0.0.1 outside of a pod', undefined, undefined, /^127\.0\.0\.1$/],
    ['every address in a pod', '10.0.0.1', undefined, /^(::|0\.0\.0\.0)$/],
    ['the address that it is given', '10.0.0.1', '127.0.0.1', /^127\.0\.0\.1$/],
  ])('%s', async (_what, service, given, host) => {
    set(service);
    const options = { port: 0, ...(given === undefined ? {} : { host: given }) };
    const server = await startProbeServer(options, pages);
    await server.close();
    expect(server.host).toMatch(host);
  });
});

describe('/readyz', () => {
  it('is 503 from the stop on, while /healthz stays 200', async () => {
    let isStopping = false;
    const server = await startProbeServer({ port: 0 }, { ...pages, isStopping: () => isStopping });
    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
      return [answer.status, await answer.text()];
    };
    expect(await ask('/readyz')).toEqual([200, 'ok']);
    isStopping = true;
    expect(await ask('/readyz')).toEqual([503, '[-]shutdown failed: process is shutting down\nreadyz check failed\n']);
    expect(await ask('/healthz')).toEqual([200, 'ok']);
    await server.close();
  });
});
