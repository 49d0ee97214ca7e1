// Compares the table of docs/guide/rights.md with the result of rightsOf(), which `kapstan generate rbac` writes.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineResource } from '@kapstan/api';
import { controller, type Right, type RightsOptions, rightsOf } from '@kapstan/controller';
import { ConfigMap, Pod, Secret } from '@kapstan/kinds/core/v1';
import { expect, it } from 'vitest';

const Site = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Site',
  spec: { type: 'object' },
  status: { type: 'object', properties: {} },
});
const base = controller(Site);
const nothing = async (): Promise<undefined> => undefined;
const rights = (builder: typeof base, options: RightsOptions = {}) => rightsOf([builder.reconcile(nothing)], options);

/** First cell of a row → the rights of a controller with that declaration. */
const rows: Readonly<Record<string, readonly Right[]>> = {
  '`controller(Site)`': rights(base),
  '`.owns(ConfigMap)`, `ctx.apply`, `ctx.prune`': rights(base.owns(ConfigMap)),
  '`.watches(Secret, map)`': rights(base.watches(Secret, () => [])),
  '`.index(Pod, name, fn)`': rights(base.index(Pod, 'node', () => [])),
  '`.finalize(name, fn)`': rights(base.finalize('demo.dev/a', nothing)),
  "`.needs(Secret, ['get'], { names: ['ca'] })`": rights(base.needs(Secret, ['get'], { names: ['ca'] })),
  '`.gone(fn)`, `.when(fn)`, `.on(values, fn)`': rights(
    base
      .gone(nothing)
      .when(() => true)
      .on([], () => []),
  ),
  "`leaderElection: { name: 'sites', namespace: 'demo' }`": rights(base, {
    leaderElection: { name: 'sites', namespace: 'demo' },
  }),
  '`installCrds: true`': rights(base, { installCrds: true }),
};

function textOf({ group, resource, verbs, names, namespace }: Right): string {
  const [plural = '', subresource] = resource.split('/');
  const name = `${plural}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  const named = names === undefined ? '' : ` named ${names.join(', ')}`;
  return `\`${name}\`${named}${namespace === undefined ? '' : ` in ${namespace}`}: ${verbs.join(', ')}`;
}

it('the table of rights is what the generator writes', () => {
  const own = new Set(rights(base).map(textOf));
  const expected = Object.entries(rows).map(([declaration, all], index) => {
    const added = all.map(textOf).filter((text) => index === 0 || !own.has(text));
    return `| ${declaration} | ${added.length === 0 ? 'nothing' : added.join('; ')} |`;
  });
  const page = readFileSync(fileURLToPath(new URL('../../docs/guide/rights.md', import.meta.url)), 'utf8');
  const [, table = ''] = /\| In the program \| Rights \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(page) ?? [];
  expect(table.trim().split('\n')).toEqual(expected);
});
