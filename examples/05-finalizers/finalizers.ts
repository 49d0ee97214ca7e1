// A Bucket stands for something outside the cluster. It gets a finalizer before that is created, so the Bucket cannot go before that
// is removed, even while this program is down. When removing fails, it is retried, and the Bucket stays.
import { defineResource, silentLogger } from '@kapstan/api';
import { controller, run } from '@kapstan/controller';

const Bucket = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Bucket',
  spec: { type: 'object', properties: { region: { type: 'string' } }, required: ['region'] },
  status: { type: 'object', properties: { ready: { type: 'boolean' } } },
});

/** The world outside. The first removal fails. */
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

// The program itself prints what cannot be done yet, so the logger is silent.
await run(buckets, { installCrds: true, logger: silentLogger });
