// The names of @kapstan/api that programs see: few enough to be read, and each of them on purpose.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const most = 100;

/** Names by their purpose. A new one is added here, or else exported from `@kapstan/api/errors` or `/internal`. */
const names = `
objects      KubernetesObject KubernetesList ObjectMeta ListMeta OwnerReference UnstructuredObject DeepReadonly DeepWritable deepCopy
conditions   AnyCondition getCondition setCondition
names        ObjectKey ObjectName ObjectTarget metaNamespaceKey splitMetaNamespaceKey objectKey
resources    Resource NamespacedResource ResourceSpec resource ObjectOf apiVersionOf GroupResource Scheme
own ones     defineResource DefinedResource DefinedObject ObjectSchema SchemaType ResourceDefinitionSpec PrinterColumn
ports        ResourceClient ListerWatcher ListerWatcherScope ListResult ObjectList WriteObserver Clock CancelTimer Logger LogFields
defaults     systemClock silentLogger
options      CallOptions GetOptions SelectionOptions ListOptions WatchOptions WriteOptions ApplyOptions DeleteOptions SubresourceOptions Patch PatchArguments
streams      WatchEvent ObjectEvent BookmarkEvent
versions     ResourceVersion Revision toRevision compareResourceVersions
selectors    parseLabelSelector labelSelectorFrom LabelSelector LabelSelectorSpec parseFieldSelector FieldSelector everyLabel everyField
values       parseQuantity Quantity ExactNumber parseJson stringifyJson delay formatTime parseTime parseDuration
errors       StatusError Status StatusReason retryAfterSeconds isStatusError isNotFound isAlreadyExists isConflict isExpired isForbidden isInvalid
             isTooManyRequests isUnauthorized isBadRequest isInternalError isMethodNotSupported isServerTimeout isServiceUnavailable isTimeout
             isTooLargeResourceVersion
`
  .split('\n')
  .flatMap((line) => line.slice(13).split(' '))
  .filter(Boolean);

function exportsOf(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter(Boolean),
  );
}

/** Returns the files of a folder whose names match, without installed and built ones. */
function filesOf(folder: string, name: RegExp): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (['node_modules', 'dist'].includes(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesOf(path, name);
    return name.test(entry.name) ? [path] : [];
  });
}

it(`@kapstan/api has at most ${most} names, and these`, () => {
  const present = exportsOf('packages/api/src/index.ts');
  expect([...present].sort()).toEqual([...names].sort());
  expect(present.length).toBeLessThanOrEqual(most);
});

it('no name has two doors', () => {
  const doors = ['index', 'errors', 'internal'].flatMap((door) => exportsOf(`packages/api/src/${door}.ts`));
  expect(doors.filter((name, at) => doors.indexOf(name) !== at)).toEqual([]);
});

it('no program for readers uses what is internal', () => {
  const readmes = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`);
  const programs = [
    ...filesOf('examples', /\.(ts|mjs|md)$/),
    ...filesOf('docs', /^[^0-9].*\.md$/),
    ...readmes,
    'README.md',
  ];
  const users = programs.filter((file) =>
    /from '@kapstan\/[a-z-]+\/internal'/.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(users).toEqual([]);
});
