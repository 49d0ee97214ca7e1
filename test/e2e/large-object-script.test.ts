// Tests that Node does not end a program without sockets and timers while it waits for the thread that validates a large object.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { requireBuilt } from '../kapstan/built-packages.ts';

beforeAll(() => requireBuilt(['testing', 'kinds']));

const program = `
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';

const cluster = await testCluster({ http: 'off' });
const data = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => ['k' + index, 'v']));
const created = await cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'large' }, data });
console.log(created.metadata.name);
await cluster.close();
`;

it('a script without sockets creates an object that a thread validates, and ends', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const args = ['--input-type=module', '--eval', program];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'large\n', stderr: '' });
});
