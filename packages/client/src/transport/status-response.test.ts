import { describe, expect, it } from 'vitest';
import { statusErrorOf } from './status-response.ts';

const answer = { method: 'GET', contentType: 'text/plain', body: '', retryAfterSeconds: undefined };

describe('statusErrorOf', () => {
  it('takes over the Status of the server as it is', () => {
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: { continue: 'c' },
      status: 'Failure',
      message: 'm',
      reason: 'Expired',
      details: { name: 'a', retryAfterSeconds: 4 },
      code: 410,
    };
    expect(statusErrorOf({ ...answer, code: 410, body: JSON.stringify(status) }).status).toEqual(status);
  });

  it('reads a Status without version or code', () => {
    const body = JSON.stringify({ kind: 'Status', message: 'm', reason: 'Forbidden' });
    expect(statusErrorOf({ ...answer, code: 403, body })).toMatchObject({
      message: 'm',
      code: 403,
      reason: 'Forbidden',
    });
  });

  it.each([
    [400, 'BadRequest', 'the server rejected our request for an unknown reason'],
    [401, 'Unauthorized', 'the server has asked for the client to provide credentials'],
    [403, 'Forbidden', 'oops'],
    [404, 'NotFound', 'the server could not find the requested resource'],
    [405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource'],
    [406, 'NotAcceptable', 'oops'],
    [409, 'Conflict', 'the server reported a conflict'],
    [415, 'UnsupportedMediaType', 'oops'],
    [418, '', 'the server responded with the status code 418 but did not return more information'],
    [422, 'Invalid', 'the server rejected our request due to an error in our request'],
    [429, 'TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
    [500, 'InternalError', 'an error on the server ("oops") has prevented the request from succeeding'],
    [502, 'InternalError', 'an error on the server ("oops") has prevented the request from succeeding'],
    [503, 'ServiceUnavailable', 'the server is currently unable to handle the request'],
    [
      504,
      'Timeout',
      'the server was unable to return a response in the time allotted, but may still be processing the request',
    ],
  ])('makes a Status of a bare %i', (code, reason, message) => {
    const error = statusErrorOf({
      ...answer,
      code,
      body: ' oops\n',
      resource: { group: 'apps', resource: 'deployments' },
      name: 'a',
    });
    expect([error.code, error.reason, error.message]).toEqual([code, reason, `${message} (get deployments.apps a)`]);
    expect(error.details).toEqual({
      name: 'a',
      group: 'apps',
      kind: 'deployments',
      causes: [{ reason: 'UnexpectedServerResponse', message: 'oops' }],
    });
  });

  it.each([
    ['a conflict of a POST is AlreadyExists', { method: 'POST', code: 409 }, { reason: 'AlreadyExists' }],
    ['Retry-After goes into the details', { code: 429, retryAfterSeconds: 3 }, { details: { retryAfterSeconds: 3 } }],
    ['an empty text is unknown', { code: 500 }, { message: expect.stringContaining('"unknown"') }],
    ['a text that is none is unknown', { code: 403, contentType: 'image/png', body: 'x' }, { message: 'unknown' }],
    ['other JSON is text', { code: 403, contentType: 'application/json', body: '{"a":1}' }, { message: '{"a":1}' }],
    ['JSON that is none is text', { code: 403, body: '{"a"' }, { message: '{"a"' }],
    ['a success is no failure', { code: 403, body: '{"kind":"Status","status":"Success"}' }, { reason: 'Forbidden' }],
    [
      '406 has a text of its own',
      { code: 406 },
      { message: expect.stringContaining('content type that the client supports') },
    ],
  ])('%s', (_, part, expected) => {
    expect(statusErrorOf({ ...answer, ...part })).toMatchObject(expected);
  });

  it('keeps at most 2048 characters of a text', () => {
    expect(statusErrorOf({ ...answer, code: 403, body: 'x'.repeat(5000) }).message).toHaveLength(2048);
  });
});
