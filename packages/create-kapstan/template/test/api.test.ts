// Tests what the API refuses: by the schema and its rules, and by the webhooks. `install` is enough for that: no controller runs.
import assert from 'node:assert/strict';
import { isInvalid } from '@kapstan/api';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { test } from 'vitest';
import { Greeting } from '../src/api.ts';
import { greetingController } from '../src/controller.ts';

const metadata = { name: 'first', namespace: 'default' };

async function start(): Promise<TestCluster> {
  const cluster = await testCluster({ http: 'off' });
  await cluster.install(greetingController);
  return cluster;
}

/** Resolves to the message of the refusal. */
async function refusal(request: Promise<unknown>): Promise<string> {
  const error: unknown = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error && isInvalid(error), 'the request was not refused as invalid');
  return error.message;
}

test('a Greeting is from the user who creates it, and from nobody else', async () => {
  await using cluster = await start();
  const { client } = cluster;
  const made = await client.create(Greeting, { metadata, spec: { message: 'hello' } }, { dryRun: true });
  assert.notEqual(made.spec.from, undefined);
  const wrong = client.create(Greeting, { metadata, spec: { message: 'hello', from: 'somebody else' } });
  assert.match(await refusal(wrong), /spec\.from: .*must be your own name/);
});

test('a message is neither empty nor surrounded by spaces', async () => {
  await using cluster = await start();
  const { client } = cluster;
  assert.match(await refusal(client.create(Greeting, { metadata, spec: { message: '' } })), /spec\.message/);
  const spaces = client.create(Greeting, { metadata, spec: { message: ' hello ' } });
  assert.match(await refusal(spaces), /message must not begin or end with a space/);
});

test('the author stays the author', async () => {
  await using cluster = await start();
  const { client } = cluster;
  await client.create(Greeting, { metadata, spec: { message: 'hello' } });
  const change = { type: 'merge', body: { spec: { from: 'somebody else' } } } as const;
  assert.match(await refusal(client.patch(Greeting, metadata, change)), /from must not change/);
});
