// typeFiles: the TypeScript of custom resources. A file for each group and version, as @kapstan/kinds has them, because the kinds of a group
// version are used together; and one for each group with the whole definitions, which only programs that install them load.
import type { GeneratedFile } from '../output/generated-file.ts';
import type { SourcedDefinition } from '../source/definition-document.ts';
import { isJsonObject, type JsonObject, requiredObject, requiredText } from '../source/json-object.ts';
import { shownSource } from '../source/shown-source.ts';
import { requireGroup, requireKind, requireLabel, requireVersion } from './checked-names.ts';
import { identifier, UniqueNames } from './identifiers.ts';
import { pureDefinition } from './pure-definition.ts';
import { TypeWriter } from './type-writer.ts';

/** Options of {@link typeFiles}. */
export interface TypeFilesOptions {
  /** The source of the files, for their first line: a path, or a URL, of which only origin and path are shown. */
  readonly source: string;
  /**
   * Extension with which the generated files import each other. Default ".ts", as Node runs them; ".js" for compilers that do not rewrite
   * imports.
   */
  readonly importExtension?: '.ts' | '.js';
}

/** A version of a kind. */
interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: string;
  readonly schema: JsonObject;
  readonly path: string;
  readonly doc: readonly string[];
  readonly isStored: boolean;
  readonly definition: JsonObject;
}

/**
 * Throws an Error, with file, document and path, for definitions that lack parts from which types are made. The same input gives the same
 * files.
 */
export function typeFiles(
  definitions: readonly SourcedDefinition[],
  options: TypeFilesOptions,
): readonly GeneratedFile[] {
  const single = withoutDoubles(definitions);
  const kinds = single.flatMap(kindsOf);
  requireOneEach(single);
  const groups = [...new Set(kinds.map(({ group }) => group))].sort();
  return groups.flatMap((group) => {
    const ofGroup = kinds.filter((kind) => kind.group === group).sort((a, b) => (a.kind < b.kind ? -1 : 1));
    const versions = [...new Set(ofGroup.map(({ version }) => version))].sort();
    return [
      definitionsFile(group, ofGroup, options),
      ...versions.map((version) =>
        versionFile(group, version, { kinds: ofGroup.filter((kind) => kind.version === version), options }),
      ),
    ];
  });
}

function withoutDoubles(definitions: readonly SourcedDefinition[]): readonly SourcedDefinition[] {
  const byName = new Map<string, SourcedDefinition>();
  for (const one of definitions) {
    const { name } = requiredObject(one.definition.metadata, `${one.place}: metadata`);
    const before = byName.get(String(name));
    if (before !== undefined) throw new Error(`${one.place}: the same definition is in ${before.place}`);
    byName.set(String(name), one);
  }
  return [...byName.values()];
}

/** Two definitions of one kind would give two constants with the same name. */
function requireOneEach(definitions: readonly SourcedDefinition[]): void {
  const places = new Map<string, string>();
  for (const { definition, place } of definitions) {
    const { group, names } = definition.spec as { readonly group: string; readonly names: { readonly kind: string } };
    const before = places.get(`${identifier(names.kind)}.${group}`);
    if (before !== undefined) throw new Error(`${place}: the kind ${names.kind} of ${group} is also in ${before}`);
    places.set(`${identifier(names.kind)}.${group}`, place);
  }
}

function kindsOf({ definition, place }: SourcedDefinition): readonly Kind[] {
  const spec = requiredObject(definition.spec, `${place}: spec`);
  const names = requiredObject(spec.names, `${place}: spec.names`);
  const common = {
    group: checkedText(spec.group, `${place}: spec.group`, requireGroup),
    kind: checkedText(names.kind, `${place}: spec.names.kind`, requireKind),
    plural: checkedText(names.plural, `${place}: spec.names.plural`, requireLabel),
    scope: requiredText(spec.scope, `${place}: spec.scope`),
    definition,
  };
  return versionsOf(spec, place).map((given, index) => {
    const path = `${place}: spec.versions[${index}]`;
    const version = requiredObject(given, path);
    const schema = isJsonObject(version.schema) ? version.schema.openAPIV3Schema : undefined;
    return {
      ...common,
      version: checkedText(version.name, `${path}.name`, requireVersion),
      schema: requiredObject(schema, `${path}.schema.openAPIV3Schema`),
      path: `${path}.schema.openAPIV3Schema`,
      doc: docOf(version),
      isStored: version.storage === true,
    };
  });
}

function versionsOf({ versions }: JsonObject, place: string): readonly unknown[] {
  if (!Array.isArray(versions) || versions.length === 0) throw new Error(`${place}: spec.versions: Required value`);
  const stored = versions.filter((version) => isJsonObject(version) && version.storage === true);
  // Without a stored version there would silently be no whole definition.
  if (stored.length !== 1)
    throw new Error(`${place}: spec.versions: must have exactly one version marked as storage version`);
  return versions;
}

function checkedText(value: unknown, place: string, check: (text: string, place: string) => void): string {
  const text = requiredText(value, place);
  check(text, place);
  return text;
}

function docOf({ served, deprecated, deprecationWarning }: JsonObject): readonly string[] {
  const notServed = served === false ? ['This version is not served.'] : [];
  if (deprecated !== true) return notServed;
  return [
    ...notServed,
    `@deprecated ${typeof deprecationWarning === 'string' ? deprecationWarning : 'The definition says so.'}`,
  ];
}

function headOf({ source }: TypeFilesOptions): string {
  return `// Generated by kapstan generate types from ${shownSource(source).replaceAll(/\s+/g, ' ')}. Do not edit.\n`;
}

function versionFile(
  group: string,
  version: string,
  { kinds, options }: { readonly kinds: readonly Kind[]; readonly options: TypeFilesOptions },
): GeneratedFile {
  const names = new UniqueNames();
  // Kinds get their names before the parts of other kinds do.
  const types = new Map(kinds.map((kind) => [kind, names.take(identifier(kind.kind))]));
  const writer = new TypeWriter(names);
  for (const [kind, type] of types) writer.writeKind(type, kind.schema, kind);
  const tokens = [...types].map(([kind, type]) => tokenOf(kind, type));
  const text = `${headOf(options)}import type * as kapstan from '@kapstan/api';\n\n${writer.text}\n${tokens.join('')}`;
  return { path: `${group}/${version}.ts`, text };
}

function tokenOf({ group, version, kind, plural, scope }: Kind, type: string): string {
  const token =
    scope === 'Cluster'
      ? `kapstan.Resource<${type}> & { readonly scope: 'Cluster' }`
      : `kapstan.NamespacedResource<${type}>`;
  const members = Object.entries({ group, version, kind, plural, scope }).map(
    ([key, value]) => `${key}: ${JSON.stringify(value)}`,
  );
  return `export const ${type}: ${token} = { ${members.join(', ')} };\n`;
}

function definitionsFile(group: string, kinds: readonly Kind[], options: TypeFilesOptions): GeneratedFile {
  const stored = kinds.filter(({ isStored }) => isStored);
  const versions = [...new Set(stored.map(({ version }) => version))].sort();
  const extension = options.importExtension ?? '.ts';
  const imports = versions.map(
    (version) => `import type * as ${identifier(version)} from ${JSON.stringify(`./${version}${extension}`)};\n`,
  );
  const constants = stored.map((kind) => {
    const { version, plural, scope, definition } = kind;
    const type = identifier(kind.kind);
    const token = Object.entries({ group, version, kind: kind.kind, plural, scope }).map(
      ([key, value]) => `  ${key}: ${JSON.stringify(value)},\n`,
    );
    const text = literal(pureDefinition(definition)).replaceAll('\n', '\n  ');
    return `export const ${type}: kapstan.DefinedResource<${identifier(version)}.${type}> = {\n${token.join('')}  definition: ${text} as kapstan.DefinedResource['definition'],\n};\n`;
  });
  const head = `${headOf(options)}// The whole definitions, for programs that install them. Types and names alone are in the files beside.\n`;
  return {
    path: `${group}/definitions.ts`,
    text: `${head}import type * as kapstan from '@kapstan/api';\n${imports.join('')}\n${constants.join('\n')}`,
  };
}

/** In a literal, a plain key of this name would set the prototype instead. */
function literal(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replaceAll(/^( *)"__proto__":/gm, '$1["__proto__"]:');
}
