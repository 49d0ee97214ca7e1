// The controller of the README, in process and over HTTPS.
import { run } from '@kapstan/controller';
import { shouter } from '@kapstan/example-first-controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { filter, firstValueFrom } from 'rxjs';
import { expect, it } from 'vitest';

it.each(['in process', 'over HTTPS'] as const)('shouts back what a ConfigMap says, %s', async (way) => {
  const cluster = await testCluster({ clock: 'real', http: way === 'in process' ? 'off' : 'on' });
  const client = way === 'in process' ? cluster.client : await cluster.connect();
  const stop = new AbortController();
  const running = run(shouter, { client, signal: stop.signal });
  await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'quiet' }, data: { text: 'hello' } });
  const answered = client
    .listerWatcher(ConfigMap)
    .watch({})
    .pipe(filter((event) => event.type !== 'BOOKMARK' && event.object.data?.shouted === 'HELLO'));
  await expect(firstValueFrom(answered)).resolves.toBeDefined();
  stop.abort();
  await running;
  await cluster.close();
});
