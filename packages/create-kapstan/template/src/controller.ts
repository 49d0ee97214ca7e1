// The controller: every Greeting gets a ConfigMap with its text, and reports it in its status.
import { setCondition } from '@kapstan/api';
import { type Controller, controller } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { Greeting } from './api.ts';

export const greetingController: Controller = controller(Greeting)
  .owns(ConfigMap) // a change of the ConfigMap runs the reconcile of its owner
  // Two webhooks. A schema cannot do this, because it does not know the user.
  .defaults(({ spec }, { operation, user }) => {
    if (operation === 'CREATE') spec.from ??= user.username ?? '';
  })
  .validates({
    create: ({ spec }, { user }) =>
      spec.from === user.username
        ? []
        : [{ path: 'spec.from', value: spec.from, detail: `must be your own name, ${user.username}` }],
  })
  // Runs after each change, and again with a growing delay when it rejects. It may run at any time, so it describes the desired state and
  // not what has changed.
  .reconcile(async ({ metadata, spec, status: before }, { apply, status }) => {
    const text = `${spec.from}: ${spec.message}`;
    await apply(ConfigMap, { metadata: { name: metadata.name }, data: { text } });
    const { generation: observedGeneration = 0 } = metadata;
    const ready = { type: 'Ready', status: 'True', reason: 'Applied', message: 'the ConfigMap has the text' } as const;
    // The time of a condition changes only with its status; a write without effect causes no further run.
    const conditions = setCondition(before?.conditions, { ...ready, observedGeneration });
    await status({ observedGeneration, conditions });
  });
