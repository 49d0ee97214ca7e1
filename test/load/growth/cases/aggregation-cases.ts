// Cases of registrations of other API servers.
import { creates, type GrowthCase } from '../growth-case.ts';

const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices';
const block = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';

/** Returns an APIService whose Service does not exist, so no server is asked. */
function apiService(name: string, caBundle: string): object {
  const [version = '', ...group] = name.split('.');
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name },
    spec: {
      ...{ group: group.join('.'), version, groupPriorityMinimum: 1000, versionPriority: 1 },
      service: { namespace: 'default', name: 'growth' },
      caBundle: Buffer.from(caBundle).toString('base64'),
    },
  };
}

export const aggregationCases: readonly GrowthCase[] = [
  {
    ...creates('create of an APIService with many certificates', {
      path: apiServices,
      full: 35_000,
      codes: [201, 413, 422],
      body: (n) => apiService('v1.remote.example.net', block.repeat(n)),
    }),
    made: [`${apiServices}/v1.remote.example.net`],
  },
  {
    ...creates('create of an APIService with a CA bundle that is none', {
      path: apiServices,
      full: 2_000_000,
      codes: [201, 413, 422],
      body: (n) => apiService('v1.remote.example.net', 'x'.repeat(n)),
    }),
    made: [`${apiServices}/v1.remote.example.net`],
  },
];
