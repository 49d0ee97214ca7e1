// `kapstan generate types` on the custom resources of other projects: the types compile under the strictest options and match the schemas,
// and the definitions come back unchanged. The YAML comes from Go modules.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineResource, type ObjectSchema } from '@kapstan/api';
import {
  definitionFiles,
  definitionsIn,
  loadProgram,
  outdatedFiles,
  readDefinitions,
  type SourcedDefinition,
  typeFiles,
  writeFiles,
} from '@kapstan/generate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FieldProject, fieldProjects } from './field-projects.ts';
import { goModule } from './go-programs.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-generated-types-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rmSync(folder, { recursive: true }));

const settings = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  isolatedDeclarations: true,
  declaration: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  rewriteRelativeImportExtensions: true,
  noUnusedLocals: true,
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable'],
  types: ['node'],
  skipLibCheck: true,
  rootDir: '.',
  outDir: 'dist',
};

/** Compiles a folder and returns the complaints. Without a check only the syntax counts, which takes a third of the time. */
function compile(name: string, { isChecked }: { readonly isChecked: boolean }): string {
  const config = join(folder, `tsconfig.${name}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...settings, noCheck: !isChecked }, include: [name] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', config], { cwd: folder, encoding: 'utf8' }).stdout;
}

/** Programs that compile only if the types are exact; each expected error is one that a schema forbids. */
const programs: Readonly<Record<string, string>> = {
  'Gateway API': `import { Gateway, HTTPRoute } from './gateway.networking.k8s.io/v1.ts';
    import { Gateway as Installed } from './gateway.networking.k8s.io/definitions.ts';
    export const route: HTTPRoute = { metadata: { name: 'a' }, spec: { rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }] } };
    // @ts-expect-error no such type of match
    route.spec.rules = [{ matches: [{ path: { type: 'Prefix' } }] }];
    // @ts-expect-error a gateway has a class
    export const gateway: Gateway = { spec: { listeners: [] } };
    export const scope: 'Namespaced' = HTTPRoute.scope;
    export const name: string = Installed.definition.metadata.name;
    // @ts-expect-error the status may be missing
    export const addresses: unknown = gateway.status.addresses;`,
  'cert-manager': `import { Certificate, ClusterIssuer } from './cert-manager.io/v1.ts';
    export const certificate: Certificate = { spec: { issuerRef: { name: 'ca' }, secretName: 'tls', usages: ['server auth'] } };
    // @ts-expect-error no such usage
    export const wrong: Certificate = { spec: { issuerRef: { name: 'ca' }, secretName: 'tls', usages: ['server'] } };
    export const scope: 'Cluster' = ClusterIssuer.scope;
    export const size: number | undefined = certificate.spec?.privateKey?.size;`,
};

async function definitionsOf(project: FieldProject, module: string): Promise<readonly SourcedDefinition[]> {
  const all = await Promise.all(project.definitions.map((name) => readDefinitions(join(module, name))));
  // Some projects keep the same definition in several folders.
  return [...new Map(all.flat().map((one) => [nameOf(one), one])).values()];
}

const nameOf = ({ definition }: SourcedDefinition): string => (definition.metadata as { name: string }).name;

async function check(project: FieldProject, module: string): Promise<void> {
  const definitions = await definitionsOf(project, module);
  expect(definitions.length).toBeGreaterThanOrEqual(project.atLeast);
  const files = typeFiles(definitions, { source: project.module });
  expect(typeFiles([...definitions].reverse(), { source: project.module })).toEqual(files);
  const name = project.title.replaceAll(/\W/g, '-').toLowerCase();
  await writeFiles(files, join(folder, name));
  expect(await outdatedFiles(files, join(folder, name))).toEqual([]);
  const program = programs[project.title];
  writeFileSync(join(folder, name, 'program.ts'), program ?? 'export {};');
  expect(compile(name, { isChecked: program !== undefined })).toBe('');
  const modules = files.filter(({ path }) => path.endsWith('definitions.ts'));
  const specs = new Map<string, unknown>();
  for (const { path } of modules) {
    const installed = await loadProgram(join(folder, 'dist', name, path.replace(/ts$/, 'js')));
    for (const file of definitionFiles(installed))
      for (const one of definitionsIn(file.text, file.path)) specs.set(nameOf(one), one.definition.spec);
  }
  for (const one of definitions) {
    expect(specs.get(nameOf(one)), nameOf(one)).toEqual(one.definition.spec);
    expectUntouched(one);
  }
}

/** A schema that is structural already passes through defineResource as it is. */
function expectUntouched({ definition }: SourcedDefinition): void {
  const { versions } = definition.spec as { readonly versions: readonly Version[] };
  for (const { schema } of versions) {
    const { spec } = schema.openAPIV3Schema.properties ?? {};
    if (spec === undefined) continue;
    const made = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Any', spec }).definition as unknown as {
      readonly spec: { readonly versions: readonly Version[] };
    };
    expect(made.spec.versions[0]?.schema.openAPIV3Schema.properties?.spec).toEqual(spec);
  }
}

interface Version {
  readonly schema: { readonly openAPIV3Schema: { readonly properties?: { readonly spec?: ObjectSchema } } };
}

describe.each(fieldProjects)('types of $title', (project) => {
  it('compile, and their definitions come back', { timeout: 300_000 }, async ({ skip }) => {
    const found = await goModule(project.module);
    if (typeof found === 'string') return skip(found);
    await check(project, found.folder);
  });
});
