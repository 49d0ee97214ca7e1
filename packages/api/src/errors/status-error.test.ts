import { describe, expect, it } from 'vitest';
import { invalidField, requiredField } from './field-error.ts';
import * as errors from './status-error.ts';

const pods = { group: '', resource: 'pods' };
const deployments = { group: 'apps', resource: 'deployments' };

describe('StatusError constructors: code, reason and message of Kubernetes', () => {
  it.each([
    [errors.notFound(pods, 'a'), 404, 'NotFound', 'pods "a" not found'],
    [
      errors.notFound(pods, 'a "b" \\ \0\x07\t\v\x7fé\xa0\u200b\u{e0001}😀'),
      404,
      'NotFound',
      'pods "a \\"b\\" \\\\ \\x00\\a\\t\\v\\x7fé\\u00a0\\u200b\\U000e0001😀" not found',
    ],
    [errors.notFound(deployments, 'a'), 404, 'NotFound', 'deployments.apps "a" not found'],
    [errors.alreadyExists(pods, 'a'), 409, 'AlreadyExists', 'pods "a" already exists'],
    [errors.conflict(pods, 'a', 'why'), 409, 'Conflict', 'Operation cannot be fulfilled on pods "a": why'],
    [errors.forbidden(pods, 'a', 'why'), 403, 'Forbidden', 'pods "a" is forbidden: why'],
    [errors.forbidden(pods, '', 'why'), 403, 'Forbidden', 'pods is forbidden: why'],
    [errors.forbidden({ group: '', resource: '' }, '', 'why'), 403, 'Forbidden', 'forbidden: why'],
    [errors.unauthorized(), 401, 'Unauthorized', 'Unauthorized'],
    [errors.badRequest('why'), 400, 'BadRequest', 'why'],
    [errors.expired('why'), 410, 'Expired', 'why'],
    [errors.timeout('why', 0), 504, 'Timeout', 'Timeout: why'],
    [errors.tooLargeResourceVersion(9, 3, 1), 504, 'Timeout', 'Timeout: Too large resource version: 9, current: 3'],
    [errors.tooManyRequests('why', 1), 429, 'TooManyRequests', 'why'],
    [
      errors.serverTimeout(pods, 'get', 1),
      500,
      'ServerTimeout',
      'The get operation against pods could not be completed at this time, please try again.',
    ],
    [errors.internalError(new Error('why')), 500, 'InternalError', 'Internal error occurred: why'],
    [errors.serviceUnavailable('why'), 503, 'ServiceUnavailable', 'why'],
    [errors.requestEntityTooLarge('why'), 413, 'RequestEntityTooLarge', 'Request entity too large: why'],
    [errors.notAcceptable('why'), 406, 'NotAcceptable', 'why'],
    [errors.unsupportedMediaType('why'), 415, 'UnsupportedMediaType', 'why'],
    [errors.notImplemented('why'), 501, 'NotImplemented', 'why'],
    [
      errors.methodNotSupported(deployments, 'patch'),
      405,
      'MethodNotAllowed',
      'patch is not supported on resources of kind "deployments.apps"',
    ],
  ])('%s', (error, code, reason, message) => {
    expect([error.code, error.reason, error.message]).toEqual([code, reason, message]);
    expect(error.status).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message });
  });

  it('lists every invalid field in the message and in the causes', () => {
    const error = errors.invalid({ group: 'apps', kind: 'Deployment' }, 'a', [
      invalidField('spec.replicas', -1, 'must be greater than or equal to 0'),
      requiredField('spec.selector'),
    ]);
    expect(error.message).toBe(
      'Deployment.apps "a" is invalid: [spec.replicas: Invalid value: -1: must be greater than or equal to 0, spec.selector: Required value]',
    );
    expect(error.details).toEqual({
      name: 'a',
      group: 'apps',
      kind: 'Deployment',
      causes: [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: -1: must be greater than or equal to 0',
          field: 'spec.replicas',
        },
        { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.selector' },
      ],
    });
  });

  it('keeps the details that clients act on', () => {
    expect(errors.notFound(deployments, 'a').details).toEqual({ name: 'a', group: 'apps', kind: 'deployments' });
    expect(errors.retryAfterSeconds(errors.tooManyRequests('x', 7))).toBe(7);
    expect(errors.retryAfterSeconds(new Error('x'))).toBeUndefined();
    expect(errors.expired('x', 'token').status.metadata.continue).toBe('token');
    expect(errors.internalError('text').cause).toBe('text');
  });
});

describe('StatusError predicates', () => {
  it('know errors of another copy of this package by their brand', () => {
    const stranger = Object.defineProperty(
      Object.assign(new Error('x'), { reason: 'NotFound', code: 404 }),
      Symbol.for('@kapstan/api/StatusError'),
      { value: true },
    );
    expect([errors.isStatusError(stranger), errors.isNotFound(stranger)]).toEqual([true, true]);
  });

  it.each([undefined, null, 'NotFound', new Error('NotFound'), { reason: 'NotFound' }])('say no to %s', (value) => {
    expect([errors.isStatusError(value), errors.isNotFound(value), errors.isTooManyRequests(value)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('know what a server sent', () => {
    const gone = errors.statusErrorFrom({ code: 410, reason: 'Gone', message: 'gone' });
    expect(errors.isExpired(gone)).toBe(true);
    expect(errors.isTooManyRequests(errors.statusErrorFrom({ code: 429 }))).toBe(true);
    expect(errors.statusErrorFrom({}).status).toMatchObject({ code: 500, message: 'unknown' });
    expect(errors.statusErrorFrom({}).reason).toBe('');
  });

  it('know a version from the future by cause, by old cause and by message', () => {
    const old = {
      code: 504,
      reason: 'Timeout',
      message: 'Timeout: Too large resource version: 9, current: 3',
    } as const;
    expect(errors.isTooLargeResourceVersion(errors.tooLargeResourceVersion(9, 3, 0))).toBe(true);
    expect(errors.isTooLargeResourceVersion(errors.statusErrorFrom({ ...old, details: {} }))).toBe(true);
    expect(errors.isTooLargeResourceVersion(errors.statusErrorFrom(old))).toBe(false);
    expect(errors.isTooLargeResourceVersion(errors.timeout('slow', 1))).toBe(false);
  });
});
