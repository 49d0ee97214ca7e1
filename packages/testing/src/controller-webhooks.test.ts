// The webhooks of controllers as functions of a test cluster: no HTTP, no certificates.
import { isStatusError, type StatusError } from '@kapstan/api';
import { Manager } from '@kapstan/controller';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { Echo, echoBuilder, echoController, OldEcho, OldestEcho } from './testing/echo-controller.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await testCluster({ http: 'off' });
});
afterEach(() => cluster.close());

const target = (name: string): { name: string; namespace: string } => ({ name, namespace: 'default' });

async function refusal(call: Promise<unknown>): Promise<StatusError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isStatusError(error)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

it('sets defaults and validates, each operation by its own function', async () => {
  await cluster.install(echoController());
  const { client } = cluster;
  const made = await client.create(Echo, { metadata: target('a'), spec: { text: 'hi', tags: ['b', 'a'] } });
  expect(made.spec).toEqual({ text: 'hi', copies: 1, tags: ['a', 'b'] });
  const invalid = await refusal(client.create(Echo, { metadata: target('b'), spec: {} }));
  expect(invalid.message).toBe(
    'admission webhook "validates.echos.demo.dev" denied the request: Echo.demo.dev "b" is invalid: spec.text: Required value',
  );
  expect(invalid.status).toMatchObject({
    code: 422,
    reason: 'Invalid',
    details: {
      name: 'b',
      group: 'demo.dev',
      kind: 'Echo',
      causes: [{ reason: 'FieldValueRequired', field: 'spec.text' }],
    },
  });
  const rude = await refusal(client.create(Echo, { metadata: target('b'), spec: { text: 'rude' } }));
  expect([rude.code, rude.reason, rude.message]).toEqual([
    403,
    'Forbidden',
    'admission webhook "validates.echos.demo.dev" denied the request: be polite',
  ]);
  expect((await refusal(client.create(Echo, { metadata: target('b'), spec: { text: 'conflict' } }))).code).toBe(409);
  const broken = await refusal(client.create(Echo, { metadata: target('b'), spec: { text: 'broken' } }));
  expect([broken.code, broken.message]).toEqual([
    500,
    'Internal error occurred: failed calling webhook "validates.echos.demo.dev": failed to call webhook: a bug',
  ]);
  const changed = await refusal(client.update(Echo, { ...made, spec: { ...made.spec, text: 'ho' } }));
  expect(changed.message).toContain('spec.text: Invalid value: "ho": field is immutable');
  const kept = await client.update(Echo, { ...made, metadata: { ...made.metadata, labels: { kept: '' } } });
  expect((await refusal(client.delete(Echo, target('a')))).message).toContain('it is kept');
  await client.update(Echo, { ...kept, metadata: { ...kept.metadata, labels: {} } });
  await client.delete(Echo, target('a'));
});

it('converts between all versions through the stored one', async () => {
  await cluster.install(echoController());
  const { client } = cluster;
  await client.create(OldEcho, { metadata: { ...target('a'), labels: { a: 'b' } }, spec: { message: 'hi there' } });
  const hub = await client.get(Echo, target('a'));
  expect(hub.spec).toEqual({ text: 'hi there', copies: 1 });
  expect((await client.get(OldEcho, target('a'))).spec).toEqual({ message: 'hi there', copies: 1 });
  const oldest = await client.get(OldestEcho, target('a'));
  expect(oldest).toMatchObject({
    apiVersion: 'demo.dev/v1alpha1',
    metadata: { labels: { a: 'b' } },
    spec: { words: ['hi', 'there'] },
  });
  expect(oldest.metadata?.uid).toBe(hub.metadata?.uid);
  const listed = await client.list(OldestEcho, { namespace: 'default' });
  expect(listed.map(({ spec }) => spec.words)).toEqual([['hi', 'there']]);
});

it('takes conversions for definitions that are served already, and takes them away again', async () => {
  const first = await cluster.install(echoController());
  await cluster.client.create(Echo, { metadata: target('a'), spec: { text: 'x' } });
  first.remove();
  await cluster.settle();
  expect((await cluster.client.get(OldEcho, target('a'))).spec).not.toHaveProperty('message');
  await cluster.install(echoController());
  await cluster.settle();
  expect((await cluster.client.get(OldEcho, target('a'))).spec).toEqual({ message: 'x', copies: 1 });
});

it('registers with a manager on the client of the cluster, until the manager ends', async () => {
  const stop = new AbortController();
  const manager = new Manager([echoController()], { client: cluster.client, clock: cluster.clock, installCrds: true });
  const run = manager.run(stop.signal);
  await manager.whenReady();
  expect((await cluster.client.create(Echo, { metadata: target('a'), spec: { text: 'x' } })).spec.copies).toBe(1);
  stop.abort();
  await run;
  expect((await cluster.client.create(Echo, { metadata: target('b'), spec: {} })).spec).toEqual({});
});

it('has match conditions, selectors, subresources, dry runs and failure policies like webhooks', async () => {
  const seen: string[] = [];
  const builder = echoBuilder()
    .validates((_, { operation, isDryRun }) => void seen.push(`status ${operation} ${isDryRun}`), {
      subresource: 'status',
      operations: ['UPDATE'],
    })
    .validates((_, { user }) => void seen.push(`plain ${user.username}`), {
      name: 'plain.echos.demo.dev',
      matchConditions: [{ name: 'named', expression: 'object.metadata.name != "hidden"' }],
      objectSelector: { matchLabels: { seen: 'yes' } },
    })
    .validates(
      () => {
        throw new Error('away');
      },
      { name: 'weak.echos.demo.dev', failurePolicy: 'Ignore' },
    );
  await cluster.install(builder.reconcile(async () => undefined));
  const create = (name: string, labels: Record<string, string> = {}, dryRun = false) =>
    cluster.client.create(Echo, { metadata: { ...target(name), labels }, spec: { text: 'x' } }, { dryRun });
  const made = await create('a');
  expect(seen).toEqual([]);
  await create('b', { seen: 'yes' }, true);
  await create('hidden', { seen: 'yes' });
  await cluster.client.update(Echo, { ...made, status: { ready: 1 } }, { subresource: 'status' });
  expect(seen).toEqual(
    [`plain kubernetes-admin`, 'status UPDATE false'].map((each) =>
      each.replace('kubernetes-admin', seen[0]?.slice(6) ?? ''),
    ),
  );
  expect(seen[0]).toMatch(/^plain \S+/);
});
