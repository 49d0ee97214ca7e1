// A complete API server for two kinds of its own, on the embedded store, with tokens and access rules. kubectl and
// informers work with it as with any API server: get -w, apply, explain. Run it with a directory that contains tls.crt
// and tls.key. With a port and a kubeconfig it joins a main API server, which passes requests on: an APIService names
// it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { KubernetesObject } from '@kapstan/api';
import { invalidField } from '@kapstan/api/errors';
import {
  FieldManager,
  mastersAuthorizer,
  objectPatching,
  ResourceCatalog,
  ResourceStack,
  RuleList,
  rbacAuthorizer,
  type SchemaKind,
  schemaResource,
  startApiServer,
  timeSince,
  tokenAuthenticator,
  unionAuthorizer,
} from '@kapstan/apiserver';
import { openLmdbEngine } from '@kapstan/storage-lmdb';

type Book = KubernetesObject & { spec: { title: string; copies: number }; status?: { available?: number } };
type Loan = KubernetesObject & { spec: { book: string; reader: string } };

const group = 'library.example.com';
const text = (description: string) => ({ type: 'string', minLength: 1, description });
const column = (name: string, type: string, priority = 0) => ({
  ...{ name, type, format: name === 'Name' ? 'name' : '', description: name, priority },
});

const books: SchemaKind<Book> = {
  ...{ group, version: 'v1', kind: 'Book', plural: 'books', shortNames: ['bk'], categories: ['all'] },
  hasStatus: true,
  schema: {
    type: 'object',
    description: 'Book is a title in the library.',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        description: 'What the library owns of it.',
        required: ['title'],
        properties: {
          title: text('Title as printed on the cover.'),
          copies: { type: 'integer', format: 'int64', minimum: 0, default: 1, description: 'Number of copies.' },
        },
      },
      status: {
        type: 'object',
        description: 'What can be lent.',
        properties: { available: { type: 'integer', format: 'int64' } },
      },
    },
  },
  table: {
    columns: [
      column('Name', 'string'),
      column('Title', 'string'),
      column('Copies', 'integer'),
      column('Available', 'integer'),
      column('Age', 'string'),
    ],
    cells: ({ metadata, spec, status }) => [
      metadata?.name,
      spec.title,
      spec.copies,
      status?.available ?? spec.copies,
      timeSince(metadata?.creationTimestamp),
    ],
  },
  validate: ({ spec, status }) =>
    (status?.available ?? 0) <= spec.copies
      ? []
      : [invalidField('status.available', status?.available, 'must not be more than the number of copies')],
};

const loans: SchemaKind<Loan> = {
  ...{ group, version: 'v1', kind: 'Loan', plural: 'loans' },
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['book', 'reader'],
        properties: { book: text('Name of the book.'), reader: text('Name of the borrower.') },
      },
    },
  },
};

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

const [folder = '.', port = '0', kubeconfig] = process.argv.slice(2);
const engine = await openLmdbEngine({ dataDir: join(folder, 'data'), onFatal: () => process.exit(1) });
const catalog = new ResourceCatalog();
const managedFields = new FieldManager();
const stacks = [schemaResource(books), schemaResource(loans)].map(
  (definition) => new ResourceStack(definition, { engine, managedFields }),
);
for (const stack of stacks) catalog.install(stack.served);
await Promise.all(stacks.map((stack) => stack.waitUntilReady()));
const own = {
  authentication: { authenticators: [tokenAuthenticator(users)] },
  authorizer: unionAuthorizer([mastersAuthorizer, rbacAuthorizer(rules)]),
  clientCa: undefined,
};
const { clientCa, ...access } =
  kubeconfig === undefined ? own : await (await import('./main-server.ts')).accessFrom(kubeconfig);
const server = await startApiServer({
  catalog,
  ...access,
  patching: objectPatching(managedFields),
  tls: { cert: readFileSync(join(folder, 'tls.crt')), key: readFileSync(join(folder, 'tls.key')), clientCa },
  port: Number(port),
});
console.log('books and loans are served at', server.url);

process.once('SIGTERM', async () => {
  await server.close();
  for (const stack of stacks) await stack.close();
  await engine.close();
  console.log('closed');
});
