// A Backup has defaults, rules that its schema cannot hold, and an older version. Three functions beside the controller implement this; the
// API server calls them over HTTPS. The program makes the certificates, tells the server of them, and renews them.
import { defineResource, silentLogger } from '@kapstan/api';
import { controller, run } from '@kapstan/controller';

const Backup = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Backup',
  spec: { type: 'object', properties: { hours: { type: 'integer' }, keep: { type: 'integer' } } },
});
const OldBackup = defineResource({
  group: 'demo.dev',
  version: 'v1beta1',
  kind: 'Backup',
  spec: { type: 'object', properties: { days: { type: 'number' }, keep: { type: 'integer' } } },
});

const backups = controller(Backup)
  .defaults(({ spec }) => {
    spec.hours ??= 24;
    spec.keep ??= 7;
  })
  .validates({
    create: ({ spec: { keep = 0 } }) =>
      keep > 0 ? [] : [{ path: 'spec.keep', value: keep, detail: 'must be at least 1' }],
    update: ({ spec: { keep = 0 } }, { old, warn }) => {
      if (keep < (old.spec.keep ?? 0)) warn('old backups will be deleted');
      return keep > 0 ? [] : [{ path: 'spec.keep', value: keep, detail: 'must be at least 1' }];
    },
    delete: ({ metadata }) =>
      metadata?.labels?.protected === 'yes' ? 'remove the label "protected" first' : undefined,
  })
  .converts({
    v1beta1: {
      resource: OldBackup,
      to: ({ spec: { days = 1, ...spec } }) => ({ spec: { ...spec, hours: Math.round(days * 24) } }),
      from: ({ spec: { hours = 24, ...spec } }) => ({ spec: { ...spec, days: hours / 24 } }),
    },
  })
  .reconcile(async ({ metadata, spec }) =>
    console.log(`${metadata.name}: every ${spec.hours} hours, keep ${spec.keep}`),
  );

// In a cluster: webhooks: { service: { name: 'backups', namespace: 'demo' } }, the Service before this program's port 9443.
const webhooks = { url: 'https://127.0.0.1', host: '127.0.0.1', port: 0, leaveMs: 0 };
// The server's answers are the news here, so the logger is silent.
await run(backups, { installCrds: true, webhooks, logger: silentLogger });
