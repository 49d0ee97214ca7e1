// A Bucket stands for a bucket outside the cluster. The object gets a finalizer before the real bucket is created, so it cannot disappear
// before the real bucket is removed, even while this program is down. A failed removal is retried, and the object stays meanwhile.
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

// The program itself prints work that cannot be done yet, so the logger is silent.
await run(buckets, { installCrds: true, logger: silentLogger });
