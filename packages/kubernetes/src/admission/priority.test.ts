import type { ObjectReader } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { objection, testAttributes } from '../testing/admission-server.ts';
import { Priority } from './priority.ts';

describe('a delete of a priority class', () => {
  const resource = { group: 'scheduling.k8s.io', version: 'v1', resource: 'priorityclasses' };
  const remove = (name: string) =>
    objection(() =>
      new Priority({} as ObjectReader).validate(
        testAttributes({ operation: 'DELETE', resource, name, object: undefined }),
      ),
    );

  // The refusal is recorded from a kube-apiserver.
  it.each(['system-node-critical', 'system-cluster-critical'])('leaves %s, which the system needs', async (name) => {
    const text = `priorityclasses.scheduling.k8s.io "${name}" is forbidden: this is a system priority class and cannot be deleted`;
    expect(await remove(name)).toEqual([403, text]);
  });

  it('takes any other', async () => {
    expect(await remove('high')).toBeUndefined();
  });
});
