// A complete API server for two kinds of its own, on the embedded store, with tokens and access rules. kubectl and
// informers work with it as with any API server: get -w, apply, explain. Run it with a directory that contains tls.crt
// and tls.key.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
  FieldManager,
  mastersAuthorizer,
  objectPatching,
  ResourceCatalog,
  ResourceStack,
  RuleList,
  rbacAuthorizer,
  schemaResource,
  startApiServer,
  tokenAuthenticator,
  unionAuthorizer,
} from '@kapstan/apiserver';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { books, group, loans } from './library.ts';

// The access rules. Programs that store roles as objects pass in their own RuleSource.
const rules = new RuleList([
  {
    name: 'librarians',
    groups: ['librarians'],
    rules: [{ verbs: ['*'], apiGroups: [group], resources: ['*'] }],
  },
  {
    name: 'readers',
    groups: ['readers'],
    rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [group], resources: ['books'] }],
  },
  {
    name: 'discovery',
    groups: ['system:authenticated'],
    rules: [{ verbs: ['get'], nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/openapi/*', '/version'] }],
  },
]);
const users = new Map([
  ['librarian-token', { name: 'lea', groups: ['librarians'] }],
  ['reader-token', { name: 'ron', groups: ['readers'] }],
]);

const [folder = '.', port = '0'] = process.argv.slice(2);
const engine = await openLmdbEngine({ dataDir: join(folder, 'data'), onFatal: () => process.exit(1) });
const catalog = new ResourceCatalog();
const managedFields = new FieldManager();
const stacks = [schemaResource(books), schemaResource(loans)].map(
  (definition) => new ResourceStack(definition, { engine, managedFields }),
);
for (const stack of stacks) catalog.install(stack.served);
await Promise.all(stacks.map((stack) => stack.waitUntilReady()));
const server = await startApiServer({
  catalog,
  authentication: { authenticators: [tokenAuthenticator(users)] },
  authorizer: unionAuthorizer([mastersAuthorizer, rbacAuthorizer(rules)]),
  patching: objectPatching(managedFields),
  tls: { cert: readFileSync(join(folder, 'tls.crt')), key: readFileSync(join(folder, 'tls.key')) },
  port: Number(port),
});
console.log('books and loans are served at', server.url);

process.once('SIGTERM', async () => {
  await server.close();
  for (const stack of stacks) await stack.close();
  await engine.close();
  console.log('closed');
});
