// The shared suite of wrong calls over HTTP: no request may reach the server.
import { wrongCallConformance } from '@kapstan/api/testing';
import { Client } from './client.ts';
import { ScriptedServer } from './testing/scripted-server.ts';

await wrongCallConformance('the HTTP client', async () => {
  const server = await ScriptedServer.start();
  const client = new Client({ server: server.url });
  const close = async (): Promise<void> => {
    await client.close();
    await server[Symbol.asyncDispose]();
  };
  return { client, passedOn: () => server.requests.length, close };
});
