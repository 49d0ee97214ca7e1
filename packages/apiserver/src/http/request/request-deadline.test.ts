import { isStatusError } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { parseRequestInfo } from '../exchange/request-info.ts';
import { requestTimeoutMs } from './request-deadline.ts';

describe('the time of a request', () => {
  const timeout = (method: string, query: string, maxMs = 60_000) => {
    const parameters = new URLSearchParams(query);
    const info = parseRequestInfo({ method, path: '/api/v1/namespaces/a/pods', query: parameters });
    return requestTimeoutMs(info, parameters, maxMs);
  };

  it.each([
    ['GET', '', 60_000],
    ['POST', '', 34_000],
    ['GET', 'timeout=5s', 5000],
    ['GET', 'timeout=5m', 60_000],
    ['GET', 'timeout=0', 60_000],
    ['POST', 'timeout=50s', 34_000],
  ])('%s ?%s', (method, query, expected) => {
    expect(timeout(method, query)).toBe(expected);
  });

  it('is refused when it is not a duration', () => {
    try {
      timeout('GET', 'timeout=soon');
    } catch (error) {
      if (!isStatusError(error)) throw error;
      expect(error.code).toBe(400);
      expect(error.message).toBe('invalid timeout specified in the request URL - time: invalid duration "soon"');
      expect(error.details).toBeUndefined();
      return;
    }
    throw new Error('was not refused');
  });
});
