import { resource, StatusError } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json, ScriptedServer } from '../testing/scripted-server.ts';
import { WireClient as Client } from '../testing/wire-client.ts';
import { withCallerStack } from './caller-stack.ts';

const Thing = resource({ group: 'demo.dev', version: 'v1', kind: 'Thing' });
const target = { namespace: 'n', name: 'a' };
const thing = { metadata: target };
const closedPort = 'http://127.0.0.1:1';

/** Nests at least as many clients around the client as a reconcile does. */
async function deep<R>(depth: number, call: () => Promise<R>): Promise<R> {
  return await (depth === 0 ? call() : deep(depth - 1, call));
}

/** The name of this function marks the line for which the test searches. */
async function theCallersLine(call: () => unknown): Promise<void> {
  await call();
}

async function stackOf(failing: Promise<unknown>): Promise<string> {
  const error: unknown = await failing.catch((thrown: unknown) => thrown);
  return (error as Error).stack ?? '';
}

describe('the stack of a call that fails', () => {
  let server: ScriptedServer;
  let client: Client;
  const limit = Error.stackTraceLimit;
  beforeEach(async () => {
    // Node's default; a test runner sets a higher one.
    Error.stackTraceLimit = 10;
    server = await ScriptedServer.start();
    server.always(
      json({ kind: 'Status', status: 'Failure', message: 'no', reason: 'Forbidden', code: 403 }, { status: 403 }),
    );
    client = new Client({ server: server.url });
  });
  afterEach(async () => {
    Error.stackTraceLimit = limit;
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  it.each<[string, (of: Client) => unknown]>([
    ['get', (of) => of.get(Thing, target)],
    ['create', (of) => of.create(Thing, thing)],
    ['update', (of) => of.update(Thing, thing)],
    ['patch', (of) => of.patch(Thing, target, { type: 'merge', body: {} })],
    ['apply', (of) => of.apply(Thing, thing, { fieldManager: 'm' })],
    ['delete', (of) => of.delete(Thing, target)],
    ['deleteCollection', (of) => of.deleteCollection(Thing, { namespace: 'n' })],
    ['a list that is awaited', (of) => of.list(Thing, { namespace: 'n' })],
    ['a list that is iterated', (of) => of.list(Thing, { namespace: 'n' })[Symbol.asyncIterator]().next()],
    ['watchEvents', (of) => of.watchEvents(Thing, { namespace: 'n' }).next()],
    ['podLog', (of) => of.podLog(target)],
    ['raw', (of) => of.raw({ path: '/x' })],
    ['12 clients around it', (of) => deep(12, () => of.create(Thing, thing))],
  ])('names the line that called, what the server refused and what did not reach it: %s', async (_verb, call) => {
    const unreachable = new Client({ server: closedPort });
    const refused = await stackOf(theCallersLine(() => call(client)));
    expect(refused).toMatch(/^StatusError: no\n/);
    expect(refused).toContain('theCallersLine');
    expect(await stackOf(theCallersLine(() => call(unreachable)))).toMatch(
      /^TransportError: [\s\S]*at .*theCallersLine/,
    );
    await unreachable.close();
    expect(await stackOf(theCallersLine(() => call(unreachable)))).toMatch(/is closed\n[\s\S]*at .*theCallersLine/);
  });

  it('names it for a call that took too long', async () => {
    server.always(() => undefined);
    const late = theCallersLine(() => client.get(Thing, target, { timeoutMs: 1 }));
    expect(await stackOf(late)).toMatch(/no answer within 1 ms\n[\s\S]*at .*theCallersLine/);
  });

  it('is left as it is where the caller gave the reason, or its own function threw', async () => {
    const reason = new StatusError({ code: 499, reason: '', message: 'mine' });
    const own = reason.stack;
    const aborted = client.get(Thing, target, { signal: AbortSignal.abort(reason) });
    await expect(aborted).rejects.toBe(reason);
    expect(reason.stack).toBe(own);
    const mine = new Error('mine');
    expect(withCallerStack(mine)).toBe(mine);
    expect(mine.stack).not.toContain('withCallerStack');
  });

  it('leaves the limit of the program as it was, and takes nothing where that is 0', async () => {
    Error.stackTraceLimit = 3;
    expect(await stackOf(theCallersLine(() => client.get(Thing, target)))).toContain('theCallersLine');
    expect(Error.stackTraceLimit).toBe(3);
    Error.stackTraceLimit = 0;
    expect(await stackOf(theCallersLine(() => client.get(Thing, target)))).toBe('StatusError: no');
  });
});
