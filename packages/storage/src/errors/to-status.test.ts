import { isStatusError, type StatusError } from '@kapstan/api';
import { conflict } from '@kapstan/api/errors';
import { describe, expect, it } from 'vitest';
import { StorageError, type StorageErrorCode } from './storage-error.ts';
import { type StorageVerb, toStatus } from './to-status.ts';

const resource = { group: 'apps', resource: 'deployments' };

function answer(verb: StorageVerb, code: StorageErrorCode): string {
  const name = verb === 'list' || verb === 'watch' ? '' : 'web';
  const status = toStatus(new StorageError({ code, key: '/registry/deployments/ns/web', message: 'why' }), {
    verb,
    resource,
    name,
  });
  return isStatusError(status) ? `${status.code} ${status.reason}` : 'unchanged';
}

describe('StorageError', () => {
  it('is its text as a string, which names it once', () => {
    expect(String(new StorageError({ code: 'KeyNotFound', key: '/a' }))).toBe(
      'StorageError: key not found, Code: 1, Key: /a, ResourceVersion: 0, AdditionalErrorMsg: ',
    );
  });
});

describe('toStatus', () => {
  // Expected answers by verb and error.
  it.each<[StorageVerb, Partial<Record<StorageErrorCode, string>>]>([
    [
      'get',
      {
        KeyNotFound: '404 NotFound',
        Unreachable: '500 ServerTimeout',
        Corrupt: '500 InternalError',
        Timeout: '500 InternalError',
      },
    ],
    [
      'list',
      {
        KeyNotFound: '404 NotFound',
        Unreachable: '500 ServerTimeout',
        Timeout: '500 ServerTimeout',
        Corrupt: '500 InternalError',
      },
    ],
    ['create', { KeyExists: '409 AlreadyExists', Unreachable: '500 ServerTimeout', Corrupt: '500 InternalError' }],
    [
      'update',
      {
        KeyNotFound: '404 NotFound',
        KeyExists: '409 Conflict',
        Conflict: '409 Conflict',
        InvalidObject: '409 Conflict',
        Unreachable: '500 ServerTimeout',
        Corrupt: '500 InternalError',
      },
    ],
    [
      'delete',
      {
        KeyNotFound: '404 NotFound',
        Conflict: '409 Conflict',
        InvalidObject: '409 Conflict',
        Unreachable: '500 ServerTimeout',
        Corrupt: '500 InternalError',
      },
    ],
    ['watch', { InvalidObject: '422 Invalid', Corrupt: '500 InternalError', Unreachable: '500 InternalError' }],
  ])('%s', (verb, row) => {
    for (const [code, expected] of Object.entries(row))
      expect(answer(verb, code as StorageErrorCode), code).toBe(expected);
  });

  // TooLarge deliberately differs from kube-apiserver, which answers 500 without a reason in the words of etcd or of
  // its client.
  it.each<[StorageErrorCode, string]>([
    ['TooLarge', '413 RequestEntityTooLarge'],
    ['Full', '507 InsufficientStorage'],
    ['NotReady', '503 ServiceUnavailable'],
    ['Closed', '503 ServiceUnavailable'],
    ['InvalidKey', '400 BadRequest'],
  ])('%s, whatever the verb', (code, expected) => {
    for (const verb of ['get', 'list', 'create', 'update', 'delete', 'watch'] as const)
      expect(answer(verb, code)).toBe(expected);
  });

  it('puts the whole storage error into the text of a conflict, as kube-apiserver does', () => {
    const error = new StorageError({
      code: 'InvalidObject',
      key: '/registry/configmaps/ns/one',
      message: 'Precondition failed: UID',
    });
    const status = toStatus(error, { verb: 'update', resource: { group: '', resource: 'configmaps' }, name: 'one' });
    expect((status as StatusError).message).toBe(
      'Operation cannot be fulfilled on configmaps "one": StorageError: invalid object, Code: 4, Key: /registry/configmaps/ns/one, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID',
    );
  });

  it('does not reveal the key of an object in an internal error', () => {
    for (const code of ['Corrupt', 'InvalidKey', 'Timeout'] as const) {
      const error = new StorageError({ code, key: '/registry/secrets/ns/one', message: 'details' });
      const status = toStatus(error, { verb: 'get', resource, name: 'one' }) as StatusError;
      expect(JSON.stringify(status.status)).not.toContain('/registry');
      expect(status.message).toContain('details');
    }
  });

  it('says when to come back after a ServerTimeout', () => {
    const status = toStatus(new StorageError({ code: 'Unreachable' }), { verb: 'get', resource, name: 'web' });
    expect((status as StatusError).details?.retryAfterSeconds).toBe(2);
    expect((status as StatusError).message).toBe(
      'The get operation against deployments.apps could not be completed at this time, please try again.',
    );
  });

  it('passes on errors that are not storage errors', () => {
    for (const error of [conflict(resource, 'web', 'x'), new TypeError('y'), 'z']) {
      expect(toStatus(error, { verb: 'get', resource, name: '' })).toBe(error);
    }
  });
});
