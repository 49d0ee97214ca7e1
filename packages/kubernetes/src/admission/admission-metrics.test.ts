import { forbidden } from '@kapstan/api/errors';
import { formatMetrics } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import type { AdmissionOperation, AdmissionPlugin } from '@kapstan/apiserver';
import { AdmissionChain, alwaysAllow, ResourceCatalog } from '@kapstan/apiserver';
import { expect, it } from 'vitest';
import { testAttributes } from '../testing/admission-server.ts';
import { kubernetesAdmission } from './built-in-plugins.ts';

const clock = new VirtualClock();
const took = (ms: number): Promise<void> => Promise.resolve(clock.advance(ms)).then(() => undefined);

function chainOf(...plugins: AdmissionPlugin[]): AdmissionChain {
  const own = plugins.map(({ name }) => name);
  const options = { builtIn: kubernetesAdmission, catalog: new ResourceCatalog(), authorizer: alwaysAllow, clock };
  const usual = new AdmissionChain(options).pluginNames;
  return new AdmissionChain({
    ...options,
    plugins,
    disabled: usual.filter((name) => !own.includes(name)),
  });
}

const linesOf = (chain: AdmissionChain): string[] =>
  formatMetrics(chain.families())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !/_bucket.*le="(?:0\.005|0\.5|1|2\.5)"/.test(line));

it('the time of each plug-in is told by name, operation and outcome, and that of all together', async () => {
  const chain = chainOf(
    { name: 'ImagePolicyWebhook', admit: () => took(20), validate: () => took(0) },
    { name: 'PodTolerationRestriction', validate: () => undefined, validatedResources: ['pods'] },
    {
      name: 'PodNodeSelector',
      admit: async ({ resource, operation }) => {
        await took(300);
        if (operation === 'DELETE') throw forbidden(resource, 'x', 'no');
      },
    },
  );
  const attributes = testAttributes({ operation: 'CREATE' });
  await chain.admit(attributes);
  await chain.validate(attributes);
  await expect(chain.admit(testAttributes({ operation: 'DELETE' }))).rejects.toThrow('forbidden');
  const controller = 'apiserver_admission_controller_admission_duration_seconds';
  const step = 'apiserver_admission_step_admission_duration_seconds';
  const histogram = (name: string, labels: string, [at25, at100, sum]: readonly [number, number, number]): string[] => [
    `${name}_bucket{${labels},le="0.025"} ${at25}`,
    `${name}_bucket{${labels},le="0.1"} ${at100}`,
    `${name}_bucket{${labels},le="+Inf"} 1`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} 1`,
  ];
  const passed = (type: string, operation = 'CREATE'): string =>
    `type="${type}",operation="${operation}",rejected="false"`;
  const rejected = 'type="admit",operation="DELETE",rejected="true"';
  expect(linesOf(chain)).toEqual([
    ...histogram(controller, `name="ImagePolicyWebhook",${passed('admit')}`, [1, 1, 0.02]),
    ...histogram(controller, `name="ImagePolicyWebhook",${passed('admit', 'DELETE')}`, [1, 1, 0.02]),
    ...histogram(controller, `name="ImagePolicyWebhook",${passed('validate')}`, [1, 1, 0]),
    ...histogram(controller, `name="PodNodeSelector",${passed('admit')}`, [0, 0, 0.3]),
    ...histogram(controller, `name="PodNodeSelector",${rejected}`, [0, 0, 0.3]),
    ...histogram(step, passed('admit'), [0, 0, 0.32]),
    ...histogram(step, rejected, [0, 0, 0.32]),
    ...histogram(step, passed('validate'), [1, 1, 0]),
  ]);
});

// Recorded from a kube-apiserver 1.36 with the same plug-ins on, without those that declare the resources they
// validate.
it.each<[AdmissionOperation, readonly string[]]>([
  [
    'CREATE',
    [
      'DefaultIngressClass admit',
      'DefaultStorageClass admit',
      'DefaultTolerationSeconds admit',
      'LimitRanger admit',
      'PodTopologyLabels admit',
      'Priority admit',
      'ResourceQuota validate',
      'RuntimeClass admit',
      'ServiceAccount admit',
      'StorageObjectInUseProtection admit',
      'TaintNodesByCondition admit',
    ],
  ],
  [
    'UPDATE',
    [
      'DefaultTolerationSeconds admit',
      'LimitRanger admit',
      'Priority admit',
      'ResourceQuota validate',
      'ServiceAccount admit',
    ],
  ],
  ['DELETE', ['Priority admit']],
  ['CONNECT', []],
])('a plug-in is asked about the operations that it is asked about in Kubernetes: %s', async (operation, names) => {
  const options = { catalog: new ResourceCatalog(), authorizer: alwaysAllow, builtIn: kubernetesAdmission };
  const chain = new AdmissionChain({ ...options, disabled: ['NamespaceLifecycle'] });
  const resource = { group: 'example.com', version: 'v1', resource: 'things' };
  const attributes = testAttributes({ operation, resource, namespace: '' });
  await chain.admit(attributes);
  await chain.validate(attributes);
  const asked = linesOf(chain).flatMap(
    (line) => /_count\{name="(\w+)",type="(\w+)"/.exec(line)?.slice(1).join(' ') ?? [],
  );
  expect(asked.sort()).toEqual(names);
});
