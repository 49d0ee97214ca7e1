// Tests the custom resources of other projects: each definition is installed, the project's own examples are created, and objects that its
// rules or schema forbid are refused with the project's text. The YAML comes from Go modules.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type DeepReadonly, isStatusError, type Resource, resource, type UnstructuredObject } from '@kapstan/api';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type FieldProject, fieldProjects } from './field-projects.ts';
import { goModule } from './go-programs.ts';

function* objectsIn(path: string): Generator<UnstructuredObject> {
  if (statSync(path).isDirectory()) {
    for (const name of readdirSync(path).sort()) yield* objectsIn(join(path, name));
  } else if (/\.ya?ml$/.test(path)) {
    // Templates with placeholders are not YAML.
    for (const document of parseAllDocuments(readFileSync(path, 'utf8'), { logLevel: 'silent' }))
      if (document.errors.length === 0 && document.contents !== null) yield document.toJS() as UnstructuredObject;
  }
}

/** Creates the definitions and returns the resource of each version and kind, by `apiVersion/kind`. */
async function install(
  { client }: TestCluster,
  definitions: readonly CustomResourceDefinition[],
): Promise<Map<string, Resource<UnstructuredObject>>> {
  const resources = new Map<string, Resource<UnstructuredObject>>();
  for (const definition of definitions) {
    await client.create(CustomResourceDefinition, definition);
    const { group, names, scope, versions } = definition.spec;
    for (const { name: version } of versions) {
      const token = {
        group,
        version,
        kind: names.kind,
        plural: names.plural,
        scope: scope as 'Namespaced' | 'Cluster',
      };
      resources.set(`${group}/${version}/${names.kind}`, resource<UnstructuredObject>(token));
    }
  }
  const isEstablished = ({ status }: DeepReadonly<CustomResourceDefinition>): boolean =>
    status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') === true;
  await expect
    .poll(async () => (await client.list(CustomResourceDefinition)).every((one) => isEstablished(one)), {
      timeout: 30_000,
    })
    .toBe(true);
  return resources;
}

/** Creates the examples that the project keeps, and returns how many of them were right. */
async function createExamples(
  { client }: TestCluster,
  resources: ReadonlyMap<string, Resource<UnstructuredObject>>,
  examples: Iterable<UnstructuredObject>,
): Promise<number> {
  let created = 0;
  for (const example of examples) {
    const kind = resources.get(`${example?.apiVersion}/${example?.kind}`);
    if (kind === undefined || typeof example.metadata !== 'object') continue;
    const namespace = kind.scope === 'Namespaced' ? { namespace: 'default' } : {};
    try {
      await client.create(kind, { ...example, metadata: { ...example.metadata, ...namespace } });
      created += 1;
    } catch (error) {
      // Projects keep wrong examples too, and the same one in several files.
      if (!isStatusError(error)) throw error;
    }
  }
  return created;
}

async function check(project: FieldProject, folder: string): Promise<void> {
  await using cluster = await testCluster({ http: 'off' });
  const definitions = project.definitions
    .flatMap((name) => [...objectsIn(join(folder, name))])
    .filter(({ kind }) => kind === 'CustomResourceDefinition') as unknown as CustomResourceDefinition[];
  expect(definitions.length).toBeGreaterThanOrEqual(project.atLeast);
  const resources = await install(cluster, definitions);
  const { folders = [], atLeast = 0 } = project.examples ?? {};
  const examples = folders.flatMap((name) => [...objectsIn(join(folder, name))]);
  expect(await createExamples(cluster, resources, examples)).toBeGreaterThanOrEqual(atLeast);
  const { object, text } = project.wrong;
  const kind = resources.get(`${object.apiVersion}/${object.kind}`) as Resource<UnstructuredObject>;
  await expect(cluster.client.create(kind, object)).rejects.toThrow(text);
}

describe.each(fieldProjects)('the custom resources of $title', (project) => {
  it('are installed, their examples created, and what they forbid refused', { timeout: 300_000 }, async ({ skip }) => {
    const found = await goModule(project.module);
    if (typeof found === 'string') return skip(found);
    await check(project, found.folder);
  });
});
