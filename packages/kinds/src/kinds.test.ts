import { readdirSync, readFileSync } from 'node:fs';
import type { ObjectOf } from '@kapstan/api';
import { Deployment } from '@kapstan/kinds/apps/v1';
import type { Pod, PodSpec } from '@kapstan/kinds/core/v1';
import {
  discoveryFacts,
  fieldSelectorFacts,
  protobufFacts,
  schemaFacts,
  storageKeyFacts,
  tableColumnFacts,
} from '@kapstan/kinds/facts';
import { ClusterRole } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { describe, expect, expectTypeOf, it } from 'vitest';

describe('generated kinds', () => {
  it('a resource is its names and carries the type of its objects', () => {
    expect(Deployment).toEqual({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
      plural: 'deployments',
      scope: 'Namespaced',
    });
    expect(ClusterRole.scope).toBe('Cluster');
    expectTypeOf<ObjectOf<typeof Pod>>().toEqualTypeOf<Pod>();
    expectTypeOf<Pod['spec']>().toEqualTypeOf<PodSpec | undefined>();
  });

  it('every resource of the discovery facts is exported', async () => {
    const missing: string[] = [];
    for (const [id, facts] of Object.entries(discoveryFacts().resources)) {
      const parts = id.split('/');
      const [group, version, plural] = parts.length === 3 ? parts : ['core', ...parts];
      const module = (await import(`./generated/${group}/${version}.ts`)) as Record<
        string,
        { plural: string } | undefined
      >;
      if (module[facts.kind]?.plural !== plural) missing.push(id);
    }
    expect(missing).toEqual([]);
  });

  it('the generated files are those of the facts in the repository', () => {
    const release = schemaFacts().release;
    const root = new URL('./generated/', import.meta.url);
    for (const file of readdirSync(root, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      expect(readFileSync(`${file.parentPath}/${file.name}`, 'utf8')).toContain(`(Kubernetes ${release})`);
    }
  });
});

describe('facts', () => {
  it('are read once and shared', () => {
    expect(schemaFacts()).toBe(schemaFacts());
  });

  it('every resource that is stored has a key, columns, field selectors and a kind with a schema and a message', () => {
    const { resources, notStored } = storageKeyFacts();
    for (const id of Object.keys(discoveryFacts().resources).filter((each) => !notStored.includes(each))) {
      expect(resources, `storagekeys.json: ${id}`).toHaveProperty([id]);
      const kind = discoveryFacts().resources[id]?.kind;
      const definition = schemaFacts().kinds[`${id.slice(0, id.lastIndexOf('/'))}/${kind}`];
      expect(definition, `schemas.json, kinds: ${id}`).toBeDefined();
      expect(schemaFacts().definitions, `schemas.json, definitions: ${id}`).toHaveProperty([definition ?? '']);
      if (!definition?.startsWith('aggregator/'))
        expect(protobufFacts().messages, `protobuf.json: ${id}`).toHaveProperty([definition ?? '']);
      expect(tableColumnFacts().resources, `tablecolumns.json: ${id}`).toHaveProperty([id]);
      expect(fieldSelectorFacts().resources, `fieldselectors.json: ${id}`).toHaveProperty([id]);
    }
  });
});
