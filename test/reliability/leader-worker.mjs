// A process of leader-election.test.ts, one of several that want to work. While it leads, it writes its name into
// ConfigMaps as fast as it can, through the reconcile's client. It prints a line for each event.
import { writeFileSync } from 'node:fs';
import { resource } from '@kapstan/api';
import { controller, run } from '@kapstan/controller';

const [kubeconfig, identity] = process.argv.slice(2);
const say = (line) => writeFileSync(1, `${line}\n`);
const ConfigMap = resource({ group: '', version: 'v1', kind: 'ConfigMap' });
let count = 0;

const work = controller(ConfigMap, { name: identity })
  .when(({ object }) => object?.metadata?.labels?.work === 'yes')
  .settings({ workers: 4, rateLimiter: { when: () => 0, forget: () => undefined, numRequeues: () => 0 } })
  .reconcile(async ({ metadata }, { client, signal }) => {
    const target = { namespace: metadata.namespace, name: metadata.name };
    // Several writes in a row that ignore the signal, so the client must refuse them.
    for (let i = 0; i < 50; i++) {
      await client.get(ConfigMap, target);
      await client.patch(ConfigMap, target, {
        type: 'merge',
        body: { data: { by: identity, count: String(++count) } },
      });
    }
    if (signal.aborted) say('aborted');
  });

try {
  const logger = {
    debug: () => undefined,
    info: (message) => say(message),
    warn: (message) => say(message),
    error: (message) => say(message),
  };
  await run(work, { kubeconfig, leaderElection: { name: 'work', namespace: 'default', identity }, logger });
  say('ended');
} catch (error) {
  say(`failed: ${error.name}`);
  process.exitCode = 1;
}
