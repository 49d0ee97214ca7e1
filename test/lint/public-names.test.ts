// The names of @kapstan/api that programs see: few enough to be read, and each of them on purpose. No name of any package has two doors.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) => namesIn(list));
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

/** A name that a file exports; `from`: the file or package that it comes from. */
interface Door {
  readonly package: string;
  readonly file: string;
  readonly name: string;
  readonly from: string;
}

/** Returns the doors of all packages: `index`, `errors` and `internal`. Suites for tests are not among them. */
const doors: readonly Door[] = readdirSync(join(root, 'packages')).flatMap((name) =>
  ['index', 'errors', 'internal']
    .map((door) => `packages/${name}/src/${door}.ts`)
    .filter((file) => existsSync(join(root, file)))
    .flatMap((file) => doorsIn(name, file)),
);

function doorsIn(name: string, file: string): readonly Door[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)].flatMap(([, list = '', from = '']) =>
    namesIn(list).map((each) => ({ package: name, file, name: each, from })),
  );
}

function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim().replace(/^type /, ''))
    .filter(Boolean);
}

/** Programs that start a control plane give it functions of these types, and need no other package for that. */
const ofControlPlanes = /^@kapstan\/(?:apiserver|apiextensions|controller\/certificates)$/;

it('no name has two doors in its package', () => {
  const twice = doors.filter((door) =>
    doors.some((other) => other.package === door.package && other.name === door.name && other !== door),
  );
  expect(twice.map(({ file, name }) => `${file} ${name}`)).toEqual([]);
});

it('a name that a package takes from another has one public door', () => {
  const passedOn = doors.filter(({ from }) => from.startsWith('@kapstan/'));
  const isAllowed = (door: Door): boolean =>
    door.from.endsWith('/internal')
      ? passedOn.every((other) => other === door || other.name !== door.name || !other.from.endsWith('/internal'))
      : door.package === 'control-plane' && ofControlPlanes.test(door.from);
  expect(passedOn.filter((door) => !isAllowed(door)).map(({ file, name }) => `${file} ${name}`)).toEqual([]);
});

it('the packages import each name from where it is, not from a package that passes it on', () => {
  const passedOn = new Set(
    doors.filter(({ from }) => from.startsWith('@kapstan/')).map((door) => `@kapstan/${door.package} ${door.name}`),
  );
  // Test clusters are such programs.
  const isProgram = (file: string, from: string): boolean =>
    file.startsWith('packages/testing/') && from === '@kapstan/control-plane';
  const detours = filesOf('packages', /(?<!\.test)\.ts$/).flatMap((file) => {
    const imports = readFileSync(join(root, file), 'utf8').matchAll(/^import (?:type )?\{([^}]*)\} from '(@[^']+)'/gm);
    return [...imports].flatMap(([, list = '', from = '']) =>
      namesIn(list).flatMap((name) =>
        passedOn.has(`${from} ${name.split(' ')[0]}`) && !isProgram(file, from) ? [`${file} ${name}`] : [],
      ),
    );
  });
  expect(detours).toEqual([]);
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
