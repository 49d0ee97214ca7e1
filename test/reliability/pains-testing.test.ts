// One test for each problem of testing controllers, and of the API servers started for it. docs/parity/pains.md has the
// list.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isNotFound } from '@kapstan/api';
import { LeakCheck } from '@kapstan/api/testing';
import { controllerReference } from '@kapstan/controller';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const namespace = 'default';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('what hurts in testing:', () => {
  let leaks: LeakCheck;
  beforeEach(() => {
    leaks = new LeakCheck();
  });
  afterEach(() => leaks.assertNone());

  it('nobody knows how to test: mocks do not fit, and what the documentation shows does not run', async () => {
    const readme = readFileSync(`${root}/packages/testing/README.md`, 'utf8');
    const program = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
    expect(program).toContain('testCluster()');
    const child = spawn(process.execPath, ['--input-type=module'], { cwd: root, stdio: ['pipe', 'inherit', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.stdin.end(program);
    expect([await once(child, 'exit'), said]).toEqual([[0, null], '']);
  });

  it('the server of the tests collects no garbage, and its namespaces never end', async () => {
    await using cluster = await testCluster({ http: 'off', controlPlane: { controlLoops: ['*'] } });
    const { client } = cluster;
    const owner = await client.create(ConfigMap, { metadata: { namespace, name: 'owner' } });
    const ownerReferences = [controllerReference(ConfigMap, owner)];
    await client.create(ConfigMap, { metadata: { namespace, name: 'child', ownerReferences } });
    await client.delete(ConfigMap, { namespace, name: 'owner' });
    await client.create(Namespace, { metadata: { name: 'passing' } });
    await client.create(ConfigMap, { metadata: { namespace: 'passing', name: 'a' } });
    await client.delete(Namespace, { name: 'passing' });
    await cluster.advance(120_000);
    for (const gone of [
      client.get(ConfigMap, { namespace, name: 'child' }),
      client.get(Namespace, { name: 'passing' }),
      client.get(ConfigMap, { namespace: 'passing', name: 'a' }),
    ])
      expect(isNotFound(await gone.catch((error: unknown) => error))).toBe(true);
  });

  it('a server takes seconds to start, and leaves processes, files and memory behind', async () => {
    const folders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('kapstan-test-cluster-'));
    const before = folders();
    const heldMebibytes = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed / 1_048_576;
    };
    const round = async (): Promise<void> => {
      const cluster = await testCluster({ http: 'off' });
      await cluster.client.create(ConfigMap, { metadata: { namespace, name: 'a' } });
      await cluster.close();
    };
    for (let rounds = 0; rounds < 5; rounds++) await round();
    const heldAtFirst = heldMebibytes();
    const startedAt = process.cpuUsage();
    const rounds = 40;
    for (let at = 0; at < rounds; at++) await round();
    const { user, system } = process.cpuUsage(startedAt);
    expect(heldMebibytes() - heldAtFirst).toBeLessThan(10);
    expect(folders().filter((name) => !before.includes(name))).toEqual([]);
    // CPU time in milliseconds, since others may use the processor too.
    expect((user + system) / 1000 / rounds).toBeLessThan(1500);
  });
});
