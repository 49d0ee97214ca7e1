import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { type KubernetesObject, type Logger, resource, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClientConfig } from '../config/client-config.ts';
import { type TestAuthority, testAuthority } from '../testing/certificates.ts';
import { json, type RecordedRequest, ScriptedServer, stream } from '../testing/scripted-server.ts';
import { connectionTimers, currentWire } from '../testing/wire.ts';
import { WireClient as Client } from '../testing/wire-client.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };
const target = { name: 'a' };

describe('a rotated certificate', () => {
  let authority: TestAuthority;
  let directory: string;
  let server: ScriptedServer;
  let clock: VirtualClock;
  let client: Client;
  /** Names in the client certificates of received requests. */
  const senders: string[] = [];
  const logged: string[] = [];
  const logger: Logger = { ...silentLogger, error: (text) => void logged.push(text) };
  const note = ({ socket }: RecordedRequest): void => {
    senders.push(String((socket as TLSSocket).getPeerCertificate().subject.CN));
  };
  const path = (name: string): string => join(directory, name);
  const write = async (name: string): Promise<void> => {
    const { cert, key } = await authority.issue(name);
    await writeFile(path('crt'), cert);
    await writeFile(path('key'), key);
  };
  /** Starts a watch; returns its next event once it has begun. */
  const watch = async (): Promise<{ readonly next: Promise<unknown> }> => {
    const events = client.watchEvents(Node);
    await events.next();
    const next = events.next();
    next.catch(() => undefined);
    return { next };
  };
  const connect = (config: Partial<ClientConfig> = {}): Client => {
    const tls = { ca: authority.ca, certFile: path('crt'), keyFile: path('key') };
    return new Client({ server: server.url, tls, ...config }, { clock, logger });
  };
  beforeAll(async () => {
    authority = await testAuthority();
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-rotation-'));
    logged.length = 0;
    senders.length = 0;
    clock = new VirtualClock();
    const own = await authority.issue('server', ['127.0.0.1']);
    server = await ScriptedServer.start({ ...own, ca: authority.ca, requestCert: true, rejectUnauthorized: true });
    const event = `${JSON.stringify({ type: 'ADDED', object: node })}\n`;
    server.always((response, request) => {
      note(request);
      ('watch' in request.query ? stream(event) : json(node))(response, request);
    });
    await write('one');
    client = connect();
  });
  afterEach(async () => {
    await client.close();
    expect(clock.pendingTimers).toBe(0);
    await server[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  it('ends watches with the first request that notices, so that they are resumed with the new one', async () => {
    const { next } = await watch();
    const broken = expect(next).rejects.toMatchObject({
      name: 'TransportError',
      code: 'ECONNRESET',
      message: expect.stringContaining('the client certificate was replaced'),
    });
    await write('two');
    await client.get(Node, target);
    await clock.advance(60_000);
    await client.get(Node, target);
    await broken;
    await watch();
    expect(senders).toEqual(['one', 'one', 'two', 'two']);
  });

  it('ends watches within five minutes when there are no other requests', async () => {
    const { next } = await watch();
    const broken = expect(next).rejects.toMatchObject({ code: 'ECONNRESET' });
    await clock.advance(299_999);
    await write('two');
    await clock.advance(1);
    await broken;
    await watch();
    expect(senders).toEqual(['one', 'two']);
    // The files are checked again and found unchanged, so the watch continues.
    await clock.advance(300_000);
    await client.get(Node, target);
    const open = currentWire().http2 ? 1 : 2;
    expect(server.connections).toBe(open + 1);
    while (server.sockets.size > open) await new Promise(setImmediate);
    expect(server.sockets.size).toBe(open);
  });

  it('lets calls that are under way come to their end', async () => {
    let answer: (() => void) | undefined;
    server.next((response, request) => {
      note(request);
      answer = () => json(node)(response, request);
    });
    const slow = client.get(Node, target, { timeoutMs: 0 });
    while (answer === undefined) await new Promise(setImmediate);
    await write('two');
    await clock.advance(60_000);
    await client.get(Node, target);
    expect(senders).toEqual(['one', 'two']);
    answer();
    expect(await slow).toEqual(node);
  });

  it('of the authority leaves watches alone: whom they trust is settled', async () => {
    await writeFile(path('ca'), authority.ca);
    await client.close();
    client = connect({ tls: { caFile: path('ca'), certFile: path('crt'), keyFile: path('key') } });
    const { next } = await watch();
    let isOver = false;
    next.then(
      () => undefined,
      () => {
        isOver = true;
      },
    );
    await client.get(Node, target);
    const other = await testAuthority();
    await writeFile(path('ca'), `${authority.ca}\n${other.ca}\n`);
    await clock.advance(60_000);
    await client.get(Node, target);
    expect([server.connections, isOver]).toEqual([currentWire().http2 ? 2 : 3, false]);
  });

  it('that does not fit its key yet is not used, and looked at again a second later', async () => {
    await client.get(Node, target);
    const { cert, key } = await authority.issue('two');
    await writeFile(path('crt'), cert);
    await clock.advance(60_000);
    await client.get(Node, target);
    expect(logged).toEqual(['cannot use TLS files that have changed; the last ones stay in use']);
    await writeFile(path('key'), key);
    await client.get(Node, target);
    await clock.advance(1000);
    await client.get(Node, target);
    expect(senders).toEqual(['one', 'one', 'one', 'two']);
  });

  it.each([
    ['empty', ''],
    ['none at all', 'not a certificate'],
  ])('of the authority that is %s is not used', async (_, text) => {
    await writeFile(path('ca'), authority.ca);
    await client.close();
    client = connect({ tls: { caFile: path('ca'), certFile: path('crt'), keyFile: path('key') } });
    await client.get(Node, target);
    await writeFile(path('ca'), text);
    await clock.advance(60_000);
    await client.get(Node, target);
    expect([server.connections, logged.length]).toEqual([1, 1]);
  });

  it('is not looked for by a watch that was aborted while its files were read', async () => {
    await client.close();
    execFileSync('mkfifo', [path('ca')]);
    client = connect({ tls: { caFile: path('ca'), certFile: path('crt'), keyFile: path('key') } });
    const abort = new AbortController();
    const aborted = expect(client.watchEvents(Node, { signal: abort.signal }).next()).rejects.toThrow('enough');
    // Opening the pipe for writing blocks until it has a reader.
    const ca = await open(path('ca'), 'w');
    const call = client.get(Node, target);
    abort.abort(new Error('enough'));
    await aborted;
    await ca.writeFile(authority.ca);
    await ca.close();
    await call;
    expect([clock.pendingTimers, senders]).toEqual([connectionTimers(1), ['one']]);
  });

  it('from a plugin ends watches as well', async () => {
    await client.close();
    let certificate = await authority.issue('plugged-one');
    client = connect({
      tls: { ca: authority.ca },
      credentials: { headers: () => ({}), clientCertificate: () => certificate },
    });
    const { next } = await watch();
    const broken = expect(next).rejects.toMatchObject({ code: 'ECONNRESET' });
    certificate = await authority.issue('plugged-two');
    await client.get(Node, target);
    await broken;
    expect(senders).toEqual(['plugged-one', 'plugged-two']);
  });
});
