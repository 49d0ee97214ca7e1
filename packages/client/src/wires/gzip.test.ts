// The suites of calls, retries, watches, deadlines, proxies and rotation once more, over HTTP/1.1 with gzip.
import { prepareWire } from '../testing/wire.ts';

await prepareWire({ http2: false, gzip: true });
await import('../testing/wire-suites.ts');
