// Loads a module of a controller program and finds its exports: controllers, resources with definitions, and the options of its `run`. The
// module is run by the import, so it must not start anything.
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DefinedResource, Resource } from '@kapstan/api';
import { isDefinedResource } from '@kapstan/api/internal';
import { type Controller, convertedDefinitions, type RunOptions } from '@kapstan/controller';

/** A program that was read: its controllers, its resources, its options. */
export interface Program {
  /** The path as given, for the head of generated files. */
  readonly source: string;
  readonly controllers: readonly Controller[];
  /**
   * All resources with definitions, exported ones and those of the controllers, sorted by the name of the definition.
   */
  readonly resources: readonly DefinedResource[];
  /** The export `options`: the options that the program passes to `run`. */
  readonly options: RunOptions;
}

/** Rejects when the module cannot be loaded, and explains how Node can load TypeScript. */
export async function loadProgram(path: string): Promise<Program> {
  return programOf(path, await importModule(path));
}

/** Finds controllers and resources among the exports, also in lists, and in plain objects such as a default export. */
export function programOf(source: string, exports: Readonly<Record<string, unknown>>): Program {
  const found: Found = { source, controllers: new Map(), resources: [] };
  for (const [name, value] of Object.entries(exports)) if (name !== 'options') collect(value, found, [name]);
  const options = exports.options ?? (exports.default as Readonly<Record<string, unknown>> | undefined)?.options ?? {};
  if (typeof options !== 'object' || options === null)
    throw new Error(`${source}: the export "options" must be the options of run()`);
  const controllers = [...found.controllers.keys()];
  // The definitions as the manager installs them: a hub's definition has the versions that it converts.
  const resources = convertedDefinitions(controllers, singleResources(found), undefined);
  return { source, controllers, resources, options: options as RunOptions };
}

interface Found {
  readonly source: string;
  /** Controllers with the names of the exports that hold them, for error texts. */
  readonly controllers: Map<Controller, string>;
  readonly resources: NamedResource[];
}

interface NamedResource {
  readonly resource: DefinedResource;
  readonly place: string;
}

const maxDepth = 2;

function collect(value: unknown, found: Found, path: readonly string[]): void {
  if (typeof value !== 'object' || value === null || path.length > maxDepth + 1) return;
  const place = path.join('.');
  if (isController(value)) found.controllers.set(value, place);
  else if (isResource(value)) found.resources.push({ resource: checkedResource(value, found, place), place });
  else if (isPlain(value))
    // Getters have no value here: reading one runs code of the program.
    for (const [name, { value: item }] of Object.entries(Object.getOwnPropertyDescriptors(value)))
      collect(item, found, [...path, name]);
}

/** True for a plain object or a list. Instances of classes, such as clients, hold nothing that is looked for here. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

function isController(value: object): value is Controller {
  return (
    'reconcile' in value &&
    typeof value.reconcile === 'function' &&
    'sources' in value &&
    'resource' in value &&
    !('owns' in value)
  );
}

function isResource(value: object): value is DefinedResource {
  if (!isPlain(value) || !isDefinedResource(value as Resource)) return false;
  const { group, version, kind, plural } = value as Partial<DefinedResource>;
  return [group, version, kind, plural].every((name) => typeof name === 'string' && name !== '');
}

function checkedResource(resource: DefinedResource, { source }: Found, place: string): DefinedResource {
  const { metadata } = (resource.definition ?? {}) as Partial<DefinedResource['definition']>;
  if (typeof metadata?.name === 'string' && metadata.name !== '') return resource;
  throw new Error(`${source}: the export ${place} has a definition without metadata.name; make it with defineResource`);
}

/** Returns each definition once, sorted by name. Versions that a controller converts belong to the definition of its own kind. */
function singleResources({ source, controllers, resources }: Found): readonly DefinedResource[] {
  const spokes = new Set(
    [...controllers.keys()].flatMap(({ hooks }) => [...hooks.conversions.values()].map(({ resource }) => resource)),
  );
  const used = [...controllers].flatMap(([one, place]) => usedBy(one).map((resource) => ({ resource, place })));
  const byName = new Map<string, NamedResource>();
  for (const { resource, place } of [...resources, ...used]) {
    if (spokes.has(resource)) continue;
    const { name } = resource.definition.metadata;
    const before = byName.get(name);
    if (before !== undefined && !isSame(before.resource, resource))
      throw new Error(
        `${source}: the exports ${before.place} and ${place}: two definitions are named ${name}; export one resource with several versions`,
      );
    byName.set(name, { resource, place });
  }
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { resource }]) => resource);
}

function usedBy({ resource, sources, indexes }: Controller): readonly DefinedResource[] {
  const used: readonly Resource[] = [
    resource,
    ...sources.flatMap((one) => (one.type === 'trigger' ? [] : [one.resource])),
    ...indexes.map((index) => index.resource),
  ];
  return used.filter(isDefinedResource);
}

const isSame = (one: DefinedResource, other: DefinedResource): boolean =>
  one.definition === other.definition || JSON.stringify(one.definition) === JSON.stringify(other.definition);

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  const file = resolve(path);
  if (!(await stat(file)).isFile())
    throw new Error(`${path} is not a file; name the module that exports the controllers`);
  try {
    return await import(pathToFileURL(file).href);
  } catch (cause) {
    throw new Error(`cannot load ${path}: ${adviceOn(cause)}`, { cause });
  }
}

function adviceOn(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return `Node ${process.version} does not run TypeScript: use Node 22.18 or newer, a loader such as "node --import tsx", or name the compiled JavaScript`;
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return `${message}; Node only strips types, so name the compiled JavaScript`;
  return message;
}
