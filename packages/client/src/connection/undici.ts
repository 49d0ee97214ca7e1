// The parts of undici that this package uses, each imported from its own file, because the main entry point also loads fetch, WebSocket,
// caches and mocks, which are more than half of undici, and bundlers keep all of it. Nothing else here imports undici's code
// (undici.test.ts). These files are not a public interface, so package.json allows only patch versions of undici; their types are in
// undici-parts.d.ts.
/// <reference path="./undici-parts.d.ts" />
import type undici from 'undici/index.js';
import requestMethod from 'undici/lib/api/api-request.js';
import connectorBuilder from 'undici/lib/core/connect.js';
import AgentClass from 'undici/lib/dispatcher/agent.js';
import ClientClass from 'undici/lib/dispatcher/client.js';
import DispatcherClass from 'undici/lib/dispatcher/dispatcher.js';
import PoolClass from 'undici/lib/dispatcher/pool.js';
import ProxyAgentClass from 'undici/lib/dispatcher/proxy-agent.js';

export type { buildConnector as BuildConnector, Dispatcher } from 'undici/index.js';

// undici's front door does the same. A program that imports undici too puts the same function there again.
DispatcherClass.prototype.request = requestMethod;

export const Agent: typeof undici.Agent = AgentClass;
export const Client: typeof undici.Client = ClientClass;
export const Pool: typeof undici.Pool = PoolClass;
export const ProxyAgent: typeof undici.ProxyAgent = ProxyAgentClass;
export const buildConnector: typeof undici.buildConnector = connectorBuilder;
