// The connection pools of this process: one per cluster and credential, shared by clients with equal configuration, and closed
// with the last of them. connection-key.ts decides equality. Source: client-go transport/cache.go (tlsTransportCache).
import type { Logger } from '@kapstan/api';
import type { Credentials } from '../credentials/credentials.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { PoolLease } from './pool-lease.ts';

/** Connections and the credentials that belong to them, because two plugins would give two certificates to one pool. */
interface Link {
  readonly credentials: Credentials;
  readonly pool: ConnectionPool;
  /** Ends the credentials' work in progress. */
  readonly stop: () => void;
}

interface SharedLink extends Link {
  /** One entry for each client. */
  readonly loggers: Map<object, Logger>;
}

/** The share of one client. */
interface Share {
  readonly credentials: Credentials;
  readonly lease: PoolLease;
}

// Weak references, so that a client dropped without close() leaves nothing here, even if its logger refers back to it; its idle
// connections end by their timeout. Source: client-go's ClientsAllowTLSCacheGC.
const links = new Map<string, WeakRef<SharedLink>>();
const dropped = new FinalizationRegistry<() => void>((forget) => forget());

/**
 * Returns a share in the link of that key; `create` makes the link when there is none, and may throw. The logger passed to `create` logs to
 * the loggers of all clients that share it.
 */
export function shareLink(key: string, logger: Logger, create: (logger: Logger) => Link): Share {
  const link = links.get(key)?.deref() ?? createLink(key, create);
  const sharer = {};
  link.loggers.set(sharer, logger);
  const lease = new PoolLease(link.pool, async () => {
    link.loggers.delete(sharer);
    if (link.loggers.size > 0) return;
    links.delete(key);
    link.stop();
    await link.pool.close();
  });
  dropped.register(lease, forgetSharer(new WeakRef(link), sharer));
  return { credentials: link.credentials, lease };
}

function createLink(key: string, create: (logger: Logger) => Link): SharedLink {
  const loggers: SharedLink['loggers'] = new Map();
  const link = { ...create(loggerOfAll(loggers)), loggers };
  const weak = new WeakRef(link);
  links.set(key, weak);
  dropped.register(link, forgetLink(key, weak));
  return link;
}

// These are separate functions, because their closures must not keep the client alive.
function forgetSharer(link: WeakRef<SharedLink>, sharer: object): () => void {
  return () => link.deref()?.loggers.delete(sharer);
}

function forgetLink(key: string, link: WeakRef<SharedLink>): () => void {
  return () => {
    if (links.get(key) === link) links.delete(key);
  };
}

function loggerOfAll(loggers: SharedLink['loggers']): Logger {
  const tell =
    (level: keyof Logger): Logger['warn'] =>
    (message, fields) => {
      for (const logger of new Set(loggers.values())) logger[level](message, fields);
    };
  return { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') };
}
