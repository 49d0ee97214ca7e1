import { describe, expect, it } from 'vitest';
import { denial } from './webhook-failure.ts';

describe('the answer for a request that a webhook denies', () => {
  const by = 'admission webhook "a.example.com" denied the request';

  it.each([
    [undefined, { status: 'Failure', message: `${by} without explanation`, metadata: {}, code: 400 }],
    [{ reason: 'Gone' }, { status: 'Failure', reason: 'Gone', message: `${by}: Gone`, metadata: {}, code: 400 }],
    [
      { status: 'Success', code: 200 },
      { status: 'Failure', message: `${by} without explanation`, metadata: {}, code: 400 },
    ],
    [
      { status: 'Unwell', message: 'no', code: 418, metadata: { resourceVersion: '7', remainingItemCount: 2 } },
      { status: 'Unwell', message: `${by}: no`, metadata: { resourceVersion: '7', remainingItemCount: 2 }, code: 418 },
    ],
  ])('has what the webhook said, as a failure: %j', (said, told) => {
    expect(denial('a.example.com', said).status).toEqual({ kind: 'Status', apiVersion: 'v1', ...told });
  });
});
