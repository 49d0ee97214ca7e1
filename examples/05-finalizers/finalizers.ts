// A Bucket stands for something outside the cluster. It carries a finalizer before that is made, so it cannot go before that
// is removed: not while this program is down either. Where removing fails, it is tried again, and the Bucket stays.
import { defineResource, silentLogger } from '@kapstan/api';
import { controller, run } from '@kapstan/controller';

const Bucket = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Bucket',
  spec: { type: 'object', properties: { region: { type: 'string' } }, required: ['region'] },
  status: { type: 'object', properties: { ready: { type: 'boolean' } } },
});

/** The world outside. Its removals fail the first time. */
const made = new Set<string>();
let failures = 1;

const buckets = controller(Bucket)
  .finalize('demo.dev/bucket', async ({ metadata }) => {
    if (failures-- > 0) {
      console.log(`cannot remove ${metadata?.name} yet`);
      throw new Error('not empty');
    }
    made.delete(metadata?.name ?? '');
    console.log(`removed ${metadata?.name}; left: ${made.size}`);
  })
  .reconcile(async ({ metadata, spec }, { status }) => {
    const name = metadata?.name ?? '';
    if (!made.has(name)) console.log(`made ${name} in ${spec.region}, held by ${metadata?.finalizers}`);
    made.add(name);
    await status({ ready: true });
  });

// It says itself what cannot be done yet.
await run(buckets, { installCrds: true, logger: silentLogger });
