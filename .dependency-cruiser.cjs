// The layer table (architecture/layers.json) as dependency-cruiser rules. KAPSTAN_LAYERS_ROOT moves the root of the rules
// into another folder: that is how test/lint/layers.test.ts shows that every rule bites.
const {
  packages,
  doorsOnlyFor,
  testDoors,
  folderOrder,
  modulesOnlyIn,
  noNodeCoreIn,
} = require('./architecture/layers.json');

const root = process.env.KAPSTAN_LAYERS_ROOT ?? '';
const isTest = ['\\.(test|test-d)\\.ts$'];
const quote = (text) => text.replace(/[.]/g, '\\.');
const home = (name) => `^${root}packages/${name}/`;
const anyOf = (names) => `^${root}packages/(${names.join('|')})/`;
const names = Object.keys(packages);
/** Fixtures that are no part of the package. */
const fixtures = (name) =>
  testDoors.some((door) => door.package === name) || !packages[name].doors.includes('src/testing/index.ts')
    ? [`${home(name)}src/testing/`]
    : [];

const layer = names.map((name) => {
  const places = packages[name].mayImportFrom ?? {};
  return {
    name: `layer:${name}`,
    comment: `${name} may import ${packages[name].mayImport.join(', ') || 'no other package'}`,
    severity: 'error',
    from: {
      path: `${home(name)}src/`,
      pathNot: [...isTest, ...fixtures(name), ...Object.keys(places).map((file) => `${home(name)}${quote(file)}$`)],
    },
    to: { path: `^${root}packages/`, pathNot: anyOf([name, ...packages[name].mayImport]) },
  };
});

const places = names.flatMap((name) =>
  Object.entries(packages[name].mayImportFrom ?? {}).map(([file, more]) => ({
    name: `layer:${name}:${file}`,
    severity: 'error',
    from: { path: `${home(name)}${quote(file)}$` },
    to: { path: `^${root}packages/`, pathNot: anyOf([name, ...packages[name].mayImport, ...more]) },
  })),
);

const doors = names.flatMap((name) =>
  packages[name].doors.map((door) => `${home(name)}${door.replace(/\.ts$/, '\\.ts')}$`),
);
/** Doors that tests alone go through, and the fixtures of other packages. */
const doorsOfTests = testDoors.map(({ package: name, door }) => `${home(name)}${quote(door)}$`);
const frontDoor = {
  name: 'front-door',
  comment: "only another package's exported entry points",
  severity: 'error',
  from: { path: `^${root}packages/([^/]+)/` },
  to: { path: `^${root}packages/`, pathNot: [`^${root}packages/$1/`, ...doors, ...doorsOfTests] },
};
const testDoor = {
  name: 'test-door',
  comment: 'fixtures of another package are for tests',
  severity: 'error',
  from: { path: `^${root}packages/([^/]+)/src/`, pathNot: [...isTest, '/src/testing/'] },
  to: { path: doorsOfTests, pathNot: [`^${root}packages/$1/`] },
};

const restrictedDoors = doorsOnlyFor.map(({ package: name, door, importers }) => ({
  name: `door:${name}/${door}`,
  severity: 'error',
  from: { path: `^${root}packages/`, pathNot: [anyOf([name, ...importers]), ...isTest, '/src/testing/'] },
  to: { path: `${home(name)}${quote(door)}` },
}));

/**
 * The places of a package in their order: each may import those before it. "." is the files that lie in no folder, "a" the folder with all
 * below it, and "a/*" the folders in it one by one, none of which may import another. A folder with an entry of its own is in no other.
 */
const orderedFolders = Object.entries(folderOrder).flatMap(([name, order]) => {
  const place = (entry, folder = '[^/]+') => {
    if (entry === '.') return `${home(name)}src/[^/]+$`;
    const parent = entry.replace(/\*$/, '').replace(/\/?$/, '/');
    const others = order
      .filter((other) => other !== entry && other.startsWith(parent))
      .map((other) => other.slice(parent.length));
    const notThose = others.map((other) => `(?!${other === '*' ? '[^/]+' : quote(other)}/)`).join('');
    return `${home(name)}src/${quote(parent)}${notThose}${entry.endsWith('*') ? `${folder}/` : ''}`;
  };
  const upwards = order.slice(0, -1).map((entry, at) => ({
    name: `folder:${name}/${entry}`,
    comment: `${entry} may import ${order.slice(0, at).join(', ') || 'no other folder'}`,
    severity: 'error',
    from: { path: place(entry), pathNot: isTest },
    to: { path: order.slice(at + 1).map((later) => place(later)) },
  }));
  const sideways = order
    .filter((entry) => entry.endsWith('*'))
    .map((entry) => ({
      name: `siblings:${name}/${entry}`,
      comment: `no folder of ${entry} may import another`,
      severity: 'error',
      from: { path: place(entry, '([^/]+)'), pathNot: isTest },
      to: { path: place(entry), pathNot: place(entry, '$1') },
    }));
  return [...upwards, ...sideways];
});

const modules = modulesOnlyIn.map(({ name, modules: list, packages: allowed }) => ({
  name: `module:${name}`,
  severity: 'error',
  from: { path: `^${root}packages/`, pathNot: anyOf(allowed) },
  to: { path: list.map((module) => `(^|/)node_modules/${quote(module)}(/|$)|^${quote(module)}(/|$)`) },
}));

const noCore = noNodeCoreIn.map((name) => ({
  name: `no-core:${name}`,
  severity: 'error',
  from: { path: `${home(name)}src/`, pathNot: [...isTest, `${home(name)}src/testing/`] },
  to: { dependencyTypes: ['core'] },
}));

module.exports = {
  forbidden: [
    ...layer,
    ...places,
    frontDoor,
    testDoor,
    ...restrictedDoors,
    ...orderedFolders,
    ...modules,
    ...noCore,
    { name: 'no-cycles', severity: 'error', from: { path: `^${root}packages/` }, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: { path: `^${root}packages/` }, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@kapstan/source', 'types', 'import', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
