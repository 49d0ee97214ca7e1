// An API server of the built-in kinds for tests.

import { startTestServer, type TestServer, type TestServerOptions } from '@kapstan/apiserver/testing';
import { builtinResources } from '../builtin-resources.ts';

/** Like startTestServer, with all built-in resources. */
export function startKubernetesServer(
  openEngine: Parameters<typeof startTestServer>[0],
  options: TestServerOptions = {},
): Promise<TestServer> {
  return startTestServer(openEngine, { definitions: builtinResources(), ...options });
}
