// Collects the paths of some resources and the schemas that they refer to, in OpenAPI v3. It works in slices, because a
// definition may have megabytes. Used by openapi-documents.ts and swagger-documents.ts.
import { formatApiVersion, type GroupVersion, type SlicedWork } from '@kapstan/api/internal';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { OpenApiObject } from './openapi-operations.ts';
import { resourcePaths } from './openapi-paths.ts';
import { type ComponentSchemas, refTo } from './openapi-schemas.ts';
import { describePage, groupVersionPage, type RootPage } from './root-paths.ts';

export interface Contents {
  readonly paths: readonly (readonly [string, OpenApiObject])[];
  /** The members of `paths` that belong to custom resources. */
  readonly customPaths: ReadonlySet<string>;
  readonly schemas: readonly (readonly [string, OpenApiObject])[];
}

export interface ContentsOf {
  readonly definitions: readonly ResourceDefinition[];
  readonly pages: Iterable<RootPage>;
  /** Initially empty. */
  readonly schemas: ComponentSchemas;
}

export function* describeContents({ definitions, pages, schemas }: ContentsOf): SlicedWork<Contents> {
  const paths: [string, OpenApiObject][] = [];
  const customPaths = new Set<string>();
  for (const page of [...pages, ...groupVersions(definitions).map(groupVersionPage)]) {
    paths.push([page.path, describePage(page, schemas)]);
  }
  for (const definition of definitions) {
    for (const [path, item] of Object.entries(yield* describeResource(definition, schemas))) {
      paths.push([path, item as OpenApiObject]);
      if (definition.isCustom === true) customPaths.add(path);
    }
    yield;
  }
  paths.sort(([a], [b]) => (a < b ? -1 : 1));
  return { paths, customPaths, schemas: Object.entries(schemas.all()) as [string, OpenApiObject][] };
}

/** Returns the group versions with built-in resources, for which the server documents its list of resources. */
function groupVersions(definitions: readonly ResourceDefinition[]): readonly GroupVersion[] {
  const found = new Map<string, GroupVersion>();
  for (const { group, version, isCustom } of definitions) {
    if (isCustom !== true) found.set(formatApiVersion({ group, version }), { group, version });
  }
  return [...found.values()];
}

/** Adds the schemas of a resource's kinds and returns its paths. */
function* describeResource(
  definition: ResourceDefinition,
  schemas: ComponentSchemas,
): SlicedWork<Readonly<OpenApiObject>> {
  // A parent that exists only for its subresources has no kind that anyone could send.
  const { kind, list } =
    definition.verbs.length === 0 ? { kind: '', list: '' } : yield* schemas.addResource(definition);
  return resourcePaths(definition, {
    kind: { $ref: refTo(kind) },
    list: { $ref: refTo(list) },
    refTo: (name) => schemas.refTo(name),
    refToKind: (of) => {
      const name = schemas.types.nameOf(formatApiVersion(of), of.kind);
      return name === undefined ? undefined : schemas.refTo(name);
    },
  });
}
