import { newNotFound, StatusError } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { statusOf, wireStatus } from './status-response.ts';

describe('a Status on the wire', () => {
  it('has its members in the order of kube-apiserver', () => {
    const { status } = newNotFound({ group: '', resource: 'namespaces' }, 'nope');
    // curl .../api/v1/namespaces/nope of a kube-apiserver 1.36.3, without its white space.
    expect(JSON.stringify(wireStatus(status))).toBe(
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"namespaces \\"nope\\" not found",' +
        '"reason":"NotFound","details":{"name":"nope","kind":"namespaces"},"code":404}',
    );
  });

  it('has no reason where there is none', () => {
    const empty = { ...new StatusError({ code: 500, reason: '', message: 'm' }).status, reason: '' } as const;
    for (const status of [empty, statusOf(new Error('m'))]) {
      expect(Object.keys(wireStatus(status))).toEqual(['kind', 'apiVersion', 'metadata', 'status', 'message', 'code']);
    }
  });
});
