import { StatusError } from '@kapstan/api';
import { alreadyExists, conflict, notFound } from '@kapstan/api/errors';
import { describe, expect, it } from 'vitest';
import { statusOf, wireStatus } from './status-response.ts';

describe('a Status on the wire', () => {
  it('has its members in the order of kube-apiserver', () => {
    const { status } = notFound({ group: '', resource: 'namespaces' }, 'nope');
    // curl .../api/v1/namespaces/nope of a kube-apiserver 1.36.3, without its white space.
    expect(JSON.stringify(wireStatus(status))).toBe(
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"namespaces \\"nope\\" not found",' +
        '"reason":"NotFound","details":{"name":"nope","kind":"namespaces"},"code":404}',
    );
  });

  it.each([
    [
      notFound({ group: 'legacy.kubernetes.io', resource: 'foos' }, 'bar'),
      404,
      'NotFound',
      'foos.legacy.kubernetes.io "bar" not found',
      'legacy.kubernetes.io',
    ],
    [
      alreadyExists({ group: '', resource: 'foos' }, 'bar'),
      409,
      'AlreadyExists',
      'foos "bar" already exists',
      undefined,
    ],
    [
      conflict({ group: '', resource: 'foos' }, 'bar', 'failure'),
      409,
      'Conflict',
      'Operation cannot be fulfilled on foos "bar": failure',
      undefined,
    ],
  ])('is that of its error: %s', (error, code, reason, message, group) => {
    const details = { name: 'bar', ...(group === undefined ? {} : { group }), kind: 'foos' };
    const common = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
    expect(wireStatus(statusOf(error))).toEqual({ ...common, message, reason, details, code });
  });

  it('is a failure of the server where its error says nothing', () => {
    const empty = statusOf(new StatusError({ code: 0, reason: '', message: '' }));
    expect(empty).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 500 });
  });

  it('has no reason where there is none', () => {
    const empty = { ...new StatusError({ code: 500, reason: '', message: 'm' }).status, reason: '' } as const;
    for (const status of [empty, statusOf(new Error('m'))]) {
      expect(Object.keys(wireStatus(status))).toEqual(['kind', 'apiVersion', 'metadata', 'status', 'message', 'code']);
    }
  });
});
