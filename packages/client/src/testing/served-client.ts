// A client of a scripted server, for one test.
import { onTestFinished } from 'vitest';
import type { Client } from '../client.ts';
import { ScriptedServer } from './scripted-server.ts';
import { WireClient } from './wire-client.ts';

/** Returns a server and a client of it. Both are closed when the test is over. */
export async function servedClient(): Promise<{ readonly server: ScriptedServer; readonly client: Client }> {
  const server = await ScriptedServer.start();
  const client = new WireClient({ server: server.url });
  onTestFinished(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });
  return { server, client };
}
