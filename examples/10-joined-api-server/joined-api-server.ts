// The library of example 07 as part of a main API server, which passes requests on to it: this server trusts the main
// server's statement of who sent a request, and asks it for the access decision. An APIService there names the Service
// behind which this server runs. Run it with a directory that contains tls.crt and tls.key, a port, and a kubeconfig
// whose user may create token reviews and access reviews on the main server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
  FieldManager,
  objectPatching,
  ResourceCatalog,
  ResourceStack,
  schemaResource,
  startApiServer,
} from '@kapstan/apiserver';
import { connect } from '@kapstan/client';
import { delegatedAccess } from '@kapstan/kubernetes';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { books, loans } from '../07-own-api-server/library.ts';

const [folder = '.', port = '0', kubeconfig = ''] = process.argv.slice(2);
const { clientCa, ...access } = await delegatedAccess({ client: await connect({ kubeconfig }) });

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
