// Types of single files of undici, which declares only its front door. Used by undici.ts.
declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici/index.js';

  const request: Dispatcher['request'];
  export = request;
}
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici/index.js';
  export = buildConnector;
}
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici/index.js';
  export = Agent;
}
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici/index.js';
  export = Client;
}
declare module 'undici/lib/dispatcher/dispatcher.js' {
  import { Dispatcher } from 'undici/index.js';
  export = Dispatcher;
}
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici/index.js';
  export = Pool;
}
declare module 'undici/lib/dispatcher/proxy-agent.js' {
  import { ProxyAgent } from 'undici/index.js';
  export = ProxyAgent;
}
