// The connection pools of this process: one per cluster and credential, shared by the clients that are configured alike, gone
// with the last of them. What makes clients alike is connection-key.ts. Source: client-go transport/cache.go (tlsTransportCache).
import type { Logger } from '@kapstan/api';
import type { Credentials } from '../credentials/credentials.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { PoolLease } from './pool-lease.ts';

/** Connections, and the credentials that belong to them: two plugins would give two certificates to one pool. */
interface Link {
  readonly credentials: Credentials;
  readonly pool: ConnectionPool;
}

interface SharedLink extends Link {
  /** One entry a client. */
  readonly loggers: Logger[];
}

/** What one client holds. */
interface Share {
  readonly credentials: Credentials;
  readonly lease: PoolLease;
}

// Weak, so that a client that is dropped without close() leaves nothing here. Source: client-go's ClientsAllowTLSCacheGC.
const links = new Map<string, WeakRef<SharedLink>>();
const dropped = new FinalizationRegistry<string>((key) => {
  if (links.get(key)?.deref() === undefined) links.delete(key);
});

/**
 * A share in the link of that key; `create` makes it when there is none, and what it throws is passed on. The logger that
 * `create` is given tells those of all who share.
 */
export function shareLink(key: string, logger: Logger, create: (logger: Logger) => Link): Share {
  const link = links.get(key)?.deref() ?? createLink(key, create);
  link.loggers.push(logger);
  const lease = new PoolLease(link.pool, async () => {
    link.loggers.splice(link.loggers.indexOf(logger), 1);
    if (link.loggers.length > 0) return;
    links.delete(key);
    await link.pool.close();
  });
  return { credentials: link.credentials, lease };
}

function createLink(key: string, create: (logger: Logger) => Link): SharedLink {
  const loggers: Logger[] = [];
  const link = { ...create(loggerOfAll(loggers)), loggers };
  links.set(key, new WeakRef(link));
  dropped.register(link, key);
  return link;
}

function loggerOfAll(loggers: readonly Logger[]): Logger {
  const tell =
    (level: keyof Logger): Logger['warn'] =>
    (message, fields) => {
      for (const logger of new Set(loggers)) logger[level](message, fields);
    };
  return { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') };
}
