// The layer table (architecture/layers.json) as dependency-cruiser rules. KAPSTAN_LAYERS_ROOT moves the root of the rules
// into another folder: that is how test/lint/layers.test.ts shows that every rule bites.
const { packages, doorsOnlyFor, folders, modulesOnlyIn, noNodeCoreIn } = require('./architecture/layers.json');

const root = process.env.KAPSTAN_LAYERS_ROOT ?? '';
const isTest = ['\\.(test|test-d)\\.ts$'];
const quote = (text) => text.replace(/[.]/g, '\\.');
const home = (name) => `^${root}packages/${name}/`;
const anyOf = (names) => `^${root}packages/(${names.join('|')})/`;
const names = Object.keys(packages);

const layer = names.map((name) => {
  const places = packages[name].mayImportFrom ?? {};
  return {
    name: `layer:${name}`,
    comment: `${name} may import ${packages[name].mayImport.join(', ') || 'no other package'}`,
    severity: 'error',
    from: {
      path: `${home(name)}src/`,
      pathNot: [...isTest, ...Object.keys(places).map((file) => `${home(name)}${quote(file)}$`)],
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
const frontDoor = {
  name: 'front-door',
  comment: "only another package's exported entry points",
  severity: 'error',
  from: { path: `^${root}packages/([^/]+)/` },
  to: { path: `^${root}packages/`, pathNot: [`^${root}packages/$1/`, ...doors] },
};

const restrictedDoors = doorsOnlyFor.map(({ package: name, door, importers }) => ({
  name: `door:${name}/${door}`,
  severity: 'error',
  from: { path: `^${root}packages/`, pathNot: anyOf([name, ...importers]) },
  to: { path: `${home(name)}${door}` },
}));

const closedFolders = folders.map(({ package: name, from, mustNotImport }) => ({
  name: `folder:${name}/${from}`,
  severity: 'error',
  from: { path: `${home(name)}${from}`, pathNot: isTest },
  to: { path: `${home(name)}${mustNotImport}` },
}));

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
    ...restrictedDoors,
    ...closedFolders,
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
