import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { widgets } from '../testing/definition-fixture.ts';
import { decideNames } from './accepted-names.ts';

const names = {
  plural: 'widgets',
  singular: 'widget',
  kind: 'Widget',
  listKind: 'WidgetList',
  shortNames: ['wd', 'w'],
};
const definition = (
  asked: Partial<CustomResourceDefinitionNames> = {},
  accepted?: Partial<CustomResourceDefinitionNames>,
): CustomResourceDefinition => ({
  ...widgets({ names: { ...names, ...asked } }),
  ...(accepted === undefined ? {} : { status: { acceptedNames: accepted as CustomResourceDefinitionNames } }),
});
const owner = (accepted: Partial<CustomResourceDefinitionNames>, group = 'example.com'): CustomResourceDefinition => ({
  ...widgets({ group, names: { plural: 'others' } }),
  status: { acceptedNames: accepted as CustomResourceDefinitionNames },
});

describe('the names of a definition', () => {
  it('are all given when nobody else has them', () => {
    const decision = decideNames(definition({ categories: ['all'] }), [owner({ plural: 'others', kind: 'Other' })]);
    expect(decision.acceptedNames).toEqual({ ...names, categories: ['all'] });
    expect(decision.namesAccepted).toMatchObject({ status: 'True', reason: 'NoConflicts' });
    expect(decision.established).toMatchObject({ status: 'True', reason: 'InitialNamesAccepted' });
  });

  it.each<[string, Partial<CustomResourceDefinitionNames>, string, string]>([
    ['plural', { shortNames: ['widgets'] }, 'PluralConflict', '"widgets" is already in use'],
    ['singular', { plural: 'widget' }, 'SingularConflict', '"widget" is already in use'],
    ['one short name', { singular: 'wd' }, 'ShortNamesConflict', '"wd" is already in use'],
    [
      'short names',
      { shortNames: ['w', 'wd'] },
      'ShortNamesConflict',
      '["wd" is already in use, "w" is already in use]',
    ],
    ['kind', { listKind: 'Widget' }, 'KindConflict', '"Widget" is already in use'],
    ['list kind', { kind: 'WidgetList' }, 'ListKindConflict', '"WidgetList" is already in use'],
  ])('are refused when another one of the group has the %s', (_which, taken, reason, message) => {
    const decision = decideNames(definition(), [owner(taken)]);
    expect(decision.namesAccepted).toEqual({ type: 'NamesAccepted', status: 'False', reason, message });
    expect(decision.established).toMatchObject({ status: 'False', reason: 'NotAccepted' });
    expect(decideNames(definition(), [owner(taken, 'other.io')]).namesAccepted.status).toBe('True');
  });

  it('that it has stay its own', () => {
    const decision = decideNames(definition({}, names), [owner({ shortNames: ['wd'] })]);
    expect(decision.namesAccepted.status).toBe('True');
  });

  it('can change; what is taken stays as it was', () => {
    const decision = decideNames(definition({ singular: 'taken', shortNames: [] }, names), [
      owner({ singular: 'taken' }),
    ]);
    expect(decision.acceptedNames).toEqual({
      plural: 'widgets',
      singular: 'widget',
      kind: 'Widget',
      listKind: 'WidgetList',
    });
    expect(decision.namesAccepted.reason).toBe('SingularConflict');
  });

  it('leave it established once it was, whatever becomes of them', () => {
    const old = definition({ singular: 'taken' }, names);
    const conditions = [{ type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: 'm' }];
    const decision = decideNames({ ...old, status: { ...old.status, conditions } }, [owner({ singular: 'taken' })]);
    expect([decision.namesAccepted.status, decision.established.status]).toEqual(['False', 'True']);
  });
});
