import { ConfigMap } from '@kapstan/kinds/core/v1';
import {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from './index.ts';

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await testCluster();
});
afterEach(() => cluster.close());

describe('a validating policy', () => {
  it('denies what its expression does not allow', async () => {
    const { client } = cluster;
    await client.create(ValidatingAdmissionPolicy, {
      metadata: { name: 'p' },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
          ],
        },
        validations: [{ expression: "object.data.a != 'bad'", message: 'bad is bad' }],
      },
    });
    await client.create(ValidatingAdmissionPolicyBinding, {
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'] },
    });
    await cluster.settle();
    const create = (a: string) =>
      client.create(ConfigMap, { metadata: { name: a, namespace: 'default' }, data: { a } });
    await expect(create('bad')).rejects.toThrow(
      `configmaps "bad" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: bad is bad`,
    );
    await create('good');
  });
});
