import { expect, it } from 'vitest';
import { AbsentOwners } from './absent-owners.ts';
import type { ObjectIdentity } from './object-identity.ts';

const owner = (uid: string, more: Partial<ObjectIdentity> = {}): ObjectIdentity => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'a',
  uid,
  namespace: 'x',
  ...more,
});

it('knows an owner by all of its identity', () => {
  const owners = new AbsentOwners();
  owners.add(owner('1'));
  expect(owners.has(owner('1'))).toBe(true);
  const others = [{ uid: '2' }, { name: 'b' }, { kind: 'Secret' }, { apiVersion: 'v2' }, { namespace: '' }];
  expect(others.map((other) => owners.has(owner('1', other)))).toEqual(others.map(() => false));
});

it('forgets the one that was asked for least recently when there are more than 500', () => {
  const owners = new AbsentOwners();
  for (let n = 0; n < 500; n++) owners.add(owner(String(n)));
  expect(owners.has(owner('0'))).toBe(true);
  owners.add(owner('500'));
  expect([owners.has(owner('0')), owners.has(owner('1')), owners.has(owner('500'))]).toEqual([true, false, true]);
});
