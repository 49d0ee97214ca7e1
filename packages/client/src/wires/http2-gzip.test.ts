// The suites of calls, retries, watches, deadlines, proxies and rotation once more, over HTTP/2 with gzip.
import { prepareWire } from '../testing/wire.ts';

await prepareWire({ http2: true, gzip: true });
await import('../testing/wire-suites.ts');
