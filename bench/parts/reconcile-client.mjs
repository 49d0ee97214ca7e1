// The controller of reconcile.mjs: it keeps a ConfigMap and the status of each Echo. Arguments: path of a kubeconfig, number of Echos,
// number of statuses. It prints a line when it has seen that number of Echos, and one each time it has written that number of statuses.
// reconcile-peer/main.go does the same with controller-runtime.
import { defineResource } from '@kapstan/api';
import { controller, run } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const text = { type: 'object', properties: { text: { type: 'string' } } };
const Echo = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Echo', spec: text, status: text });
const [kubeconfig, expected, batch] = process.argv.slice(2);
const seen = new Set();
let written = 0;

const echo = controller(Echo, { name: 'echo' })
  .owns(ConfigMap)
  .settings({ workers: 10 })
  .reconcile(async ({ metadata, spec, status: present }, { apply, cache, status }) => {
    const { namespace, name } = metadata;
    if (cache(ConfigMap).get({ namespace, name })?.data?.text !== spec.text)
      await apply(ConfigMap, { metadata: { name }, data: { text: spec.text } });
    if (present?.text !== spec.text) {
      await status({ text: spec.text });
      written++;
      if (written % Number(batch) === 0) console.log('written');
    }
    const before = seen.size;
    seen.add(name);
    if (before < seen.size && seen.size === Number(expected)) console.log('seen');
  });

await run(echo, { kubeconfig });
