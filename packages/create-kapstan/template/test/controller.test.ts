// Each test has a real API server in its process, with its own clock: nothing sleeps and nothing needs to be mocked. The controller runs
// with just the rights that `npm run generate` writes; if one is missing, the test fails with the line to add.
import assert from 'node:assert/strict';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { test } from 'vitest';
import { Greeting } from '../src/api.ts';
import { greetingController } from '../src/controller.ts';

const name = { name: 'first', namespace: 'default' };

async function start(): Promise<TestCluster> {
  const cluster = await testCluster({ as: 'controller' });
  const run = await cluster.run(greetingController, { installCrds: true });
  await run.whenReady();
  return cluster;
}

test('a Greeting gets a ConfigMap and a condition', async () => {
  await using cluster = await start();
  const { client } = cluster;
  await client.create(Greeting, { metadata: name, spec: { message: 'hello' } });
  await cluster.settle();
  const { spec, status } = await client.get(Greeting, name);
  assert.equal((await client.get(ConfigMap, name)).data?.text, `${spec.from}: hello`);
  assert.equal(status?.observedGeneration, 1);
  assert.deepEqual(
    status.conditions?.map(({ type, status }) => `${type}=${status}`),
    ['Ready=True'],
  );
});

test('a ConfigMap that somebody changes or deletes is put right', async () => {
  await using cluster = await start();
  const { client } = cluster;
  await client.create(Greeting, { metadata: name, spec: { message: 'hello' } });
  await cluster.settle();
  const { data } = await client.get(ConfigMap, name);
  await client.patch(ConfigMap, name, { type: 'merge', body: { data: { text: 'changed' } } });
  await cluster.settle();
  assert.deepEqual((await client.get(ConfigMap, name)).data, data);
  await client.delete(ConfigMap, name);
  await cluster.settle();
  assert.deepEqual((await client.get(ConfigMap, name)).data, data);
});
