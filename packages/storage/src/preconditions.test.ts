import { describe, expect, it } from 'vitest';
import { isStorageError } from './errors/storage-error.ts';
import { checkPreconditions } from './preconditions.ts';

const object = { metadata: { uid: 'u', resourceVersion: '5' } };

describe('preconditions', () => {
  it('hold when there are none, and when there is no object', () => {
    expect(() => checkPreconditions('/k', undefined, object)).not.toThrow();
    expect(() => checkPreconditions('/k', {}, object)).not.toThrow();
    expect(() => checkPreconditions('/k', { uid: 'x', resourceVersion: '1' }, undefined)).not.toThrow();
    expect(() => checkPreconditions('/k', { uid: 'u', resourceVersion: '5' }, object)).not.toThrow();
  });

  it.each([
    [{ uid: 'x' }, 'Precondition failed: UID in precondition: x, UID in object meta: u'],
    [
      { resourceVersion: '6' },
      'Precondition failed: ResourceVersion in precondition: 6, ResourceVersion in object meta: 5',
    ],
    [{ uid: 'x', resourceVersion: '6' }, 'Precondition failed: UID in precondition: x, UID in object meta: u'],
  ])('%j name what differs, the UID first', (preconditions, detail) => {
    expect(() => checkPreconditions('/k', preconditions, object)).toThrow(
      expect.toSatisfy(
        (error) => isStorageError(error, 'InvalidObject') && error.key === '/k' && error.detail === detail,
      ),
    );
  });

  it('fail on an object without metadata', () => {
    expect(() => checkPreconditions('/k', { uid: 'x' }, {})).toThrow('UID in object meta: ');
  });
});
