import type { ObjectMeta, OwnerReference } from '@kapstan/api';
import { beforeEach, describe, expect, it } from 'vitest';
import { DependencyGraph, type GraphNode } from './dependency-graph.ts';
import { type ObjectIdentity, ownerIdentity } from './object-identity.ts';

let graph: DependencyGraph;
let attempts: string[];
let retries: string[];
let invalid: string[];

beforeEach(() => {
  [attempts, retries, invalid] = [[], [], []];
  graph = new DependencyGraph({
    onAttempt: ({ identity }) => attempts.push(identity.uid),
    onRetry: ({ identity }) => retries.push(identity.uid),
    onInvalidOwner: (dependent, owner) => invalid.push(`${dependent.uid}: ${owner.uid} in ${owner.namespace}`),
  });
});

/** Returns an object whose uid equals its name. */
const object = (uid: string, more: Partial<ObjectIdentity> = {}): ObjectIdentity => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: uid,
  uid,
  namespace: 'x',
  ...more,
});
const reference = (uid: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: uid,
  uid,
  ...more,
});
const see = (identity: ObjectIdentity, owners: readonly OwnerReference[] = [], more: ObjectMeta = {}): void =>
  graph.observe(identity, { ...more, ownerReferences: [...owners] });
const node = (uid: string): GraphNode => {
  const found = graph.findByUid(uid);
  if (found === undefined) throw new Error(`no node ${uid}`);
  return found;
};
/** Returns the attempts since the last call. */
const asked = (): string[] => attempts.splice(0).sort();
const deleting = (...finalizers: string[]): ObjectMeta => ({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers });

describe('owners', () => {
  it('that nobody has seen are virtual and asked for; seen, they are neither', () => {
    see(object('d'), [reference('o')]);
    expect(node('o').isVirtual).toBe(true);
    expect(asked()).toEqual(['o']);
    see(object('o'));
    expect(node('o').isVirtual).toBe(false);
    expect([...node('o').dependents]).toEqual([node('d')]);
    expect(asked()).toEqual([]);
  });

  it('that were seen before their dependents need no asking', () => {
    see(object('o'));
    see(object('d'), [reference('o')]);
    expect(asked()).toEqual([]);
  });

  it('gain and lose dependents as references change', () => {
    see(object('a'));
    see(object('b'));
    see(object('d'), [reference('a')]);
    see(object('d'), [reference('b')]);
    expect([node('a').dependents.size, node('b').dependents.size]).toEqual([0, 1]);
    graph.remove(object('d'));
    expect(node('b').dependents.size).toBe(0);
    expect(graph.size).toBe(2);
  });

  it('are asked to go on when a dependent stops to block them', () => {
    const blocking = [reference('o', { blockOwnerDeletion: true })];
    see(object('o'));
    see(object('d'), blocking);
    expect(graph.blockingDependents(node('o'))).toEqual([node('d')]);
    see(object('d'), [reference('o')]);
    expect(asked()).toEqual(['o']);
    see(object('d'), blocking);
    expect(asked()).toEqual([]);
    see(object('d'), []);
    expect(asked()).toEqual(['o']);
  });
});

describe('removal', () => {
  it('asks for the dependents and remembers that their owner is absent', () => {
    see(object('o'));
    see(object('d'), [reference('o')]);
    graph.remove(object('o'));
    expect(asked()).toEqual(['d']);
    expect(graph.absentOwners.has(object('o'))).toBe(true);
    expect(graph.findByUid('o')).toBeUndefined();
  });

  it('asks for owners that wait for their dependents', () => {
    see(object('o'), [], deleting('foregroundDeletion'));
    see(object('d'), [reference('o')]);
    asked();
    graph.remove(object('d'));
    expect(asked()).toEqual(['o']);
  });

  it('of what is not there changes nothing', () => {
    graph.remove(object('o'));
    graph.confirmAbsent(object('o'));
    expect([graph.size, asked()]).toEqual([0, []]);
  });

  it('gives ids once', () => {
    see(object('o'));
    const { id } = node('o');
    graph.remove(object('o'));
    see(object('o'));
    expect(graph.find(id)).toBeUndefined();
    expect(node('o').id).not.toBe(id);
  });
});

describe('deletion', () => {
  it.each([
    ['foregroundDeletion', ['d', 'o'], { isDeletingDependents: true, isOrphaning: false }],
    ['orphan', ['o'], { isDeletingDependents: false, isOrphaning: true }],
    ['example.com/f', [], { isDeletingDependents: false, isOrphaning: false }],
  ] as const)('with the finalizer %s asks for %j, once', (finalizer, uids, state) => {
    see(object('o'), [], { finalizers: [finalizer] });
    see(object('d'), [reference('o')]);
    expect(asked()).toEqual([]);
    see(object('o'), [], deleting(finalizer));
    expect(asked()).toEqual(uids);
    expect(node('o')).toMatchObject({ ...state, isBeingDeleted: true });
    see(object('o'), [], deleting(finalizer));
    expect(asked()).toEqual([]);
  });

  it('asks again when the policy changes', () => {
    see(object('o'), [], deleting('foregroundDeletion'));
    asked();
    see(object('o'), [], deleting('orphan'));
    expect(asked()).toEqual(['o']);
    expect(node('o')).toMatchObject({ isDeletingDependents: false, isOrphaning: true });
  });
});

describe('references that disagree', () => {
  it('are asked about when the owner turns out to be someone else', () => {
    see(object('right'), [reference('o')]);
    see(object('wrong'), [reference('o', { kind: 'Secret' })]);
    asked();
    see(object('o'));
    // The virtual owner took the identity that `right` gave it.
    expect(asked()).toEqual([]);
    see(object('late'), [reference('o', { name: 'other' })]);
    expect(asked()).toEqual(['late']);
  });

  it('are asked about when the virtual owner had a wrong identity', () => {
    see(object('wrong'), [reference('o', { kind: 'Secret' })]);
    see(object('right'), [reference('o')]);
    asked();
    see(object('o'));
    expect(asked()).toEqual(['wrong']);
  });

  it('across namespaces are reported, whichever came first', () => {
    see(object('o'));
    see(object('late', { namespace: 'y' }), [reference('o')]);
    see(object('early', { namespace: 'y' }), [reference('p')]);
    asked();
    see(object('p'));
    expect(invalid).toEqual(['late: o in y', 'early: p in y']);
    expect(asked()).toEqual(['early']);
  });

  it('to a cluster-scoped owner from any namespace are certain once it is seen', () => {
    const owner = object('o', { kind: 'Node', namespace: '' });
    see(owner);
    see(object('d', { namespace: 'y' }), [reference('o', { kind: 'Node' })]);
    expect([asked(), invalid]).toEqual([[], []]);
  });

  it('are tried one after the other until none is left', () => {
    const secret = reference('o', { kind: 'Secret' });
    see(object('m'), [reference('o')]);
    see(object('s'), [secret]);
    asked();
    graph.confirmAbsent(object('o'));
    expect(asked()).toEqual(['m']);
    expect(retries).toEqual(['o']);
    expect(node('o')).toMatchObject({ isVirtual: true, identity: ownerIdentity(secret, 'x') });
    // `m` was deleted, so only the other identity is left.
    graph.remove(object('m'));
    graph.confirmAbsent(ownerIdentity(secret, 'x'));
    expect(asked()).toEqual(['s']);
    expect(graph.findByUid('o')).toBeUndefined();
  });

  it('of a real owner lose only those that mean an absent one', () => {
    see(object('o'));
    see(object('real'), [reference('o')]);
    see(object('mistaken'), [reference('o', { name: 'other' })]);
    asked();
    graph.confirmAbsent(object('o', { name: 'other' }));
    expect(asked()).toEqual(['mistaken']);
    expect(node('o').isVirtual).toBe(false);
    expect(graph.absentOwners.has(object('o', { name: 'other' }))).toBe(true);
  });
});
