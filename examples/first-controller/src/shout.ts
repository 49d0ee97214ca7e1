// A complete controller: every ConfigMap with a `text` gets it in capitals as `shouted`.
import { type Controller, controller } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';

export const shouter: Controller = controller(ConfigMap, { name: 'shouter' }).reconcile(
  async ({ metadata, data }, { client }) => {
    const shouted = data?.text?.toUpperCase();
    if (shouted === undefined || shouted === data?.shouted) return; // until the next change
    const { namespace, name } = metadata;
    await client.patch(ConfigMap, { namespace, name }, { type: 'merge', body: { data: { shouted } } });
  }, // if it rejects, the object is retried with growing delays
);
